// The streams on which clients hear how their tasks change. Each message has the whole task, as tasks/get would answer it at
// that moment. The next one is made when the client has read the one before, so that a client that reads slowly misses steps
// in between and never the end.

import { type ErrorCode, GuardError } from '../../core/errors.ts';
import { type JsonObject, writeJson } from '../../core/wire/json.ts';
import type { Principal } from '../../guard/credentials.ts';
import type { AnswerRation } from '../../guard/rations/answer-ration.ts';
import { STREAM_HEADERS } from '../../guard/rations/event-writer.ts';
import { type Paced, pacedBody } from '../../guard/rations/paced-body.ts';
import type { Admit } from '../../guard/tasks/held-results.ts';
import { type Id, notificationMessage, resultMessage } from '../protocol.ts';
import type { TaskWatch } from './task-watch.ts';

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
/** How many subscriptions one key may have open here, and all keys together. */
const MAX_OF_KEY = 50;
const MAX_OPEN = 500;
/** The runtime's server and proxies cut what is silent for long. A revoked credential ends the stream at the next one. */
const KEEP_ALIVE_MS = 5000;
const ENDED = ['completed', 'failed', 'cancelled'];
const BUSY: readonly ErrorCode[] = ['rate_limited', 'overloaded'];
const BUSY_MS = 1000;

/** The tasks of the credential that listens. */
export interface OwnTasks {
  isKnown: (taskId: string) => Promise<boolean>;
  /** What tasks/get would answer, without `resultType`; null: there is no such task. */
  read: (taskId: string, admit: Admit) => Promise<JsonObject | null>;
}

/** What is needed of the request of a client that listens. */
export interface Listener {
  request: Pick<Request, 'signal'>;
  principal: Pick<Principal, 'keyId'>;
  ration: AnswerRation;
  confirm: () => Promise<void>;
  reading: () => void;
  waiting: () => void;
}

/** The open subscriptions of this process. */
export class TaskSubscriptions {
  readonly #watch: TaskWatch;
  readonly #open = new Set<Subscription>();
  #ending = false;

  constructor(watch: TaskWatch) {
    this.#watch = watch;
  }

  /** Tasks that are unknown, and those of others, are left out of what the client is told to get. */
  async open(asked: Listener, id: Id, taskIds: readonly string[], own: OwnTasks): Promise<Response> {
    this.#refuseTooMany(asked.principal.keyId);
    const subscription = new Subscription(asked, id, this.#watch, own, () => this.#open.delete(subscription));
    this.#open.add(subscription);
    try {
      await subscription.begin(taskIds);
    } catch (error) {
      subscription.close();
      throw error;
    }
    if (this.#ending) subscription.end();
    return new Response(subscription.body(), { headers: STREAM_HEADERS });
  }

  /** Ends all subscriptions, and every one that is still opened. */
  end(): void {
    this.#ending = true;
    for (const each of this.#open) each.end();
  }

  #refuseTooMany(keyId: string): void {
    const own = Array.from(this.#open).filter(each => each.keyId === keyId).length;
    if (own < MAX_OF_KEY && this.#open.size < MAX_OPEN) return;
    const most = own < MAX_OF_KEY ? MAX_OPEN : MAX_OF_KEY;
    const what = `${most} subscriptions are open here, the most there may be. Close one, or ask with tasks/get.`;
    throw new GuardError('rate_limited', what, { retryAfter: 10 });
  }
}

class Subscription {
  readonly keyId: string;
  readonly #asked: Listener;
  readonly #id: Id;
  readonly #watch: TaskWatch;
  readonly #own: OwnTasks;
  readonly #closed: () => void;
  /** The tasks that may still change, each with the function that stops watching it. */
  readonly #tasks = new Map<string, () => void>();
  /** Those to be read again. */
  readonly #changed = new Set<string>();
  /** A hash of what was last sent of each. */
  readonly #sent = new Map<string, number | bigint>();
  #acknowledged: string[] | null = null;
  #ending = false;
  #over = false;
  #wake: () => void = () => {};

  constructor(asked: Listener, id: Id, watch: TaskWatch, own: OwnTasks, closed: () => void) {
    this.keyId = asked.principal.keyId;
    this.#asked = asked;
    this.#id = id;
    this.#watch = watch;
    this.#own = own;
    this.#closed = closed;
  }

  /** Finds out which of the tasks are the credential's. */
  async begin(taskIds: readonly string[]): Promise<void> {
    const own: string[] = [];
    for (const taskId of taskIds) if (await this.#own.isKnown(taskId)) own.push(taskId);
    for (const taskId of own)
      this.#tasks.set(
        taskId,
        this.#watch.watch(taskId, id => this.#readAgain(id)),
      );
    this.#acknowledged = own;
  }

  #readAgain(taskId: string): void {
    this.#changed.add(taskId);
    this.#wake();
  }

  body(): ReadableStream<Uint8Array> {
    const { waiting, reading } = this.#asked;
    return pacedBody({ next: () => this.#next(), waiting, reading, gone: () => this.close() });
  }

  /** The client is told that nothing more will come. */
  end(): void {
    this.#ending = true;
    this.#forgetAll();
    this.#wake();
  }

  close(): void {
    this.#over = true;
    this.#forgetAll();
    this.#asked.ration.free();
    this.#wake();
    this.#closed();
  }

  #forgetAll(): void {
    for (const taskId of [...this.#tasks.keys()]) this.#forget(taskId);
  }

  #forget(taskId: string): void {
    this.#tasks.get(taskId)?.();
    this.#tasks.delete(taskId);
    this.#sent.delete(taskId);
  }

  async #next(): Promise<Paced | null> {
    try {
      return await this.#say();
    } catch {
      // The credential was revoked, or the store cannot be read. The client asks with tasks/get, or listens again.
      this.close();
      return null;
    }
  }

  async #say(): Promise<Paced | null> {
    const taskIds = this.#acknowledged;
    this.#acknowledged = null;
    if (taskIds !== null)
      return this.#notification('notifications/subscriptions/acknowledged', { notifications: { taskIds } });
    while (!this.#over) {
      const [taskId] = this.#changed;
      if (taskId !== undefined && !this.#ending) {
        const said = await this.#news(taskId);
        if (said !== null) return said;
      } else if (this.#ending || this.#tasks.size === 0) {
        return this.#last();
      } else {
        const silent = await this.#pause();
        await this.#asked.confirm();
        if (silent) return plain(': keep-alive\n\n');
      }
    }
    return null;
  }

  /** What is new of a task; null if the client knows it. After its end there is nothing more to tell of a task. */
  async #news(taskId: string): Promise<Paced | null> {
    this.#changed.delete(taskId);
    if (!this.#tasks.has(taskId)) return null;
    const { ration, request } = this.#asked;
    // What is read counts until it has become a message, which counts until the client has read it.
    let admitted = 0;
    const admit = async (bytes: number) => {
      admitted += bytes;
      await ration.grow(bytes, request.signal);
      await ration.turn(bytes);
    };
    try {
      return await this.#stateOf(taskId, admit);
    } finally {
      ration.shrink(admitted);
    }
  }

  async #stateOf(taskId: string, admit: Admit): Promise<Paced | null> {
    const task = await this.#own.read(taskId, admit).catch(unlessBusy);
    if (task === undefined) {
      setTimeout(() => this.#readAgain(taskId), BUSY_MS);
      return null;
    }
    if (task === null) {
      this.#forget(taskId);
      return null;
    }
    const hash = Bun.hash(writeJson(task));
    if (this.#sent.get(taskId) === hash) return null;
    this.#sent.set(taskId, hash);
    if (ENDED.includes(String(task['status']))) this.#forget(taskId);
    return this.#notification('notifications/tasks', task);
  }

  async #notification(method: string, params: JsonObject): Promise<Paced> {
    const message = notificationMessage(method, { ...params, _meta: { [SUBSCRIPTION]: this.#id } });
    const { ration, request } = this.#asked;
    const bytes = framed(message);
    await ration.grow(bytes.length, request.signal);
    await ration.turn(bytes.length);
    return { bytes, free: () => ration.shrink(bytes.length) };
  }

  #last(): Paced {
    this.close();
    return plain(
      framed(resultMessage(this.#id, { resultType: 'complete', _meta: { [SUBSCRIPTION]: this.#id } })),
    );
  }

  /** Waits for news; true if there were none for so long that something else has to be sent. */
  async #pause(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#wake = () => resolve(false);
    const timer = setTimeout(() => resolve(true), KEEP_ALIVE_MS);
    return promise.finally(() => clearTimeout(timer));
  }
}

/**
 * The key has no place left to ask the tool server that works on a task, or the replica that holds a result has not answered:
 * the task is read again soon.
 */
function unlessBusy(error: unknown): undefined {
  if (!(error instanceof GuardError) || !BUSY.includes(error.code)) throw error;
}

const encoder = new TextEncoder();

function framed(message: JsonObject): Uint8Array {
  return encoder.encode(`event: message\ndata: ${writeJson(message)}\n\n`);
}

function plain(text: string | Uint8Array): Paced {
  return { bytes: typeof text === 'string' ? encoder.encode(text) : text, free: () => {} };
}
