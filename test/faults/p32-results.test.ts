// P32: nothing leaves that a policy hides or withholds. Finds of several formats stand at every place where a tool server
// can say something, for clients of both eras, in calls that are answered, cancelled or given up, in calls that wait as
// tasks and in tasks of tool servers, and while the process is killed. They are searched for in all that clients get, in the log at its finest, in the store and in what is sent of
// traces. The mutants pass notifications on before they are looked at, look only at content, pass errors on raw, look at no
// names, pass on what a task of a server ends with, and give marks after the result.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Rule } from '../../src/core/policy/policy.ts';
import type { ResultEntry } from '../../src/core/policy/result-fields.ts';
import { figures, newDataDir, until, withMutant } from '../support/faults.ts';
import {
  type Answered,
  connect,
  type Heard,
  LegacyClient,
  modern,
  RecordingUpstream,
  startWithStdio,
  stdioScript,
  streamed,
} from '../support/mcp.ts';
import type { Patch } from '../support/mutant.ts';
import type { Engine, TestService } from '../support/service.ts';
import { ENDED, TASKS, TasksClient } from '../support/tasks.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';
import { Canaries, searchFor } from './canaries.ts';
import {
  DIGITS,
  FORMATS,
  type Format,
  findAt,
  PATTERN,
  PLACES,
  type Place,
  STATES,
  serverTask,
  UNSAID,
} from './result-canaries.ts';

const RULES: Rule[] = [
  { tool: 'up__approved', action: 'require_approval' },
  { tool: 'up__send', action: 'allow', when: '!("untrusted" in marks)' },
  { tool: 'up__send', action: 'deny' },
  { tool: '*', action: 'allow' },
];
const RESULTS: ResultEntry[] = [
  {
    tool: '*',
    hide: ['email', 'secrets', 'phone', { pattern: PATTERN, as: 'mark' }, { pattern: DIGITS, as: 'digits' }],
  },
  { tool: 'up__page', marks: 'untrusted' },
];
const FORWARD = ['resources', 'prompts', 'completion'];
const TOOLS = ['say', 'page', 'send', 'wait', 'approved'].map(name => ({
  name,
  inputSchema: { type: 'object' },
}));

const FILE = 'src/guard/check/guarded-call.ts';
const MUTANTS: Record<string, Patch> = {
  'that passes notifications on as they come': {
    file: 'src/mcp/guarded-notes.ts',
    find: 'if (this.#waiting >= MOST_WAITING) return;',
    replace: 'this.#passOn(notification);',
  },
  'that looks only at content': {
    file: FILE,
    find: 'this.#look(guard => guardResult(guard, result));',
    replace: `this.#look(function* (guard) {
      const { result: seen, ...told } = yield* guardResult(guard, { content: result['content'] ?? [] });
      return { ...told, result: told.outcome.withheld ? seen : { ...result, ...seen } };
    });`,
  },
  'that passes errors on raw': {
    file: FILE,
    find: 'this.#look(guard => guardError(guard, error));',
    replace: 'this.#look(function* (guard) { return { ...(yield* guardError(guard, error)), error }; });',
  },
  'that looks at no names': {
    file: 'src/core/results/survey.ts',
    find: "if (free || !NAMES.has(name)) replace({ text: name, kind: 'fixed', spoken: false });",
    replace: '',
  },
  'that passes on what a task of a server ends with': {
    file: 'src/mcp/tasks/server-task.ts',
    find: 'const seen = await lookAt(guarded, ration, end);',
    replace: 'const seen = await lookAt(guarded === null ? guarded : null, ration, end);',
  },
  'that gives marks after the result': {
    file: FILE,
    find: 'await this.#mark(seen.marks);',
    replace: 'setTimeout(() => this.#mark(seen.marks), 200);',
  },
};

const both = await enginesWhenChanged(
  'src/mcp/**',
  'src/guard/check/**',
  'src/core/results/**',
  'src/store/**',
);
for (const engine of both)
  test(`${engine}: nothing leaves that was to be hidden`, async () => {
    const world = await World.start(engine);
    try {
      for (const format of FORMATS) await world.everyPlace(format);
      await world.tasks();
      await world.serverTasks();
      await world.relayed();
      await world.commands();
      await world.unanswered();
      await world.marks();
      await world.killed();
      const leaks = await world.leaks();
      figures(`P32 ${engine}`, {
        operations: world.answers,
        finds: world.canaries.size,
        violations: leaks.length + world.wrong.length,
      });
      expect(leaks).toEqual([]);
      expect(world.wrong).toEqual([]);
    } finally {
      await world.close();
    }
  });

for (const [what, patch] of Object.entries(MUTANTS))
  whenChanged(patch)(`a mutant ${what} is found out`, async () => {
    const found = await withMutant([patch], async root => {
      const world = await World.start('sqlite', root);
      try {
        await world.everyPlace(FORMATS[0] as Format);
        await world.serverTasks();
        await world.marks();
        const found = [...(await world.leaks()), ...world.wrong];
        figures('P32 sqlite mutant', {
          operations: world.answers,
          finds: world.canaries.size,
          violations: found.length,
        });
        return found;
      } finally {
        await world.close();
      }
    });
    expect(found).not.toEqual([]);
  });

type Ask = (method: string, params: object, signal?: AbortSignal) => Promise<Answered>;

class World {
  readonly canaries = new Canaries();
  /** What clients were left with that they should not have been. */
  readonly wrong: string[] = [];
  answers = 0;
  readonly #service: TestService;
  readonly #end: () => Promise<void>;
  readonly #upstreams: Record<string, RecordingUpstream>;
  readonly #collector: Bun.Server<undefined>;
  readonly #heard: string[] = [];
  readonly #traces: Buffer[];
  #keys = new Map<string, string>();
  #answer: (heard: Heard) => unknown = () => ({ content: [] });
  #task: (heard: Heard) => unknown = () => ({});

  static async start(engine: Engine, root?: string): Promise<World> {
    const traces: Buffer[] = [];
    const collector = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: async request => {
        traces.push(Buffer.from(await request.bytes()));
        return new Response('{}', { headers: { 'Content-Type': 'application/json' } });
      },
    });
    const notes = join(newDataDir(), 'calls');
    const { service, end } = await startWithStdio(
      { lines: stdioScript('good', notes), pieces: stdioScript('pieces', notes) },
      {
        engine,
        ...(root !== undefined && { root }),
        env: {
          TOOLGATE_LOG_LEVEL: 'trace',
          TOOLGATE_UPSTREAM_TIMEOUT: '2s',
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
        },
      },
    );
    return new World(service, end, collector, traces);
  }

  private constructor(
    service: TestService,
    end: () => Promise<void>,
    collector: Bun.Server<undefined>,
    traces: Buffer[],
  ) {
    this.#service = service;
    this.#end = end;
    this.#collector = collector;
    this.#traces = traces;
    const upstream = (era: 'legacy' | 'modern') => {
      const relayed = (heard: Heard) => this.#answer(heard);
      return new RecordingUpstream({
        era,
        tools: TOOLS,
        capabilities: {
          tools: {},
          logging: {},
          resources: {},
          prompts: {},
          completion: {},
          completions: {},
          extensions: { [TASKS]: {} },
        },
        onCall: heard => this.#answer(heard),
        others: {
          'resources/list': relayed,
          'resources/read': relayed,
          'prompts/get': relayed,
          'prompts/list': relayed,
          'completion/complete': relayed,
          'tasks/get': heard => this.#task(heard),
        },
      });
    };
    this.#upstreams = { older: upstream('legacy'), newer: upstream('modern') };
  }

  async #key(era: string): Promise<string> {
    const known = this.#keys.get(era);
    if (known !== undefined) return known;
    const { key, keyId } = await this.#service.newKey(RULES, { forward: FORWARD }, { results: RESULTS });
    const upstream = this.#upstreams[era] as RecordingUpstream;
    await connect(this.#service, keyId, 'up', upstream.url);
    for (const server of ['lines', 'pieces'])
      await connect(this.#service, keyId, server, { transport: 'stdio', server });
    this.#keys.set(era, key);
    return key;
  }

  /** Clients of each era, before servers of each era. */
  async *#clients(): AsyncGenerator<{ who: string; server: string; ask: Ask; key: string }> {
    for (const server of Object.keys(this.#upstreams)) {
      const key = await this.#key(server);
      const older = await LegacyClient.open(this.#service, key);
      const ask: Ask = (method, params, signal) => older.request(method, params, signal ? { signal } : {});
      yield { who: `an older client of the ${server} server`, server, key, ask };
      const newer: Ask = (method, params, signal) => {
        const meta = { 'io.modelcontextprotocol/logLevel': 'debug', ...(params as { _meta?: object })._meta };
        return modern(this.#service, key, method, { ...params, _meta: meta }, signal ? { signal } : {});
      };
      yield { who: `a newer client of the ${server} server`, server, key, ask: newer };
    }
  }

  #note(answered: Answered): void {
    this.answers++;
    this.#heard.push(answered.text);
  }

  async everyPlace(format: Format): Promise<void> {
    for await (const { who, server, ask } of this.#clients())
      for (const [place, { left, answer }] of Object.entries(PLACES)) {
        const where = `${place}, ${format.name}, ${who}`;
        const find = findAt(this.canaries, where, format);
        const digits = this.canaries.digits(`${where}, digits`);
        this.#answer = heard => finished(answer(find, heard, digits), server);
        const answered = await ask('tools/call', { name: 'up__say', _meta: { progressToken: 'mine' } });
        this.#note(answered);
        this.#judge(where, left, format.name, answered, who);
      }
  }

  #judge(where: string, left: Place['left'], name: string, { text, result, error }: Answered, who: string) {
    const isAskedOlder = where.startsWith('a question') && who.startsWith('an older');
    const isHidden = text.includes(`[hidden: ${name}]`);
    const isWithheld = (result?.isError === true || error !== undefined) && text.includes('withholds');
    if (left === 'hidden' && !isHidden && !isAskedOlder) this.wrong.push(`${where}: ${text.slice(0, 200)}`);
    if (left === 'withheld' && !isWithheld) this.wrong.push(`${where}: ${text.slice(0, 200)}`);
  }

  /** Calls that wait for approval as tasks. What is said meanwhile has nobody to be told to. */
  async tasks(): Promise<void> {
    const [format] = FORMATS as [Format];
    for (const server of Object.keys(this.#upstreams)) {
      const client = new TasksClient(this.#service, await this.#key(server));
      for (const [place, { left, answer }] of Object.entries(PLACES)) {
        const where = `${place}, a task, the ${server} server`;
        const find = findAt(this.canaries, where, format);
        const digits = this.canaries.digits(`${where}, digits`);
        this.#answer = heard => finished(answer(find, heard, digits), server);
        const { result } = await client.call('up__approved', { where });
        const path = `/approvals/${result.taskId}/resolve`;
        await this.#service.admin('POST', path, { action: 'approve' });
        await this.#judgeTask(where, UNSAID.test(place) ? 'nothing' : left, format, client, result.taskId);
      }
    }
  }

  /** Tasks of the tool server, in whose states the finds stand. */
  async serverTasks(): Promise<void> {
    const [format] = FORMATS as [Format];
    const client = new TasksClient(this.#service, await this.#key('newer'));
    for (const [place, { left, state }] of Object.entries(STATES)) {
      const where = `${place}, a task of the server`;
      const find = findAt(this.canaries, where, format);
      const digits = this.canaries.digits(`${where}, digits`);
      const taskId = this.canaries.at(`the name of a task, ${place}`);
      this.#answer = () => ({ resultType: 'task', ...serverTask(taskId, { statusMessage: find }) });
      this.#task = heard => finished(serverTask(taskId, state(find, heard, digits)), 'newer');
      const called = await client.call('up__say', { where });
      this.#note(called);
      await this.#judgeTask(where, left, format, client, called.result.taskId);
    }
  }

  async #judgeTask(
    where: string,
    left: Place['left'],
    { name }: Format,
    client: TasksClient,
    taskId: string,
  ): Promise<void> {
    await client.reaches(taskId, [...ENDED, 'input_required']);
    const answered = await client.get(taskId);
    this.#note(answered);
    const { result, error } = answered.result;
    this.#judge(where, left, name, { ...answered, result, error }, 'a newer client');
  }

  /** Resources, prompts and completion, their lists, and a batch. */
  async relayed(): Promise<void> {
    const [format] = FORMATS as [Format];
    const asked: [string, object, (find: string) => object][] = [
      ['resources/list', {}, find => ({ resources: [{ uri: `a:${find}`, name: find, title: find }] })],
      ['resources/read', { uri: 'up+a:b' }, find => ({ contents: [{ uri: 'a:b', text: find }] })],
      ['prompts/list', {}, find => ({ prompts: [{ name: 'p', description: find }] })],
      [
        'prompts/get',
        { name: 'up__p' },
        find => ({ messages: [{ role: 'user', content: { type: 'text', text: find } }] }),
      ],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'up__p' }, argument: { name: 'x', value: '' } },
        find => ({ completion: { values: [find] } }),
      ],
    ];
    for await (const { who, server, ask, key } of this.#clients()) {
      for (const [method, params, made] of asked) {
        const find = findAt(this.canaries, `${method}, ${who}`, format);
        this.#answer = () => finished(made(find), server);
        const answered = await ask(method, params);
        this.#note(answered);
        if (!answered.text.includes('[hidden: email]'))
          this.wrong.push(`${method}, ${who}: ${answered.text.slice(0, 200)}`);
      }
      const batch = await LegacyClient.open(this.#service, key, '2025-03-26');
      this.#answer = () =>
        finished({ content: [{ type: 'text', text: findAt(this.canaries, 'a batch', format) }] }, server);
      const calls = [1, 2, 3].map(id => ({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: 'up__say', arguments: {} },
      }));
      this.#note(await batch.post(calls));
    }
  }

  /** Servers that are commands, of which one writes its lines in pieces. */
  async commands(): Promise<void> {
    for await (const { who, ask } of this.#clients())
      for (const server of ['lines', 'pieces'])
        for (const format of FORMATS) {
          const said = findAt(this.canaries, `${server}, ${who}`, format);
          const answered = await ask('tools/call', { name: `${server}__echo`, arguments: { said } });
          this.#note(answered);
          if (!answered.text.includes(`[hidden: ${format.name}]`))
            this.wrong.push(`${server}, ${who}: ${answered.text.slice(0, 200)}`);
        }
  }

  /** Calls that the client gives up, and that the server takes too long for. What it said before is looked at, too. */
  async unanswered(): Promise<void> {
    const [format] = FORMATS as [Format];
    for await (const { who, ask } of this.#clients())
      for (const how of ['cancelled', 'timed out']) {
        const find = findAt(this.canaries, `${how}, ${who}`, format);
        const given = new AbortController();
        this.#answer = heard =>
          streamed(async send => {
            const params = { level: 'error', data: find };
            send({ jsonrpc: '2.0', method: 'notifications/message', params });
            if (how === 'cancelled') given.abort();
            await new Promise(resolve => heard.signal.addEventListener('abort', resolve));
            send({ jsonrpc: '2.0', id: heard.id, result: { content: [{ type: 'text', text: find }] } });
          });
        const answered = await ask('tools/call', { name: 'up__wait' }, given.signal).catch(() => null);
        if (answered !== null) this.#note(answered);
      }
  }

  /** A mark holds for whatever is sent after the result that brought it. */
  async marks(): Promise<void> {
    for await (const { who, server, ask } of this.#clients()) {
      this.#answer = () => finished({ content: [{ type: 'text', text: 'a page' }] }, server);
      this.#note(await ask('tools/call', { name: 'up__page' }));
      const sent = await ask('tools/call', { name: 'up__send' });
      this.#note(sent);
      if (sent.result?.isError !== true) this.wrong.push(`a call after a mark was made: ${who}`);
    }
  }

  /** Calls are under way, with what they return, when the process is killed. */
  async killed(): Promise<void> {
    const [format] = FORMATS as [Format];
    const under = new Set<string>();
    const asked: Promise<unknown>[] = [];
    for await (const { who, ask } of this.#clients()) {
      this.#answer = heard => {
        under.add(String(heard.id));
        const find = findAt(this.canaries, `killed, ${who}`, format);
        return { content: [{ type: 'text', text: `${'said '.repeat(2000)}${find}` }] };
      };
      for (let at = 0; at < 20; at++)
        asked.push(
          ask('tools/call', { name: 'up__say' }).then(
            answered => this.#note(answered),
            () => {},
          ),
        );
    }
    await until('a call is forwarded', () => under.size > 0);
    await this.#service.kill('SIGKILL');
    await Promise.all(asked);
  }

  /** The places whose finds are anywhere. */
  async leaks(): Promise<string[]> {
    await this.#service.kill('SIGTERM');
    const { dataDir, output } = this.#service;
    const said = [
      ...this.#heard,
      ...Object.values(output),
      ...this.#traces.map(each => each.toString('latin1')),
    ];
    return searchFor(this.canaries, [dataDir], said);
  }

  async close(): Promise<void> {
    await this.#end();
    for (const upstream of Object.values(this.#upstreams)) await upstream.stop();
    await this.#collector.stop(true);
  }
}

/** The newer era wants every result to say that it is complete. */
function finished(answer: unknown, server: string): unknown {
  if (server === 'older' || answer instanceof Response || typeof answer !== 'object') return answer;
  return { resultType: 'complete', ...answer };
}
