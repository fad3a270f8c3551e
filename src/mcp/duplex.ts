// Requests and answers over a channel that carries messages both ways (stdio, legacy SSE): our ids, our table
// of who waits for what, and notifications handed to the calls they belong to.

import { parseJson, writeJson } from '../core/json.ts';
import {
  CODES,
  errorMessage,
  type JsonObject,
  notificationMessage,
  RpcError,
  type RpcMessage,
  type RpcNotification,
  type RpcResponse,
  readMessage,
} from './protocol.ts';
import { type Hooks, UpstreamError, type Wire } from './wire.ts';

interface Waiting {
  hooks: Hooks;
  resolve: (response: RpcResponse) => void;
  reject: (error: Error) => void;
}

export abstract class Duplex implements Wire {
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #closed = false;
  protocolVersion: string | null = null;
  onNotification: (notification: RpcNotification) => void = () => {};
  onClosed: (reason: string) => void = () => {};

  /** Writes one message's text to the channel. */
  protected abstract write(text: string): Promise<void> | void;
  protected abstract end(): void;

  request(method: string, params: JsonObject, hooks: Hooks): Promise<RpcResponse> {
    if (this.#closed) return Promise.reject(new UpstreamError('the upstream is gone', { unsent: true }));
    if (hooks.signal.aborted) return Promise.reject(new UpstreamError('the call was cancelled'));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { hooks, resolve, reject });
      hooks.signal.addEventListener('abort', () => this.#cancel(id), { once: true });
      this.#send({ jsonrpc: '2.0', id, method, params });
    });
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    this.#send(notificationMessage(method, params));
  }

  close(): void {
    this.broken('the connection was closed');
    this.end();
  }

  /** One message arrived. */
  protected take(text: string): void {
    let message: RpcMessage;
    try {
      message = readMessage(parseJson(text));
    } catch {
      return;
    }
    if (message.kind === 'response') this.#answer(message);
    else if (message.kind === 'notification') this.#tell(message);
    else {
      const declined = new RpcError(CODES.methodNotFound, 'This client takes no requests.');
      this.#send(errorMessage(message.id, declined));
    }
  }

  /** The channel is no more; whoever waits is told. */
  protected broken(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const waiting of this.#waiting.values()) waiting.reject(new UpstreamError(reason));
    this.#waiting.clear();
    this.onClosed(reason);
  }

  #send(message: JsonObject): void {
    Promise.resolve(this.write(writeJson(message))).catch(() =>
      this.broken('the upstream takes no messages'),
    );
  }

  #answer(response: RpcResponse): void {
    const waiting = this.#waiting.get(response.id as number);
    if (waiting === undefined) return;
    this.#waiting.delete(response.id as number);
    waiting.resolve(response);
  }

  /**
   * Progress names its call by a token. A log message names none: it is told to whoever is calling alone, and to
   * nobody when there are several, since it may speak of another session's call.
   */
  #tell(notification: RpcNotification): void {
    this.onNotification(notification);
    if (notification.method !== 'notifications/progress' && this.#waiting.size > 1) return;
    for (const { hooks } of this.#waiting.values()) hooks.onNotification(notification);
  }

  #cancel(id: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    this.#send(
      notificationMessage('notifications/cancelled', { requestId: id, reason: 'cancelled by the client' }),
    );
    waiting.reject(new UpstreamError('the call was cancelled'));
  }
}
