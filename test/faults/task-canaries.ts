// Marked arguments, results, idempotency keys and ids for the promise that no part of them is at rest: calls that wait
// as tasks and end in every way, results that wait to be fetched on every replica, calls with idempotency keys, and tasks of
// a tool server. Each step says what has to come of it, so that none of them takes an easier path.

import type { Rule } from '../../src/core/policy/policy.ts';
import { connect, error, type Heard, RecordingUpstream } from '../support/mcp.ts';
import type { TestService } from '../support/service.ts';
import { IDEMPOTENCY_META, TASKS, TasksClient } from '../support/tasks.ts';
import type { Canaries } from './canaries.ts';
import { serverTask } from './result-canaries.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Any = any;

const RULES: Rule[] = [
  { tool: 'up__asked', action: 'require_approval', show: 'all' },
  { tool: 'up__failing', action: 'require_approval' },
  { tool: '*', action: 'allow' },
];
const TOOLS = ['asked', 'failing', 'said', 'served'].map(name => ({
  name,
  inputSchema: { type: 'object' },
}));

export class TaskCalls {
  readonly #replicas: readonly TestService[];
  readonly #canaries: Canaries;
  readonly #client: TasksClient;
  readonly #upstream: RecordingUpstream;
  #ended: Any = {};

  static async begin(replicas: readonly TestService[], canaries: Canaries): Promise<TaskCalls> {
    const service = replicas[0] as TestService;
    const { key, keyId } = await service.newKey(RULES);
    const calls = new TaskCalls(replicas, canaries, new TasksClient(service, key));
    await connect(service, keyId, 'up', calls.#upstream.url);
    return calls;
  }

  private constructor(replicas: readonly TestService[], canaries: Canaries, client: TasksClient) {
    this.#replicas = replicas;
    this.#canaries = canaries;
    this.#client = client;
    const asked = (heard: Heard) => this.#state(heard);
    this.#upstream = new RecordingUpstream({
      era: 'modern',
      tools: TOOLS,
      capabilities: { tools: {}, extensions: { [TASKS]: {} } },
      onCall: heard => this.#answer(heard),
      others: { 'tasks/get': asked, 'tasks/update': asked, 'tasks/cancel': asked },
    });
  }

  async everyWay(): Promise<void> {
    await this.#approved();
    await this.#notApproved();
    await this.#withKeys();
    await this.#ofTheServer();
    await this.#refused();
  }

  /** Calls that wait, and results that wait to be fetched, which nobody comes for any more. */
  async leaveOpen(): Promise<void> {
    await this.#ask('asked', 'that waits when the process is killed');
    const taskId = await this.#ask('asked', 'whose result is held when the process is killed');
    await this.#answerAs(taskId, 'approve');
    await this.#client.ends(taskId);
  }

  close(): Promise<void> {
    return this.#upstream.stop();
  }

  async #ask(tool: string, what: string, meta?: Any): Promise<string> {
    const args = { a: this.#canaries.at(`an argument of a task ${what}`) };
    const { result, text } = await this.#client.call(`up__${tool}`, args, { meta });
    if (result?.resultType !== 'task') throw new Error(`no task ${what}: ${text}`);
    return result.taskId;
  }

  /** On the last replica, while the first one holds the call. */
  async #answerAs(taskId: string, action: 'approve' | 'deny'): Promise<void> {
    const service = this.#replicas.at(-1) as TestService;
    const { details } = (await service.admin('GET', `/approvals/${taskId}`)).body;
    const body = { action, seen: details?.digest };
    const answered = await service.admin('POST', `/approvals/${taskId}/resolve`, body);
    if (answered.status !== 200) throw new Error(answered.text);
  }

  async #approved(): Promise<void> {
    for (const [tool, status] of [
      ['asked', 'completed'],
      ['failing', 'failed'],
    ] as const) {
      const taskId = await this.#ask(tool, `that is ${status}`, {
        'x/y': this.#canaries.at('a meta of a task'),
      });
      const stream = await this.#client.listen([taskId]);
      await this.#answerAs(taskId, 'approve');
      for (const replica of this.#replicas) {
        const task = await this.#client.at(replica).ends(taskId);
        if (task.status !== status) throw new Error(`not ${status}: ${JSON.stringify(task)}`);
      }
      await stream.until('the end is told', ({ tasks }) => tasks.at(-1)?.status === status);
      stream.close();
    }
  }

  async #notApproved(): Promise<void> {
    const denied = await this.#ask('asked', 'that is denied');
    await this.#answerAs(denied, 'deny');
    await this.#client.reaches(denied, ['completed']);
    const cancelled = await this.#ask('asked', 'that is cancelled');
    await this.#client.at(this.#replicas.at(-1) as TestService).cancel(cancelled);
    await this.#client.reaches(cancelled, ['cancelled']);
  }

  async #withKeys(): Promise<void> {
    const idempotencyKey = this.#canaries.at('an idempotency key');
    const args = { a: this.#canaries.at('an argument of a call with a key') };
    const answers = [];
    for (const replica of [...this.#replicas, ...this.#replicas])
      answers.push(await this.#client.at(replica).call('up__said', args, { idempotencyKey }));
    const said = new Set(answers.map(({ result }) => JSON.stringify(result)));
    if (said.size !== 1) throw new Error(`a call with a key has several results: ${[...said].join()}`);
    const meta = { [IDEMPOTENCY_META]: this.#canaries.at('an idempotency key in _meta') };
    await this.#client.call('up__said', args, { meta });
    const other = { a: this.#canaries.at('another argument of a call with a key') };
    const { error: conflict } = await this.#client.call('up__said', other, { idempotencyKey });
    if (conflict?.data?.code !== 'idempotency_conflict') throw new Error('a key was taken for another call');
    for (const service of this.#replicas) {
      const headers = { 'Idempotency-Key': this.#canaries.at('an idempotency key of a check') };
      await service.request('POST', '/v1/check', {
        headers: {
          ...headers,
          Authorization: `Bearer ${this.#client.token}`,
          'Content-Type': 'application/json',
        },
        body: JSON.stringify({
          serverName: 'files',
          toolName: 'read',
          args: { a: headers['Idempotency-Key'] },
        }),
      });
    }
    await this.#client.call('up__said', args, {
      idempotencyKey: `${this.#canaries.at('no key')} ü`.slice(0, -1),
    });
  }

  async #ofTheServer(): Promise<void> {
    const question = {
      status: 'input_required',
      inputRequests: {
        q: { method: 'elicitation/create', params: { message: this.#canaries.at('a question of a task') } },
      },
    };
    this.#ended = question;
    const taskId = await this.#ask('served', 'of the tool server');
    const last = this.#client.at(this.#replicas.at(-1) as TestService);
    await last.reaches(taskId, ['input_required']);
    await last.update(taskId, {
      q: { action: 'accept', content: { a: this.#canaries.at('an answer to a question of a task') } },
    });
    this.#ended = {
      status: 'completed',
      result: { resultType: 'complete', ...this.#said('the result of a task of the tool server') },
    };
    for (const replica of this.#replicas) await this.#client.at(replica).reaches(taskId, ['completed']);
    this.#ended = question;
    const cancelled = await this.#ask('served', 'of the tool server that is cancelled');
    await last.cancel(cancelled);
  }

  /** What is asked about tasks and is refused. */
  async #refused(): Promise<void> {
    for (const taskId of [
      this.#canaries.at('the id of a task'),
      this.#canaries.at('a long id').repeat(100),
    ]) {
      await this.#client.get(taskId);
      await this.#client.update(taskId, { q: this.#canaries.at('an answer to no question') });
      await this.#client.cancel(taskId);
      const stream = await this.#client.listen([taskId]);
      await stream.until('it is answered', ({ messages }) => messages.length > 0);
      stream.close();
    }
  }

  #said(where: string): Any {
    return { content: [{ type: 'text', text: this.#canaries.at(where) }] };
  }

  #answer(heard: Heard): unknown {
    const { name } = heard.params;
    if (name === 'failing')
      return error(heard, -32000, this.#canaries.at('why a call failed'), [
        this.#canaries.at('and its data'),
      ]);
    if (name !== 'served') return { resultType: 'complete', ...this.#said(`a result of ${name}`) };
    const statusMessage = this.#canaries.at('what a tool server says of its task');
    return {
      resultType: 'task',
      ...serverTask(this.#canaries.at('the id of a task of a tool server'), { statusMessage }),
    };
  }

  #state({ method, params }: Heard): unknown {
    if (method !== 'tasks/get') return { resultType: 'complete' };
    return { resultType: 'complete', ...serverTask(params.taskId, this.#ended) };
  }
}
