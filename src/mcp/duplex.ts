// A wire over a channel that carries messages both ways (stdio, the older SSE): it gives requests their ids, finds the
// request that an answer belongs to, and hands notifications to the calls they concern. It bounds how much may wait for
// an upstream that does not read. Each channel knows by itself when a message was taken. Several keys may share a channel:
// none of them holds up the calls of another, or is told what may concern another.

import { type JsonObject, writeJson } from '../core/wire/json.ts';
import { type AnswerRation, SMALL_ANSWER_BYTES } from '../guard/rations/answer-ration.ts';
import type { TooLong } from './lines.ts';
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
import { Untaken } from './untaken.ts';
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

/**
 * How many answers to an upstream's own requests may wait until it reads them; further requests get no answer. An
 * upstream that kept asking and read nothing made us use 900 MB.
 */
const MAX_DECLINING = 8;

/** Where an answer that cannot be read has its id: servers write it first or last. */
const ID_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*[,}]/;
const ID_LAST = /,\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;
const MAX_ENDS = 200;

const NO_ROOM = Symbol('no room');

/** For whom messages count that belong to no request. */
const OURS = '';

interface Waiting {
  hooks: Hooks;
  resolve: (response: RpcResponse) => void;
  reject: (error: Error) => void;
}

export abstract class Duplex implements Wire {
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #closed = false;
  /** Whether it takes no further requests, and ends when those under way have. */
  #ending = false;
  readonly #untaken = new Untaken();
  #declining = 0;
  /** Aborted when the channel is closed. */
  readonly #over = new AbortController();
  /** Whether a message waits for room in the key's share, and all behind it do. */
  #crowded = false;
  /** The keys of a shared channel that have a large answer here for which their share has no room yet. */
  readonly #parked = new Set<string>();
  readonly #newRation: () => AnswerRation;
  readonly #isShared: () => boolean;
  protocolVersion: string | null = null;
  readonly triesModern: boolean = false;
  onNotification: (notification: RpcNotification) => void = () => {};
  onClosed: (reason: string) => void = () => {};

  /** `newRation` makes a ration of the key that the channel belongs to, or of the server if keys share it. */
  constructor(newRation: () => AnswerRation, isShared: () => boolean = () => false) {
    this.#newRation = newRation;
    this.#isShared = isShared;
  }

  /**
   * Writes one message's text to the channel; resolves once the other side has taken it. An UpstreamError says that this
   * message was not taken, any other error that the channel is broken. `hooks` are those of a request.
   */
  protected abstract write(text: string, hooks?: Hooks): Promise<void>;
  /** Closes the channel. It is called once. */
  protected abstract end(): void;

  request(method: string, params: JsonObject, hooks: Hooks): Promise<RpcResponse> {
    if (this.#closed || this.#ending)
      return Promise.reject(new UpstreamError('the upstream is gone', { unsent: true }));
    if (hooks.signal.aborted) return Promise.reject(new UpstreamError('the call was cancelled'));
    const { caller } = hooks.ration;
    if (!this.#untaken.hasRoom(caller))
      return Promise.reject(new UpstreamError('the upstream does not take what it was sent before'));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { hooks, resolve, reject });
      hooks.signal.addEventListener('abort', () => this.#cancel(id), { once: true });
      this.#send({ jsonrpc: '2.0', id, method, params }, caller, hooks);
    });
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    this.#send(notificationMessage(method, params), OURS);
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
   * left the channel. On a shared channel nobody knows whose message it is before it is read, so that the answer waits for
   * room when it has left the channel.
   */
  async #takeLarge(text: string, ration: AnswerRation): Promise<void> {
    if (this.#isShared()) {
      await ration.turn(text.length);
      this.#read(text, null);
      return;
    }
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
      if (!(error instanceof MessageTooLarge)) return null;
      if (this.#isShared()) this.#refuse(text.slice(0, MAX_ENDS), text.slice(-MAX_ENDS), error);
      else this.broken(error.message);
      return null;
    }
  }

  /** A message that is too large breaks the channel, unless calls of other keys may be under way on it. */
  protected readonly tooLong: TooLong = {
    isPassedOver: () => this.#isShared(),
    wasPassedOver: (beginning, end) =>
      this.#refuse(beginning, end, new MessageTooLarge('the upstream sent a message that is too large')),
  };

  /** The call whose answer could not be read is told so at once, if its id is where servers put it. */
  #refuse(beginning: string, end: string, why: MessageTooLarge): void {
    const [, id] = ID_FIRST.exec(beginning) ?? ID_LAST.exec(end) ?? [];
    if (id !== undefined) this.#done(Number(id))?.reject(why);
  }

  /** Refuses a request of the upstream: we offer it none. An upstream that asks faster than it reads gets no answer. */
  async #decline(id: Id): Promise<void> {
    if (this.#declining >= MAX_DECLINING) return;
    this.#declining++;
    await this.#send(
      errorMessage(id, new RpcError(CODES.methodNotFound, 'This client takes no requests.')),
      OURS,
    );
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

  async #send(message: JsonObject, caller: string, hooks?: Hooks): Promise<void> {
    const text = writeJson(message);
    const taken = this.#untaken.add(caller, Buffer.byteLength(text));
    try {
      await this.write(text, hooks);
    } catch (error) {
      if (error instanceof UpstreamError) this.#refused(message, error);
      else this.broken('the upstream takes no messages');
    } finally {
      taken();
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

  /** Hands a response, with the bytes that it counts, to the call that waits for it. */
  #answer(response: RpcResponse, text: string, ration: AnswerRation | null): void {
    const waiting = this.#done(response.id as number);
    if (waiting === undefined) ration?.free();
    else if (ration === null) this.#answerWithRoom(waiting, response, text.length);
    else {
      waiting.hooks.ration.adopt(ration);
      waiting.resolve(response);
    }
  }

  /**
   * A small response has to wait for room only if it belongs to an answer that is large, such as a list of many pages. On
   * a shared channel large ones wait here too, but only one of each key: the others would fill the memory of all.
   */
  #answerWithRoom({ hooks, resolve, reject }: Waiting, response: RpcResponse, bytes: number): void {
    const { caller } = hooks.ration;
    const isLarge = bytes > SMALL_ANSWER_BYTES;
    const room = isLarge && this.#parked.has(caller) ? NO_ROOM : roomFor(bytes, hooks);
    if (room === null) resolve(response);
    else if (room === NO_ROOM) reject(new AnswersUnread());
    else {
      if (isLarge) this.#parked.add(caller);
      const taken = () => isLarge && this.#parked.delete(caller);
      room.finally(taken).then(() => resolve(response), reject);
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
   * while a single call is under way: with several, it might concern the call of another session. On a shared channel it
   * might concern a call of another key that was given up, so it is never passed on.
   */
  #tell(notification: RpcNotification): void {
    this.onNotification(notification);
    const isMixed = this.#waiting.size > 1 || this.#isShared();
    if (notification.method !== 'notifications/progress' && isMixed) return;
    for (const { hooks } of this.#waiting.values()) hooks.onNotification(notification);
  }

  #cancel(id: number): void {
    const waiting = this.#done(id);
    if (waiting === undefined) return;
    const why = { requestId: id, reason: 'cancelled by the client' };
    const { caller } = waiting.hooks.ration;
    if (this.#untaken.hasRoom(caller))
      this.#send(notificationMessage('notifications/cancelled', why), caller);
    waiting.reject(this.#crowded ? new AnswersUnread() : new UpstreamError('the call was cancelled'));
  }
}
