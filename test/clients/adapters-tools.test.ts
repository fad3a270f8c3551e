// The kinds of tools that frameworks have: those that can be guarded are, whichever way they are run, and the others are
// refused at set-up. The arguments that a tool gets are those that were judged.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { asking } from '../../clients/typescript/src/adapters/asking.ts';
import * as langchain from '../../clients/typescript/src/adapters/langchain.ts';
import * as mastra from '../../clients/typescript/src/adapters/mastra.ts';
import * as openai from '../../clients/typescript/src/adapters/openai-agents.ts';
import * as vercel from '../../clients/typescript/src/adapters/vercel-ai.ts';
import { InvalidConfiguration, ToolCallRefused, Toolgate } from '../../clients/typescript/src/index.ts';
import { hasExtra } from '../../scripts/extras.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import { needExtra } from '../support/need.ts';
import { refusal } from '../support/refusal.ts';
import { startService, type TestService } from '../support/service.ts';
import { FRAMEWORKS, load } from './frameworks.ts';

const RULES: Rule[] = [
  { tool: 'look', action: 'allow' },
  { tool: 'say', action: 'allow', when: 'args.input == "hello"' },
  { tool: 'pay', action: 'allow', when: 'args.amount < 10' },
];

let service: TestService;
let options: vercel.GuardToolsOptions;
const ran: unknown[] = [];

beforeAll(async () => {
  service = await startService();
  const { key } = await service.newKey(RULES);
  options = { server: 'shop', gate: new Toolgate({ key, baseUrl: service.url }) };
});
afterAll(() => service.close());

async function run(args: unknown): Promise<string> {
  ran.push(args);
  return 'done';
}

/** What ran meanwhile. */
async function runsOf(work: () => unknown): Promise<unknown[]> {
  ran.length = 0;
  await work();
  return [...ran];
}

describe('what was judged is what runs', () => {
  test('also if the arguments change meanwhile', async () => {
    const guarded = vercel.guardTools({ pay: { execute: run } }, options);
    const args = { amount: 5, to: { name: 'Ann' } };
    const runs = await runsOf(() => {
      const paid = guarded.pay.execute(args);
      args.amount = 5000;
      args.to.name = 'Eve';
      return paid;
    });
    expect(runs).toEqual([{ amount: 5, to: { name: 'Ann' } }]);
  });

  test.each<[string, unknown]>([
    ['a Map', new Map([['amount', 1]])],
    ['a Set', new Set([1])],
    ['an instance of a class', new (class Sum {})()],
    ['a BigInt', 1n],
    ['a function', () => 1],
    ['a symbol', Symbol('one')],
    ['no number', Number.NaN],
    ['an infinite number', Number.POSITIVE_INFINITY],
    ['no date', new Date('never')],
    ['a text of its own making', { toJSON: () => 1 }],
    ['bytes', new Uint8Array(1)],
  ])('%s in the arguments, which JSON cannot hold, refuses the call', async (_, value) => {
    const guarded = vercel.guardTools({ look: { execute: run } }, options);
    const runs = await runsOf(async () => {
      const error = await refusal(guarded.look.execute({ list: [value] }));
      expect(error).toBeInstanceOf(ToolCallRefused);
      expect((error as Error).message).toContain('no verdict on this call (invalid_request)');
    });
    expect(runs).toEqual([]);
  });

  test('everything else is as it was', async () => {
    const args = {
      ...JSON.parse('{ "__proto__": { "admin": true } }'),
      list: [1, 'two', null, [false]],
      at: new Date(0),
      bare: Object.assign(Object.create(null), { a: 1 }),
    };
    const ask = asking(options);
    const { args: judged } = await ask('look', args, undefined);
    expect(judged).toEqual(args);
    expect(judged).not.toBe(args);
    expect(Object.keys(judged)).toEqual(['__proto__', 'list', 'at', 'bare']);
    expect(judged.list).not.toBe(args.list);
  });

  test('what cannot even be read is refused, and not quoted', async () => {
    const args = {
      get secret(): string {
        throw new Error('canary');
      },
    };
    const error = (await refusal(asking(options)('look', args, undefined))) as ToolCallRefused;
    expect([error.code, error.cause]).toEqual(['no_verdict', undefined]);
    expect(error.message).not.toContain('canary');
    const endless: Record<string, unknown> = {};
    endless['self'] = endless;
    expect(await refusal(asking(options)('look', endless, undefined))).toBeInstanceOf(ToolCallRefused);
  });

  test('a single value is judged as `input`', async () => {
    const ask = asking(options);
    expect((await ask('say', 'hello', undefined)).args).toBe('hello');
    expect(await refusal(ask('say', 'good-bye', undefined))).toBeInstanceOf(ToolCallRefused);
    expect(await refusal(ask('say', ['hello'], undefined))).toBeInstanceOf(ToolCallRefused);
  });
});

const dropped = expect.stringMatching(/^Denied: /);

describe.if(needExtra('examples'))('Vercel AI SDK', async () => {
  if (!hasExtra('examples')) return;
  const { tool } = await load('ai');
  const { z } = await load('zod');
  const inputSchema = z.object({ amount: z.number() });

  test('a tool that streams still does, behind the guard', async () => {
    async function* execute(args: unknown) {
      await run(args);
      yield 'one';
      yield 'two';
    }
    const { look, drop } = vercel.guardTools(
      { look: tool({ inputSchema, execute }), drop: tool({ inputSchema, execute }) },
      options,
    );
    const given: unknown[] = [];
    expect(
      await runsOf(async () => {
        for await (const each of look.execute({ amount: 1 }, {})) given.push(each);
      }),
    ).toEqual([{ amount: 1 }]);
    expect(given).toEqual(['one', 'two']);
    expect(await runsOf(() => refusal(drop.execute({ amount: 1 }, {}).next()))).toEqual([]);
  });

  test('a function that returns an iterable gives what comes last', async () => {
    async function* steps() {
      yield 'one';
      yield 'two';
    }
    const { look } = vercel.guardTools({ look: tool({ inputSchema, execute: () => steps() }) }, options);
    expect(await look.execute({ amount: 1 }, {})).toBe('two');
  });

  test.each<[string, object]>([
    ['a tool of the browser', { ask: tool({ inputSchema }) }],
    ['a tool of the provider', { ask: { type: 'provider', id: 'some.search', args: {} } }],
    ['an array', [tool({ inputSchema, execute: run })]],
    ['a function', () => ({ ask: tool({ inputSchema, execute: run }) })],
    ['nothing', { ask: undefined }],
  ])('%s is refused at set-up', (_, tools) => {
    expect(() => vercel.guardTools(tools as never, options)).toThrow(InvalidConfiguration);
    expect(() => mastra.guardTools(tools as never, options)).toThrow(InvalidConfiguration);
  });
});

describe.if(hasExtra('examples'))('LangChain', async () => {
  if (!hasExtra('examples')) return;
  const { tool, StructuredTool, Tool } = await load('@langchain/core/tools');
  const { RunnableLambda } = await load('@langchain/core/runnables');
  const { z } = await load('zod');
  const call = (name: string, args: object) => ({ type: 'tool_call', id: '1', name, args });
  const amount = z.object({ amount: z.number().transform((given: number) => given * 100) });

  test('a refusal is a message of status error, and a result is none', async () => {
    const names = ['look', 'drop'];
    const [look, drop] = langchain.guardTools(
      names.map(name => tool(run, { name, description: name, schema: z.object({}) })),
      options,
    );
    expect(await look.invoke(call('look', {}))).toMatchObject({ status: 'success', content: 'done' });
    expect(await drop.invoke(call('drop', {}))).toMatchObject({ status: 'error', content: dropped });
    expect(await drop.invoke({})).toEqual(dropped);
    expect(await drop._call({})).toEqual(dropped);
  });

  test('a tool with an artifact is refused without one', async () => {
    const runs = async () => ['done', { file: 1 }];
    const about = { description: '', schema: z.object({}), responseFormat: 'content_and_artifact' };
    const [look, drop] = langchain.guardTools(
      [tool(runs, { name: 'look', ...about }), tool(runs, { name: 'drop', ...about })],
      options,
    );
    expect(await look.invoke(call('look', {}))).toMatchObject({ content: 'done', artifact: { file: 1 } });
    expect(await drop.invoke(call('drop', {}))).toMatchObject({ status: 'error', content: dropped });
  });

  test('tools are guarded whose class keeps secrets, and tools of a single text', async () => {
    class Look extends StructuredTool {
      name = 'look';
      description = '';
      schema = z.object({});
      #said = 'looked';
      async _call() {
        return this.#said;
      }
    }
    class Say extends Tool {
      name = 'say';
      description = '';
      _call = run;
    }
    const tools = langchain.guardTools({ look: new Look(), say: new Say() }, options);
    expect(tools.look).toBeInstanceOf(Look);
    expect(await tools.look.invoke({})).toBe('looked');
    expect(await runsOf(() => tools.say.invoke('hello'))).toEqual(['hello']);
    expect(await runsOf(() => tools.say.invoke('good-bye'))).toEqual([]);
  });

  test('what the schema makes of the arguments is judged', async () => {
    const [pay] = langchain.guardTools(
      [tool(run, { name: 'pay', description: '', schema: amount })],
      options,
    );
    expect(await runsOf(() => pay.invoke({ amount: 0.05 }))).toEqual([{ amount: 5 }]);
    expect(await runsOf(() => pay.invoke({ amount: 5 }))).toEqual([]);
  });

  test('a tool that runs elsewhere, or in its own way, is refused at set-up', () => {
    class Own extends StructuredTool {
      name = 'own';
      description = '';
      schema = z.object({});
      async invoke() {
        return 'done';
      }
      async call() {
        return 'done';
      }
      async _call() {
        return 'done';
      }
    }
    const bound = tool(run, { name: 'look', description: '', schema: z.object({}) });
    bound.invoke = async () => 'done';
    const runnable = RunnableLambda.from(run).asTool({ name: 'look', schema: z.object({}) });
    for (const each of [new Own(), bound, runnable, { type: 'web_search', name: 'web_search' }, null])
      expect(() => langchain.guardTools([each] as never, options)).toThrow(InvalidConfiguration);
  });
});

describe.if(hasExtra('examples'))('OpenAI Agents SDK', async () => {
  if (!hasExtra('examples')) return;
  const sdk = await load('@openai/agents');
  const { z } = await load('zod');
  const { Agent, RunContext, tool } = sdk;
  const parameters = z.object({});
  const make = (name: string, more = {}) =>
    tool({ name, description: '', parameters, execute: run, ...more });
  const context = new RunContext();

  test('a tool is guarded however it is run', async () => {
    const tools = openai.guardTools([make('look'), make('drop')], options);
    const [look, drop] = sdk.toolNamespace({ name: 'shop', description: 'The shop.', tools });
    expect(await look.invoke(context, '{}')).toBe('done');
    expect(await runsOf(async () => expect(await drop.invoke(context, '{}')).toEqual(dropped))).toEqual([]);
    // Text that is no JSON is judged, and then refused by the tool's own schema.
    expect(await runsOf(() => look.invoke(context, '{ "amount": '))).toEqual([]);
  });

  test('a schema that changes what was judged stops the call', async () => {
    const to = z.string().toLowerCase();
    const schema = z.object({ amount: z.number(), to, for: z.string().optional() });
    const pay = tool({ name: 'pay', description: '', parameters: schema, execute: run });
    const tools = openai.guardTools([pay], options);
    const told = async (args: object) => {
      const calls = [[{ name: 'pay', args: args as Record<string, unknown> }]];
      return (await FRAMEWORKS[0]?.converse(tools, calls))?.[0];
    };
    const ann = { amount: 5, to: 'ann' };
    expect(
      await runsOf(async () => expect(await told({ to: 'ann', amount: 5, for: null })).toBe('done')),
    ).toEqual([ann]);
    for (const args of [
      { ...ann, to: 'Ann' },
      { ...ann, more: 1 },
    ])
      expect(await runsOf(async () => expect(await told(args)).toContain('(invalid_request)'))).toEqual([]);
  });

  test('a tool that promises a shape of its results makes one of a refusal, or ends the run', async () => {
    const outputSchema = z.object({ ok: z.boolean(), why: z.string() });
    const errorFunction = (_: unknown, error: Error) => ({ ok: false, why: error.message });
    const [shaped, strict] = openai.guardTools(
      [make('drop', { outputSchema, errorFunction }), make('drop', { outputSchema })],
      options,
    );
    const runs = await runsOf(async () => {
      expect(await shaped.invoke(context, '{}')).toEqual({ ok: false, why: dropped });
      expect(await refusal(strict.invoke(context, '{}'))).toBeInstanceOf(ToolCallRefused);
    });
    expect(runs).toEqual([]);
  });

  test('an agent as a tool is guarded as that tool', async () => {
    const getResponse = () => run('the inner model');
    const inner = new Agent({ name: 'Inner', instructions: '', model: { getResponse } });
    const [drop] = openai.guardTools([inner.asTool({ toolName: 'drop', toolDescription: '' })], options);
    const runs = await runsOf(async () => {
      expect(await drop.invoke(context, '{"input":"go"}')).toEqual(dropped);
    });
    expect(runs).toEqual([]);
  });

  test('a tool that runs elsewhere, or is no function, is refused at set-up', () => {
    const agent = new Agent({ name: 'Other', instructions: '' });
    const others = [
      sdk.webSearchTool(),
      sdk.hostedMcpTool({ serverLabel: 'a', serverUrl: 'https://example.com/mcp' }),
      sdk.shellTool({ shell: { run: async () => ({ output: [] }) } }),
      sdk.applyPatchTool({ editor: {} }),
      sdk.handoff(agent),
      agent,
      undefined,
    ];
    for (const each of others)
      expect(() => openai.guardTools([each] as never, options)).toThrow(InvalidConfiguration);
  });
});

test.skipIf(!needExtra('examples/mastra'))('Mastra: tools are guarded however they are run', async () => {
  const { createTool } = await load('@mastra/core/tools', 'examples/mastra');
  const { createStep, createWorkflow } = await load('@mastra/core/workflows', 'examples/mastra');
  const { z } = await load('zod', 'examples/mastra');
  const shapes = { inputSchema: z.object({}), outputSchema: z.object({ done: z.boolean() }) };
  const execute = async (args: unknown) => {
    await run(args);
    return { done: true };
  };
  const tools = mastra.guardTools(
    {
      look: createTool({ id: 'look', description: '', ...shapes, execute }),
      drop: createTool({ id: 'drop', description: '', ...shapes, execute }),
    },
    options,
  );
  const statusOf = async (name: 'look' | 'drop') => {
    const workflow = createWorkflow({ id: name, ...shapes })
      .then(createStep(tools[name]))
      .commit();
    const made = await workflow.createRun();
    return (await made.start({ inputData: {} })).status;
  };
  expect(await runsOf(async () => expect(await statusOf('look')).toBe('success'))).toHaveLength(1);
  expect(await runsOf(async () => expect(await statusOf('drop')).toBe('failed'))).toEqual([]);
  // A schema is applied before the verdict, and once more behind it.
  const paying = (amount: unknown) => {
    const pay = createTool({ id: 'pay', description: '', inputSchema: z.object({ amount }), execute: run });
    return mastra.guardTools({ pay }, options).pay;
  };
  const settling = paying(z.coerce.number().default(5));
  expect(await runsOf(() => settling.execute({}))).toEqual([{ amount: 5 }]);
  expect(await runsOf(() => settling.execute({ amount: '7' }))).toEqual([{ amount: 7 }]);
  expect(await runsOf(() => refusal(settling.execute({ amount: '70' })))).toEqual([]);
  const growing = paying(z.number().transform((given: number) => given * 2));
  expect(await runsOf(() => refusal(growing.execute({ amount: 2 })))).toEqual([]);
  expect(await runsOf(() => refusal(growing.execute({ amount: 'two' })))).toEqual([]);
  expect(() => mastra.guardTools({ ask: createTool({ id: 'ask', description: '' }) }, options)).toThrow(
    InvalidConfiguration,
  );
});

test('set-up says what is missing', () => {
  expect(() => vercel.guardTools({}, { server: '' })).toThrow(InvalidConfiguration);
  expect(() => vercel.guardTools({}, {} as never)).toThrow(InvalidConfiguration);
});
