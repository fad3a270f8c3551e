// A client that knows tasks (io.modelcontextprotocol/tasks of 2026-07-28), for tests. It sends plain messages, declares
// the extension in each of them, and shows whatever came back.

import { until } from './faults.ts';
import { type Answered, envelope, events, META, modern, type Sending } from './mcp.ts';
import type { TestService } from './service.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Any = any;

export const TASKS = 'io.modelcontextprotocol/tasks';
export const IDEMPOTENCY_META = 'dev.toolgate/idempotency-key';
/** What a request says whose client knows tasks. */
export const DECLARED = { extensions: { [TASKS]: {} } };
export const ENDED = ['completed', 'failed', 'cancelled'];

export interface Calling extends Sending {
  meta?: Any;
  /** As a header. */
  idempotencyKey?: string;
}

export class TasksClient {
  readonly service: TestService;
  readonly token: string;
  readonly #capabilities: Any;

  /** `capabilities` are those of each request; `{}` is a client that knows no tasks. */
  constructor(service: TestService, token: string, capabilities: Any = DECLARED) {
    this.service = service;
    this.token = token;
    this.#capabilities = capabilities;
  }

  /** The same client, which asks another replica. */
  at(service: TestService): TasksClient {
    return new TasksClient(service, this.token, this.#capabilities);
  }

  request(method: string, params: Any = {}, sending: Sending = {}): Promise<Answered> {
    const _meta = { [`${META}clientCapabilities`]: this.#capabilities, ...params._meta };
    return modern(this.service, this.token, method, { ...params, _meta }, sending);
  }

  /** A tools/call; its result is a task if `resultType` says so. */
  call(name: string, args: Any = {}, { meta, idempotencyKey, ...sending }: Calling = {}): Promise<Answered> {
    const headers: Record<string, string> =
      idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    return this.request(
      'tools/call',
      { name, arguments: args, ...(meta && { _meta: meta }) },
      { ...sending, headers: { ...headers, ...sending.headers } },
    );
  }

  get(taskId: string, sending: Sending = {}): Promise<Answered> {
    return this.request('tasks/get', { taskId }, sending);
  }

  update(taskId: string, inputResponses: Any, sending: Sending = {}): Promise<Answered> {
    return this.request('tasks/update', { taskId, inputResponses }, sending);
  }

  cancel(taskId: string, sending: Sending = {}): Promise<Answered> {
    return this.request('tasks/cancel', { taskId }, sending);
  }

  /** The task, once it has one of these statuses. */
  async reaches(taskId: string, statuses: readonly string[], withinMs?: number): Promise<Any> {
    let last: Answered | undefined;
    const reached = async () => {
      last = await this.get(taskId);
      return statuses.includes(last.result?.status);
    };
    await until(`the task is ${statuses.join(' or ')}`, reached, withinMs).catch(error => {
      throw new Error(`${error.message}; the last answer was ${last?.text}`);
    });
    return last?.result;
  }

  /** The task, once it has ended. */
  ends(taskId: string, withinMs?: number): Promise<Any> {
    return this.reaches(taskId, ENDED, withinMs);
  }

  /** Subscribes to what becomes of these tasks. */
  async listen(taskIds: readonly string[]): Promise<TaskStream> {
    const id = `listen-${crypto.randomUUID()}`;
    const stop = new AbortController();
    const method = 'subscriptions/listen';
    const _meta = envelope({ [`${META}clientCapabilities`]: this.#capabilities });
    const response = await fetch(`${this.service.url}/mcp`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        Authorization: `Bearer ${this.token}`,
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': method,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { notifications: { taskIds }, _meta } }),
      signal: stop.signal,
    });
    return new TaskStream(id, response, stop);
  }
}

/** What came on one subscription so far. A refusal is a message as any other. */
export class TaskStream {
  readonly id: string;
  readonly status: number;
  /** Resolves once the service has ended the stream, or it was closed. */
  readonly ended: Promise<void>;
  #text = '';
  #isWhole = false;
  readonly #isStream: boolean;
  readonly #stop: AbortController;

  constructor(id: string, response: Response, stop: AbortController) {
    this.id = id;
    this.status = response.status;
    this.#isStream = response.headers.get('content-type')?.includes('text/event-stream') === true;
    this.#stop = stop;
    this.ended = this.#read(response);
  }

  get messages(): Any[] {
    if (this.#isStream) return events(this.#text.slice(0, this.#text.lastIndexOf('\n\n') + 1));
    return this.#isWhole && this.#text !== '' ? [JSON.parse(this.#text)] : [];
  }

  /** The tasks that the service agreed to tell about; null before it has said so. */
  get agreed(): string[] | null {
    const first = this.messages.find(each => each.method === 'notifications/subscriptions/acknowledged');
    return first === undefined ? null : (first.params.notifications.taskIds ?? []);
  }

  /** Each state that was told, in order. */
  get tasks(): Any[] {
    return this.messages.filter(each => each.method === 'notifications/tasks').map(each => each.params);
  }

  async until(what: string, reached: (stream: TaskStream) => boolean, withinMs?: number): Promise<void> {
    await until(what, () => reached(this), withinMs);
  }

  close(): void {
    this.#stop.abort();
  }

  async #read({ body }: Response): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of body ?? []) this.#text += decoder.decode(chunk, { stream: true });
      this.#isWhole = true;
    } catch {
      // It was closed, or the service has gone.
    }
  }
}
