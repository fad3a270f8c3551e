// A wire over a channel that carries messages both ways (stdio, the older SSE): it gives requests their ids, finds the
// request that an answer belongs to, and hands notifications to the calls they concern. It bounds how much may wait for
// an upstream that does not read. Each channel knows by itself when a message was taken.

import { type JsonObject, writeJson } from '../core/wire/json.ts';
import { type AnswerRation, SMALL_ANSWER_BYTES } from '../guard/rations/answer-ration.ts';
import {
  CODES,
  errorMessage,
  type Id,
  notificationMessage,
  RpcError,
  type RpcMessage,
  type RpcNotification,
  type RpcResponse,
} from './protocol.ts';
import {
  AnswersUnread,
  type Hooks,
  HttpStatusError,
  MessageTooLarge,
  readUpstream,
  roomFor,
  UpstreamError,
  type Wire,
} from './wire.ts';

/** How much may wait for an upstream that reads nothing. Further requests are refused. */
const MAX_UNTAKEN_BYTES = 16 * 1024 * 1024;
/**
 * How many messages may wait. On the older HTTP transport each of them has a socket, even after its call was cancelled
 * and has given its slot back.
 */
const MAX_UNTAKEN = 1000;

/**
 * How many answers to an upstream's own requests may wait until it reads them; further requests get no answer. An
 * upstream that kept asking and read nothing made us use 900 MB.
 */
const MAX_DECLINING = 8;

interface Waiting {
  hooks: Hooks;
  resolve: (response: RpcResponse) => void;
  reject: (error: Error) => void;
}

function answerSmall({ hooks, resolve, reject }: Waiting, response: RpcResponse, bytes: number): void {
  const room = roomFor(bytes, hooks);
  if (room === null) resolve(response);
  else room.then(() => resolve(response), reject);
}

export abstract class Duplex implements Wire {
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #closed = false;
  /** Whether it takes no further requests, and ends when those under way have. */
  #ending = false;
  #untaken = 0;
  #untakenBytes = 0;
  #declining = 0;
  /** Aborted when the channel is closed. */
  readonly #over = new AbortController();
  /** Whether a message waits for room in the key's share, and all behind it do. */
  #crowded = false;
  readonly #newRation: () => AnswerRation;
  protocolVersion: string | null = null;
  readonly triesModern: boolean = false;
  onNotification: (notification: RpcNotification) => void = () => {};
  onClosed: (reason: string) => void = () => {};

  /** `newRation` makes a ration of the key that the channel belongs to. */
  constructor(newRation: () => AnswerRation) {
    this.#newRation = newRation;
  }

  /**
   * Writes one message's text to the channel; resolves once the other side has taken it. An UpstreamError says that this
   * message was not taken, any other error that the channel is broken.
   */
  protected abstract write(text: string): Promise<void>;
  /** Closes the channel. It is called once. */
  protected abstract end(): void;

  request(method: string, params: JsonObject, hooks: Hooks): Promise<RpcResponse> {
    if (this.#closed || this.#ending)
      return Promise.reject(new UpstreamError('the upstream is gone', { unsent: true }));
    if (hooks.signal.aborted) return Promise.reject(new UpstreamError('the call was cancelled'));
    if (!this.#hasRoom)
      return Promise.reject(new UpstreamError('the upstream does not take what it was sent before'));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { hooks, resolve, reject });
      hooks.signal.addEventListener('abort', () => this.#cancel(id), { once: true });
      this.#send({ jsonrpc: '2.0', id, method, params });
    });
  }

  get #hasRoom(): boolean {
    return this.#untaken < MAX_UNTAKEN && this.#untakenBytes <= MAX_UNTAKEN_BYTES;
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    this.#send(notificationMessage(method, params));
  }

  listen(): void {}

  close(): void {
    this.broken('the connection was closed');
  }

  /** Takes a message that arrived. Whoever reads the channel waits for the promise before reading on. */
  protected take(text: string): Promise<void> | null {
    if (text.length > SMALL_ANSWER_BYTES) return this.#takeLarge(text, this.#newRation());
    this.#read(text, null);
    return null;
  }

  /**
   * Waits for room in the key's share, and then for its turn. The channel is not read meanwhile, which holds back only
   * calls of the same key. They cannot wait for each other: room is made by clients, as they read answers that have
   * left the channel.
   */
  async #takeLarge(text: string, ration: AnswerRation): Promise<void> {
    this.#crowded = true;
    // It rejects if the channel is closed meanwhile, and then nobody waits for the message.
    await ration.grow(Buffer.byteLength(text), this.#over.signal)?.catch(() => {});
    this.#crowded = false;
    await ration.turn(text.length);
    this.#read(text, ration);
  }

  #read(text: string, ration: AnswerRation | null): void {
    const message = this.#closed ? null : this.#parsed(text);
    if (message?.kind === 'response') this.#answer(message, text, ration);
    else ration?.free();
    if (message?.kind === 'notification') this.#tell(message);
    else if (message?.kind === 'request') this.#decline(message.id);
  }

  #parsed(text: string): RpcMessage | null {
    try {
      return readUpstream(text);
    } catch (error) {
      if (error instanceof MessageTooLarge) this.broken(error.message);
      return null;
    }
  }

  /** Refuses a request of the upstream: we offer it none. An upstream that asks faster than it reads gets no answer. */
  async #decline(id: Id): Promise<void> {
    if (this.#declining >= MAX_DECLINING) return;
    this.#declining++;
    await this.#send(errorMessage(id, new RpcError(CODES.methodNotFound, 'This client takes no requests.')));
    this.#declining--;
  }

  /** Ends the channel, which is of no more use, and rejects every request that waits. */
  protected broken(why: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#over.abort();
    this.end();
    const error = new UpstreamError(why);
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
    if (!this.#ending) this.onClosed(error.message);
  }

  async #send(message: JsonObject): Promise<void> {
    const text = writeJson(message);
    const bytes = Buffer.byteLength(text);
    this.#untaken++;
    this.#untakenBytes += bytes;
    try {
      await this.write(text);
    } catch (error) {
      if (error instanceof UpstreamError) this.#refused(message, error);
      else this.broken('the upstream takes no messages');
    } finally {
      this.#untaken--;
      this.#untakenBytes -= bytes;
    }
  }

  /**
   * The upstream did not take one message, and only that one fails: the others may be running. Further requests get
   * another channel, unless the refusal was about this message: 404 says that the upstream has forgotten our session.
   */
  #refused({ id, method }: JsonObject, error: UpstreamError): void {
    const isOver = !(error instanceof HttpStatusError) || error.status === 404;
    if (isOver && !this.#ending && !this.#closed) {
      this.#ending = true;
      this.onClosed(error.message);
    }
    if (method !== undefined && id !== undefined) this.#done(id as number)?.reject(error);
    this.#endIfUnused();
  }

  /**
   * Hands a response, with the bytes that it counts, to the call that waits for it. A small one has to wait for room only
   * if it belongs to an answer that is large, such as a list of many pages.
   */
  #answer(response: RpcResponse, text: string, ration: AnswerRation | null): void {
    const waiting = this.#done(response.id as number);
    if (waiting === undefined) ration?.free();
    else if (ration === null) answerSmall(waiting, response, text.length);
    else {
      waiting.hooks.ration.adopt(ration);
      waiting.resolve(response);
    }
  }

  /** Takes the request out of those that wait. */
  #done(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    this.#endIfUnused();
    return waiting;
  }

  #endIfUnused(): void {
    if (this.#ending && this.#waiting.size === 0) this.broken('the connection was closed');
  }

  /**
   * Passes a notification on. Progress names its call by a token. A log message names no call, so it is passed on only
   * while a single call is under way: with several, it might concern the call of another session.
   */
  #tell(notification: RpcNotification): void {
    this.onNotification(notification);
    if (notification.method !== 'notifications/progress' && this.#waiting.size > 1) return;
    for (const { hooks } of this.#waiting.values()) hooks.onNotification(notification);
  }

  #cancel(id: number): void {
    const waiting = this.#done(id);
    if (waiting === undefined) return;
    const why = { requestId: id, reason: 'cancelled by the client' };
    if (this.#hasRoom) this.#send(notificationMessage('notifications/cancelled', why));
    waiting.reject(this.#crowded ? new AnswersUnread() : new UpstreamError('the call was cancelled'));
  }
}
