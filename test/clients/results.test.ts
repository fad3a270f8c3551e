// What the TypeScript client does with results that a policy has a say about, seen from the other side of the connection:
// the service looks at each before anybody has it, and what it does not give back is nobody's. Whatever goes wrong, the
// result stays where it is.

import { afterEach, describe, expect, test } from 'bun:test';
import * as langchain from '../../clients/typescript/src/adapters/langchain.ts';
import * as openai from '../../clients/typescript/src/adapters/openai-agents.ts';
import * as vercel from '../../clients/typescript/src/adapters/vercel-ai.ts';
import {
  type AllowVerdict,
  BadAnswer,
  CallAborted,
  CallTimedOut,
  InvalidRequest,
  NetworkFailure,
  NotFound,
  Overloaded,
  ServiceFailure,
  Toolgate,
  type ToolgateOptions,
  ToolResultWithheld,
} from '../../clients/typescript/src/index.ts';
import { hasExtra } from '../../scripts/extras.ts';
import { FRAMEWORKS, load } from './frameworks.ts';
import {
  ALLOW,
  allow,
  answer,
  failure,
  lookedAt,
  looking,
  type Manner,
  problem,
  type Rude,
  rude,
  told,
} from './rude.ts';

const { toolCallId } = ALLOW;
const VERDICT: AllowVerdict = { ...ALLOW, decision: 'allow', results: true };
const text = (said: string) => ({ content: [{ type: 'text', text: said }] });

const servers: Rude[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function against(manner: Manner, options: ToolgateOptions = {}) {
  const server = await rude(manner);
  servers.push(server);
  return { gate: new Toolgate({ key: 'k', baseUrl: server.url, ...options }), server };
}

/** Results are wanted, and looking at one fails in this manner. */
const butLooking =
  (manner: Manner): Manner =>
  (socket, request, earlier) =>
    (request.startsWith('POST /v1/results ') ? manner : looking)(socket, request, earlier);

/** Only who waits for a silent service is impatient: on a busy machine, half a second is too short for an answer. */
const patience = (kind: unknown) => ({ retries: 0, timeoutMs: kind === CallTimedOut ? 500 : 60_000 });

const UNSEEN: [string, Manner, new (...params: never[]) => Error][] = [
  ['another key’s call', problem(404, 'not_found'), NotFound],
  ['a call that was not allowed', problem(409, 'conflict'), BadAnswer],
  ['more than the service takes', problem(413, 'too_large'), InvalidRequest],
  ['a failure', problem(500, 'internal'), ServiceFailure],
  ['too much to do', problem(503, 'overloaded', { 'Retry-After': '60' }), Overloaded],
  ['another program', answer(200, 'canary', { 'Content-Type': 'text/html' }), BadAnswer],
  ['no object', answer(200, '"canary"'), BadAnswer],
  ['a result without content', answer(200, '{}'), BadAnswer],
  ['content that is no list', answer(200, '{"content":"canary"}'), BadAnswer],
  ['a result with another status', answer(202, JSON.stringify(text('canary'))), BadAnswer],
  ['a cut connection', socket => socket.destroy(), NetworkFailure],
  ['silence', () => {}, CallTimedOut],
];

describe('guardResult', () => {
  test('gives back what the service does', async () => {
    const { gate, server } = await against(looking);
    const verdict = await gate.guard('s', 't');
    expect(verdict.results).toBe(true);
    const result = { content: [{ type: 'text', text: 'a canary' }], structuredContent: { bird: 'canary' } };
    expect(await gate.guardResult(verdict, result)).toEqual({
      content: [{ type: 'text', text: 'a [hidden: birds]' }],
      structuredContent: { bird: '[hidden: birds]' },
    });
    expect(await gate.guardResult(verdict, text('poison'))).toEqual({
      ...text('It is withheld.'),
      isError: true,
    });
    expect(lookedAt(server)).toEqual([
      { toolCallId, result },
      { toolCallId, result: text('poison') },
    ]);
  });

  test('asks nobody where the verdict does not say so', async () => {
    const { gate, server } = await against(allow);
    const verdict = await gate.guard('s', 't');
    const result = text('canary');
    expect(await gate.guardResult(verdict, result)).toBe(result);
    expect(server.requests).toHaveLength(1);
  });

  test('takes no verdict but an allow', async () => {
    const { gate, server } = await against(looking);
    const denied = { ...ALLOW, decision: 'deny' } as never;
    expect(await failure(gate.guardResult(denied, text('canary')))).toBeInstanceOf(InvalidRequest);
    expect(server.requests).toEqual([]);
  });

  test.each(UNSEEN)('throws for %s', async (_, manner, kind) => {
    const { gate } = await against(manner, patience(kind));
    const error = await failure(gate.guardResult(VERDICT, text('canary')));
    expect(error).toBeInstanceOf(kind);
    expect(error.message).not.toContain('canary');
  });

  test('throws when the caller aborts', async () => {
    const controller = new AbortController();
    const { gate } = await against(butLooking(() => controller.abort()));
    const { signal } = controller;
    expect(await failure(gate.guardResult(VERDICT, text('x'), { signal }))).toBeInstanceOf(CallAborted);
  });

  test('is sent again, because looking twice changes nothing', async () => {
    const { gate, server } = await against((socket, request, earlier) =>
      earlier === 0 ? socket.destroy() : looking(socket, request, earlier),
    );
    expect(await gate.guardResult(VERDICT, text('canary'))).toEqual(text('[hidden: birds]'));
    expect(server.requests).toHaveLength(2);
  });

  test('sends 6 MiB, and no more', async () => {
    const { gate, server } = await against(looking);
    const room = 6 * 1024 * 1024 - JSON.stringify({ toolCallId, result: text('') }).length;
    const full = text('ä'.repeat(room / 2 - 1));
    expect(await gate.guardResult(VERDICT, full)).toEqual(full);
    const error = await failure(gate.guardResult(VERDICT, text('ä'.repeat(room / 2 + 1))));
    expect(error).toMatchObject({ name: 'InvalidRequest', code: 'too_large' });
    expect(server.requests).toHaveLength(1);
  });

  test('throws for what JSON cannot hold, and does not quote it', async () => {
    const { gate, server } = await against(looking);
    const error = await failure(gate.guardResult(VERDICT, { canary: 1n }));
    expect(error).toMatchObject({ message: 'The result cannot be written as JSON.' });
    expect(server.requests).toEqual([]);
  });
});

test.each<[string, unknown]>([
  ['a word', 'true'],
  ['a number', 1],
  ['null', null],
])('a verdict whose `results` is %s is none', async (_, results) => {
  const { gate } = await against(answer(200, JSON.stringify({ ...ALLOW, results })));
  expect(await failure(gate.check('s', 't'))).toBeInstanceOf(BadAnswer);
});

describe('a wrapped function', () => {
  const outcomeOf = async (fn: () => unknown) => {
    const { gate, server } = await against(looking);
    const [outcome] = await Promise.allSettled([gate.guarded('s', 't', fn)()]);
    return { server, ...(outcome as { value?: unknown; reason?: Error }) };
  };

  test.each<[string, unknown, unknown, object]>([
    ['a text', 'canary', '[hidden: birds]', text('canary')],
    [
      'an object',
      { bird: 'canary' },
      { bird: '[hidden: birds]' },
      { content: [], structuredContent: { bird: 'canary' } },
    ],
    ['a list', ['canary'], ['[hidden: birds]'], { content: [], structuredContent: { result: ['canary'] } }],
    ['a number', 98.7, 98.7, { content: [], structuredContent: { result: 98.7 } }],
    ['nothing', undefined, undefined, { content: [] }],
    ['null', null, null, { content: [] }],
    ['an empty text', '', '', text('')],
    [
      'a date and what no JSON has',
      { at: new Date(0), f: () => 'canary' },
      { at: '1970-01-01T00:00:00.000Z' },
      { content: [], structuredContent: { at: '1970-01-01T00:00:00.000Z' } },
    ],
  ])('gives %s as it was, with what is to be hidden hidden', async (_, returned, passed, result) => {
    const { server, value } = await outcomeOf(() => returned);
    expect(value).toEqual(passed);
    expect(lookedAt(server)).toEqual([{ toolCallId, result }]);
  });

  const endless: Record<string, unknown> = {};
  endless['self'] = endless;
  test.each<[string, unknown]>([
    ['bytes', { canary: new Uint8Array(3) }],
    ['a buffer', Buffer.from('canary')],
    ['a Map', [new Map([['canary', 1]])]],
    ['a stream', new ReadableStream()],
    ['a generator', (function* canary() {})()],
    ['a cycle', endless],
    ['a BigInt', 1n],
  ])('throws for %s, which nobody can look at', async (_, returned) => {
    const { server, reason } = await outcomeOf(() => returned);
    expect(reason).toBeInstanceOf(InvalidRequest);
    expect(reason?.message).not.toContain('canary');
    expect(lookedAt(server)).toEqual([]);
  });

  test('throws the reason of a result that is withheld', async () => {
    for (const returned of ['poison', { a: 'poison' }, ['poison']]) {
      const { server, reason } = await outcomeOf(() => returned);
      expect(reason).toBeInstanceOf(ToolResultWithheld);
      expect(reason).toMatchObject({ message: 'It is withheld.', code: 'withheld' });
      expect(reason?.cause).toBeUndefined();
      expect(told(server)).toEqual([]);
    }
  });

  test('throws what its function threw, with what is to be hidden hidden', async () => {
    const own = new RangeError('No finch');
    const thrower = (error: unknown) => () => {
      throw error;
    };
    const kept = await outcomeOf(thrower(own));
    expect(kept.reason).toBe(own);
    expect(lookedAt(kept.server)).toEqual([{ toolCallId, result: { ...text('No finch'), isError: true } }]);
    for (const error of [new Error('No canary', { cause: own }), 'No canary']) {
      const { reason, server } = await outcomeOf(thrower(error));
      expect(reason).toMatchObject({
        name: 'ToolResultWithheld',
        message: 'No [hidden: birds]',
      });
      expect(reason?.cause).toBeUndefined();
      expect(told(server)).toEqual([]);
    }
    expect((await outcomeOf(thrower({ canary: 1 }))).reason?.message).toBe('{"[hidden: birds]":1}');
    expect((await outcomeOf(thrower(new Error('poison')))).reason?.message).toBe('It is withheld.');
  });

  test('reports what was given back, and only then', async () => {
    const { server } = await outcomeOf(() => 'Ann and a canary');
    expect(told(server)).toEqual([{ toolCallId, text: 'Ann and a [hidden: birds]' }]);
    const paths = server.requests.map(each => each.split(' ')[1]);
    expect(paths).toEqual(['/v1/check', '/v1/results', '/v1/told']);
  });

  test.each(UNSEEN)('has no result if looking at it meets %s', async (_, manner, kind) => {
    const { gate, server } = await against(butLooking(manner), patience(kind));
    const functions: (() => unknown)[] = [
      () => 'canary',
      () => ({ bird: 'canary' }),
      () => Promise.reject(new Error('canary')),
    ];
    for (const fn of functions) {
      const error = await failure(gate.guarded('s', 't', fn)());
      expect(error).toBeInstanceOf(kind);
      expect(error.message).not.toContain('canary');
    }
    expect(told(server)).toEqual([]);
  });

  test.each<[string, unknown, object]>([
    ['a picture for a text', 'canary', { content: [{ type: 'image', data: 'canary' }] }],
    ['nothing for a text', 'canary', { content: [] }],
    ['a text for an object', { a: 1 }, text('canary')],
    ['an object for a list', [1], { content: [], structuredContent: { other: 1 } }],
  ])('has no result if the answer has %s', async (_, returned, result) => {
    const { gate } = await against(butLooking(answer(200, JSON.stringify(result))));
    expect(await failure(gate.guarded('s', 't', () => returned)())).toBeInstanceOf(BadAnswer);
  });
});

describe.each(FRAMEWORKS)('$name', ({ guardTools, tools, converse }) => {
  const call = [[{ name: 'look', args: { text: 'a' } }]];
  const heard = async (run: () => Promise<unknown>, manner = looking, options: ToolgateOptions = {}) => {
    const { gate, server } = await against(manner, options);
    const guarded = guardTools(tools(['look'], run) as never, { server: 's', gate });
    return { server, said: (await converse(guarded, call))[0] };
  };

  test('the model has what the service gives back', async () => {
    const { server, said } = await heard(async () => 'Ann and a canary');
    expect(said).toBe('Ann and a [hidden: birds]');
    expect(lookedAt(server)).toEqual([{ toolCallId, result: text('Ann and a canary') }]);
    expect(told(server)).toEqual([{ toolCallId, text: said }]);
    const object = await heard(async () => ({ bird: ['canary'] }));
    expect(JSON.stringify(object.said)).not.toContain('canary');
    expect(told(object.server)).toEqual([{ toolCallId, structured: { bird: ['[hidden: birds]'] } }]);
  });

  test('of what is withheld, the model has the reason', async () => {
    const { server, said } = await heard(async () => 'poison');
    expect(said).toBe('It is withheld.');
    expect(told(server)).toEqual([]);
  });

  test('of what a tool throws, the model has what the service gives back', async () => {
    const { said } = await heard(() => Promise.reject(new Error('No canary')));
    expect(said).not.toContain('canary');
    const thrown = () => Promise.reject(new Error('No finch'));
    expect(await heard(thrown)).toMatchObject({ said: (await heard(thrown, allow)).said });
  });

  test('of what nobody could look at, the model has nothing', async () => {
    const away = await heard(async () => 'canary', butLooking(problem(500, 'internal')), { retries: 0 });
    expect(away.said).toBe(
      'The tool was run, but its result is withheld: nobody could look at it (internal). Tell the user.',
    );
    const large = await heard(async () => 'x'.repeat(6 * 1024 * 1024));
    expect(large.said).toBe(
      'The tool was run, but its result is withheld: it is larger than 6 MiB (too_large). Tell the user.',
    );
    const broken = () => Promise.reject(new Error('canary'));
    const failed = await heard(broken, butLooking(problem(500, 'internal')), { retries: 0 });
    expect(failed.said).not.toContain('canary');
  });
});

describe.if(hasExtra('examples'))('what the frameworks make of results', async () => {
  if (!hasExtra('examples')) return;
  const { z } = await load('zod');
  const schema = z.object({});
  const { tool: langchainTool } = await load('@langchain/core/tools');
  const { ToolMessage } = await load('@langchain/core/messages');
  const sdk = await load('@openai/agents');

  test('Vercel AI SDK: of a tool that streams, nothing but the last result', async () => {
    const { gate } = await against(looking);
    async function* execute() {
      yield 'canary one';
      yield 'canary two';
    }
    const { look } = vercel.guardTools({ look: { execute } }, { server: 's', gate });
    const given: unknown[] = [];
    for await (const each of look.execute() as AsyncIterable<unknown>) given.push(each);
    expect(given).toEqual(['[hidden: birds] two']);
  });

  const langchainLook = async (run: () => unknown, more: object = {}) => {
    const { gate, server } = await against(looking);
    const [look] = langchain.guardTools(
      [langchainTool(run, { name: 'look', description: '', schema, ...more })],
      { server: 's', gate },
    );
    const events: unknown[] = [];
    const callbacks = [{ handleToolEvent: (event: unknown) => events.push(event) }];
    const input = { type: 'tool_call', id: '1', name: 'look', args: {} };
    const message = await look.invoke(input, { callbacks });
    return { message, events, server };
  };
  const pair = { responseFormat: 'content_and_artifact' };

  test('LangChain: an artifact stays beside content that nothing was hidden in', async () => {
    const kept = await langchainLook(() => ['finch', { file: 'canary' }], pair);
    expect(kept.message).toMatchObject({ content: 'finch', artifact: { file: 'canary' } });
    const hidden = await langchainLook(() => ['canary', { file: 'canary' }], pair);
    expect(hidden.message).toMatchObject({ content: '[hidden: birds]', artifact: undefined });
    const withheld = await langchainLook(() => ['poison', { file: 'canary' }], pair);
    expect(withheld.message).toMatchObject({
      content: 'It is withheld.',
      artifact: undefined,
      status: 'error',
    });
  });

  test('LangChain: a message that the tool made', async () => {
    const about = { tool_call_id: '1', name: 'look' };
    const fields = { content: 'canary', artifact: 'canary', additional_kwargs: { a: 'canary' }, ...about };
    const { message } = await langchainLook(() => new ToolMessage(fields));
    expect(message).toBeInstanceOf(ToolMessage);
    expect(message).toMatchObject({ content: '[hidden: birds]', ...about });
    expect(JSON.stringify(message)).not.toContain('canary');
    const blocks = [{ type: 'text', text: 'canary' }];
    const failed = await langchainLook(() => new ToolMessage({ content: blocks, status: 'error', ...about }));
    expect(failed.message).toMatchObject({
      content: [{ type: 'text', text: '[hidden: birds]' }],
      status: 'error',
    });
    expect(lookedAt(failed.server)).toMatchObject([{ result: { isError: true } }]);
    expect(told(failed.server)).toEqual([]);
    const whole = new ToolMessage({ content: 'finch', ...about });
    expect((await langchainLook(() => whole)).message).toBe(whole);
  });

  test('LangChain: a command to the graph is withheld, and an interrupt is no result', async () => {
    const command = { lc_direct_tool_output: true, update: { bird: 'canary' } };
    for (const returned of [command, [command]]) {
      const { message, server } = await langchainLook(() => returned);
      expect(message.content).toContain('nobody could look at it (invalid_request)');
      expect(lookedAt(server)).toEqual([]);
    }
    const interrupt = Object.assign(new Error('canary'), { is_bubble_up: true });
    const thrown = langchainLook(() => Promise.reject(interrupt));
    expect(await thrown.catch(error => error)).toBe(interrupt);
  });

  test('LangChain: of a tool that streams, no step, and what it returns', async () => {
    async function* steps() {
      yield 'canary one';
      return 'canary two';
    }
    const { message, events } = await langchainLook(steps);
    expect(message.content).toBe('[hidden: birds] two');
    expect(events).toEqual([]);
  });

  test('OpenAI Agents SDK: what its own words say of an error', async () => {
    const { gate, server } = await against(looking);
    const errorFunction = (_: unknown, error: Error) => `Wrong: ${error.message}`;
    const execute = async () => {
      throw new Error('canary');
    };
    const about = { name: 'look', description: '', parameters: schema, execute };
    const [look] = openai.guardTools([sdk.tool({ ...about, errorFunction })], { server: 's', gate });
    expect(await look.invoke(new sdk.RunContext(), '{}')).toBe('Wrong: [hidden: birds]');
    expect(told(server)).toEqual([]);
    const [strict] = openai.guardTools([sdk.tool({ ...about, errorFunction: null })], { server: 's', gate });
    const thrown = strict.invoke(new sdk.RunContext(), '{}');
    expect(await failure(thrown)).toMatchObject({ message: '[hidden: birds]' });
  });
});
