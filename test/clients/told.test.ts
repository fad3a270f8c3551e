// What the TypeScript client tells the service besides calls, seen from the other side of the connection: the person's
// words, what trusted tools returned, and the run that both belong to. Whatever goes wrong with a report, nobody loses a
// result.

import { afterEach, describe, expect, test } from 'bun:test';
import * as langchain from '../../clients/typescript/src/adapters/langchain.ts';
import * as openai from '../../clients/typescript/src/adapters/openai-agents.ts';
import * as vercel from '../../clients/typescript/src/adapters/vercel-ai.ts';
import {
  InvalidConfiguration,
  InvalidRequest,
  NetworkFailure,
  Toolgate,
  type ToolgateOptions,
} from '../../clients/typescript/src/index.ts';
import { hasExtra } from '../../scripts/extras.ts';
import { FRAMEWORKS, load } from './frameworks.ts';
import {
  ALLOW,
  allow,
  answer,
  failure,
  type Manner,
  problem,
  type Rude,
  rude,
  told,
  trusting,
} from './rude.ts';

const KIB_64 = 64 * 1024;
const { toolCallId } = ALLOW;

const servers: Rude[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function against(manner: Manner, options: ToolgateOptions = {}) {
  const server = await rude(manner);
  servers.push(server);
  return { gate: new Toolgate({ key: 'k', baseUrl: server.url, ...options }), server };
}

/** Calls are allowed by a rule that trusts results, and telling fails in this manner. */
const butTelling =
  (manner: Manner): Manner =>
  (socket, request, earlier) =>
    (request.startsWith('POST /v1/told ') ? manner : trusting)(socket, request, earlier);

const runs = ({ requests }: Rude) => requests.map(each => /^toolgate-run: (.*)\r$/im.exec(each)?.[1]);

describe('told', () => {
  test('sends what the person said', async () => {
    const { gate, server } = await against(trusting);
    await gate.told('Pay Zoë 98.70 €');
    expect(told(server)).toEqual([{ text: 'Pay Zoë 98.70 €' }]);
  });

  test('is sent again, because telling something twice changes nothing', async () => {
    const { gate, server } = await against((socket, request, earlier) =>
      earlier === 0 ? socket.destroy() : trusting(socket, request, earlier),
    );
    await gate.told('Pay Ann');
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    [400, InvalidRequest],
    [413, InvalidRequest],
  ] as const)('throws what the service answers: %d', async (status, kind) => {
    const { gate } = await against(problem(status, 'invalid_input'));
    expect(await failure(gate.told('x'))).toBeInstanceOf(kind);
  });

  test('throws if nobody has taken it', async () => {
    const { gate } = await against(socket => socket.destroy(), { retries: 0 });
    expect(await failure(gate.told('x'))).toBeInstanceOf(NetworkFailure);
  });
});

describe('a run', () => {
  test('is named by the client, or by the call', async () => {
    const { gate, server } = await against(trusting, { run: 'chat-17' });
    await gate.check('s', 't');
    await gate.told('x');
    await gate.guarded('s', 't', () => 'result')();
    await gate.check('s', 't', {}, { run: 'chat-18' });
    await gate.told('x', { run: 'chat-18' });
    expect(runs(server)).toEqual(['chat-17', 'chat-17', 'chat-17', undefined, 'chat-18', 'chat-18']);
  });

  test('needs no name, and is not sent where there is none', async () => {
    const { gate, server } = await against(trusting);
    await gate.check('s', 't');
    await gate.told('x');
    expect(runs(server)).toEqual([undefined, undefined]);
  });

  test.each(['', 'a b', 'a\r\nX: y', 'ä', 'x'.repeat(129)])('%j is no name', async run => {
    expect(() => new Toolgate({ key: 'k', run })).toThrow(InvalidConfiguration);
    const { gate, server } = await against(trusting);
    expect(await failure(gate.check('s', 't', {}, { run }))).toBeInstanceOf(InvalidConfiguration);
    expect(await failure(gate.told('x', { run }))).toBeInstanceOf(InvalidConfiguration);
    expect(server.requests).toEqual([]);
  });
});

describe('a wrapped function', () => {
  const resultOf = async (result: unknown) => {
    const { gate, server } = await against(trusting);
    expect(await gate.guarded('s', 't', () => result)()).toBe(result as never);
    return told(server);
  };

  test.each<[string, unknown, object]>([
    ['a text', 'IBAN GB29 NWBK', { text: 'IBAN GB29 NWBK' }],
    ['a number', 98.7, { text: '98.7' }],
    ['an object', { to: ['ann@example.com'] }, { structured: { to: ['ann@example.com'] } }],
    ['a list', [1, 'two'], { structured: [1, 'two'] }],
    ['a date', new Date(0), { text: '1970-01-01T00:00:00.000Z' }],
    [
      'an object with more than JSON holds',
      { at: new Date(0), f: () => 1 },
      { structured: { at: '1970-01-01T00:00:00.000Z' } },
    ],
    [
      'no error',
      { error: null, isError: false, name: 'Ann' },
      { structured: { error: null, isError: false, name: 'Ann' } },
    ],
  ])('reports %s', async (_, result, telling) => {
    expect(await resultOf(result)).toEqual([{ toolCallId, ...telling }]);
  });

  const endless: Record<string, unknown> = {};
  endless['self'] = endless;
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['an empty text', ' \n'],
    ['a boolean', true],
    ['an empty list', []],
    ['what is empty as JSON', new Map([['name', 'Ann']])],
    ['a function', () => 1],
    ['no number', Number.NaN],
    ['what has no JSON', 1n],
    ['a cycle', endless],
    ['an error of MCP', { isError: true, content: [{ type: 'text', text: 'No account eve' }] }],
    ['an error that is told as a result', { error: 'No account eve' }],
    ['more than 64 KiB of JSON', ['x'.repeat(KIB_64)]],
    ['more than 64 KiB of JSON as a text', JSON.stringify({ name: 'Ann '.repeat(KIB_64) })],
    ['the same with blanks', `\n[ {"name": "Ann", ${'"to": 1, '.repeat(KIB_64)}`],
  ])('does not report %s', async (_, result) => {
    expect(await resultOf(result)).toEqual([]);
  });

  test('reports nothing unless the verdict says so', async () => {
    for (const known of [undefined, 'other', true]) {
      const { gate, server } = await against(answer(200, JSON.stringify({ ...ALLOW, known })));
      expect(await gate.guarded('s', 't', () => 'result')()).toBe('result');
      expect(server.requests).toHaveLength(1);
    }
  });

  test('does not report what it throws', async () => {
    const { gate, server } = await against(trusting);
    const broken = gate.guarded('s', 't', () => {
      throw new Error('No account eve');
    });
    expect(await broken().catch((error: Error) => error.message)).toBe('No account eve');
    expect(told(server)).toEqual([]);
  });

  test('has the result only when the service has taken it', async () => {
    const { promise: mayAnswer, resolve: letAnswer } = Promise.withResolvers<void>();
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
    const { gate } = await against(
      butTelling(async (...params) => {
        isAsked();
        await mayAnswer;
        trusting(...params);
      }),
    );
    let hasResult = false;
    const result = gate
      .guarded('s', 't', () => 'result')()
      .then(() => {
        hasResult = true;
      });
    await asked;
    expect(hasResult).toBe(false);
    letAnswer();
    await result;
  });

  test.each<[string, Manner, number?]>([
    ['is unknown to the service', problem(404, 'not_found')],
    ['is too large for the service', problem(413, 'too_large')],
    ['meets a failure', problem(500, 'internal')],
    ['meets another program', answer(200, 'Welcome', { 'Content-Type': 'text/html' })],
    ['meets a cut connection', socket => socket.destroy()],
    ['is not answered', () => {}, 2_000],
  ])('keeps its result if the report %s', async (_, manner, timeoutMs = 60_000) => {
    const { gate, server } = await against(butTelling(manner), { retries: 0, timeoutMs });
    expect(await gate.guarded('s', 't', () => 'result')()).toBe('result');
    expect(told(server)).toEqual([{ toolCallId, text: 'result' }]);
  });

  test('keeps its result if the caller aborts meanwhile', async () => {
    const controller = new AbortController();
    const { gate } = await against(butTelling(() => controller.abort()));
    expect(await gate.guarded('s', 't', () => 'result', { signal: controller.signal })()).toBe('result');
  });
});

describe('a text of more than 64 KiB', () => {
  const cutOf = async (text: string) => {
    const { gate, server } = await against(trusting);
    await gate.report({ ...ALLOW, decision: 'allow', known: 'results' }, text);
    return (told(server)[0] as { text: string } | undefined)?.text;
  };

  test('is cut between words', async () => {
    const words = 'word '.repeat(KIB_64 / 4);
    const cut = (await cutOf(words)) ?? '';
    expect([words.startsWith(cut), cut.endsWith('word'), KIB_64 - cut.length < 6]).toEqual([
      true,
      true,
      true,
    ]);
    // A word that ends where the room does is whole.
    const whole = `${'x'.repeat(KIB_64 - 5)} word`;
    expect(await cutOf(whole)).toBe(whole);
    expect(await cutOf(`${whole}\nmore`)).toBe(whole);
    expect(await cutOf(`${whole}s`)).toBe(whole.slice(0, -5));
    // This does not begin as JSON.
    expect(await cutOf(`[Ann] {${whole}s`)).toBe('[Ann]');
  });

  test('is measured in bytes, and not cut inside a character', async () => {
    for (const word of ['ä', '語', '😀']) {
      const cut = (await cutOf(`${word} `.repeat(KIB_64))) ?? '';
      expect(new Set(cut.split(' '))).toEqual(new Set([word]));
      const size = Buffer.byteLength(cut);
      expect([size <= KIB_64, KIB_64 - size < 10]).toEqual([true, true]);
    }
  });

  test('is not reported if it is a single word', async () => {
    expect(await cutOf('x'.repeat(KIB_64 + 1))).toBeUndefined();
  });
});

test('report says whether the service has taken the result', async () => {
  const { gate } = await against(trusting);
  const trusted = await gate.guard('s', 't');
  expect(trusted.known).toBe('results');
  expect(await gate.report(trusted, 'result')).toBe(true);
  expect(await gate.report({ ...ALLOW, decision: 'allow' }, 'result')).toBe(false);
  const away = await against(butTelling(problem(404, 'not_found')));
  expect(await away.gate.report(trusted, 'result')).toBe(false);
});

test('a session is made with what is known and its attributes, and has them', async () => {
  const made = { id: 'i', token: 't', prefix: 't', label: '', scopeTools: null, expiresAt: '' };
  const attributes = { customer: 'c_17', limits: { eur: 50 } };
  const { gate, server } = await against(answer(201, JSON.stringify({ ...made, attributes })));
  const session = await gate.createSession({ known: ['GB29 NWBK'], attributes });
  expect(session.attributes).toEqual(attributes);
  expect(server.requests[0]).toEndWith(JSON.stringify({ known: ['GB29 NWBK'], attributes }));
  const earlier = await against(answer(201, JSON.stringify(made)));
  expect((await earlier.gate.createSession()).attributes).toEqual({});
  const faulty = await against(answer(201, JSON.stringify({ ...made, attributes: 'none' })));
  expect(await failure(faulty.gate.createSession())).toMatchObject({ code: 'bad_answer' });
});

describe.each(FRAMEWORKS)('$name', ({ guardTools, tools, converse }) => {
  const call = [[{ name: 'look', args: { text: 'a' } }]];

  test('a result is reported before the model has it', async () => {
    const { gate, server } = await against(trusting);
    const guarded = guardTools(tools(['look'], async () => 'Ann, GB29 NWBK') as never, { server: 's', gate });
    expect(await converse(guarded, call)).toEqual(['Ann, GB29 NWBK']);
    expect(told(server)).toEqual([{ toolCallId, text: 'Ann, GB29 NWBK' }]);
  });

  test('what a tool throws is not reported, nor what no rule trusts', async () => {
    const broken = async () => {
      throw new Error('No account eve');
    };
    const trusted = await against(trusting);
    const options = { server: 's', gate: trusted.gate };
    await converse(guardTools(tools(['look'], broken) as never, options), call);
    const other = await against(allow);
    const looking = tools(['look'], async () => 'Ann');
    expect(await converse(guardTools(looking as never, { server: 's', gate: other.gate }), call)).toEqual([
      'Ann',
    ]);
    expect([...told(trusted.server), ...told(other.server)]).toEqual([]);
  });

  test('a result is kept if it cannot be reported', async () => {
    const { gate } = await against(butTelling(problem(500, 'internal')), { retries: 0 });
    const guarded = guardTools(tools(['look'], async () => 'Ann') as never, { server: 's', gate });
    expect(await converse(guarded, call)).toEqual(['Ann']);
  });
});

describe.if(hasExtra('examples'))('what the frameworks make of results', async () => {
  if (!hasExtra('examples')) return;
  const { z } = await load('zod');
  const schema = z.object({});
  const { tool: langchainTool } = await load('@langchain/core/tools');
  const { ToolMessage } = await load('@langchain/core/messages');
  const sdk = await load('@openai/agents');

  test('Vercel AI SDK: of a tool that streams, the last', async () => {
    const { gate, server } = await against(trusting);
    async function* execute() {
      yield 'one';
      yield 'two';
    }
    const { look } = vercel.guardTools({ look: { execute } }, { server: 's', gate });
    const given: unknown[] = [];
    for await (const each of look.execute() as AsyncIterable<unknown>) {
      given.push(each);
      expect(told(server)).toEqual([]);
    }
    expect(given).toEqual(['one', 'two']);
    expect(told(server)).toEqual([{ toolCallId, text: 'two' }]);
  });

  test.each<[string, () => unknown, object, unknown[]]>([
    [
      'no artifact',
      () => ['Ann', { file: 1 }],
      { responseFormat: 'content_and_artifact' },
      [{ text: 'Ann' }],
    ],
    [
      'the content of a message',
      () => new ToolMessage({ content: 'Ann', tool_call_id: '1' }),
      {},
      [{ text: 'Ann' }],
    ],
    [
      'no message of an error',
      () => new ToolMessage({ content: 'eve', tool_call_id: '1', status: 'error' }),
      {},
      [],
    ],
    ['what a generator returns', () => steps(), {}, [{ text: 'Ann' }]],
  ])('LangChain: %s', async (_, run, more, wanted) => {
    const { gate, server } = await against(trusting);
    const [look] = langchain.guardTools(
      [langchainTool(run, { name: 'look', description: '', schema, ...more })],
      { server: 's', gate },
    );
    await look.invoke({ type: 'tool_call', id: '1', name: 'look', args: {} });
    expect(told(server)).toEqual(wanted.map(each => ({ toolCallId, ...(each as object) })));
  });

  async function* steps() {
    yield 'one';
    return 'Ann';
  }

  test('OpenAI Agents SDK: not what is made of arguments that do not fit', async () => {
    const { gate, server } = await against(trusting);
    const looking = sdk.tool({
      name: 'look',
      description: '',
      parameters: z.object({ number: z.number() }),
      execute: async () => 'Ann',
      errorFunction: () => 'Wrong: eve',
    });
    const guarded = openai.guardTools([looking], { server: 's', gate });
    const calls = [[{ name: 'look', args: { number: 'eve' } }], [{ name: 'look', args: { number: 1 } }]];
    expect(await FRAMEWORKS[0]?.converse(guarded, calls)).toEqual(['Wrong: eve', 'Ann']);
    expect(told(server)).toEqual([{ toolCallId, text: 'Ann' }]);
  });
});
