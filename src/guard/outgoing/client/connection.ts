// One connection to a server, for one request at a time. Whatever is odd (bytes that nobody asked for, a head that
// cannot be read, a request that is given up) ends it. client.ts keeps connections for later requests.

import { isIP } from 'node:net';
import type { Pin } from '../pins.ts';
import { Chunks } from './chunks.ts';
import { BadAnswer, type Head, readHead } from './head.ts';
import { IncomingResponse } from './response.ts';

/** The largest head of an answer, with those of the interim answers before it. */
const MAX_HEAD_BYTES = 64 * 1024;
/** How often is looked whether a connection that nobody uses has to be closed. */
const LOOK_SECONDS = 4;
/** For how long a connection that was opened for a request which was given up waits for another. */
const UNUSED_MS = 4000;

/** The runtime's sockets have these, but its types lack them. */
type TcpSocket = Bun.Socket<Connection> & { pause(): void; resume(): void };

/** What a connection tells its owner. */
export interface Owner {
  /** It may be used again. */
  free(connection: Connection): void;
  gone(connection: Connection): void;
  /** The monotonic clock. */
  now(): number;
}

/** A request whose answer is not complete. */
interface Exchange {
  resolve: (answer: IncomingResponse) => void;
  reject: (error: unknown) => void;
  signal: AbortSignal;
  aborted: () => void;
  /** Null until the head is here. */
  answer: IncomingResponse | null;
}

export class Connection {
  readonly #owner: Owner;
  readonly pin: Pin;
  #socket: TcpSocket | null = null;
  #exchange: Exchange | null = null;
  /** What the socket did not take yet of the request. */
  #unsent: Buffer | null = null;
  /** What is here of a head. */
  #begun: Buffer | null = null;
  #headBytes = 0;
  #keptMs = 0;
  /** Until when it may be used again. */
  #freshUntil = 0;
  /** How many bytes of the body are missing, or what reads its chunks; Infinity: it ends with the connection. */
  #left: number | Chunks = 0;

  private constructor(pin: Pin, owner: Owner) {
    this.pin = pin;
    this.#owner = owner;
  }

  /**
   * Rejects with the error of the system, or with that of the certificate. A handshake ends with the signal: a server
   * that takes connections and never answers it would hold a socket for each request.
   */
  static open(pin: Pin, owner: Owner, signal: AbortSignal): Promise<Connection> {
    const { address, port, serverName } = pin;
    const connection = new Connection(pin, owner);
    const { promise, resolve, reject } = Promise.withResolvers<Connection>();
    const opened = (socket: Bun.Socket<Connection>) => {
      connection.#socket = socket as TcpSocket;
      connection.#freshUntil = owner.now() + UNUSED_MS;
      socket.timeout(LOOK_SECONDS);
      resolve(connection);
    };
    let enough = () => {};
    const beforeHandshake = (socket: Bun.Socket<Connection>) => {
      enough = () => socket.terminate();
      if (signal.aborted) enough();
      else signal.addEventListener('abort', enough);
    };
    const handshake = (socket: Bun.Socket<Connection>, success: boolean, error: Error | null) => {
      signal.removeEventListener('abort', enough);
      if (success && error === null) return opened(socket);
      reject(error ?? new Error('the certificate is not accepted'));
      socket.terminate();
    };
    Bun.connect<Connection>({
      hostname: address,
      port,
      data: connection,
      // An address is no name to tell the server (RFC 6066, section 3): some refuse it. The certificate has to be for it.
      ...(serverName !== null && {
        tls: { serverName: isIP(serverName) === 0 ? serverName : '', rejectUnauthorized: true },
      }),
      socket: {
        ...HANDLERS,
        ...(serverName === null ? { open: opened } : { open: beforeHandshake, handshake }),
        close: (_, error) => {
          signal.removeEventListener('abort', enough);
          reject(error ?? new Error('the connection was closed'));
          connection.#closed(error);
        },
        connectError: (_, error) => reject(error),
      },
    }).catch(reject);
    return promise;
  }

  /** Whether it may be used for a request: the server has not closed it, and will not do so soon. */
  get isFresh(): boolean {
    return this.#socket !== null && this.#owner.now() < this.#freshUntil;
  }

  /** Sends a request, which has so many bytes, and resolves with the head of its answer. */
  ask(request: string, bytes: number, signal: AbortSignal): Promise<IncomingResponse> {
    return new Promise((resolve, reject) => {
      const aborted = () => this.#fail(signal.reason);
      this.#exchange = { resolve, reject, signal, aborted, answer: null };
      if (signal.aborted) return aborted();
      signal.addEventListener('abort', aborted);
      this.#headBytes = 0;
      const sent = this.#socket?.write(request) ?? -1;
      if (sent < 0) return this.#fail(new Error('the connection was closed'));
      if (sent < bytes) this.#unsent = Buffer.from(request).subarray(sent);
    });
  }

  destroy(): void {
    this.#fail(new Error('the connection was closed'));
  }

  /** Closes a connection that nobody uses. */
  close(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.end();
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** @internal The handlers of all sockets call what follows. */
  drained(): void {
    if (this.#unsent === null || this.#socket === null) return;
    const sent = this.#socket.write(this.#unsent);
    if (sent < 0) return;
    this.#unsent = sent < this.#unsent.length ? this.#unsent.subarray(sent) : null;
  }

  received(bytes: Buffer): void {
    try {
      let rest: Buffer | null = bytes;
      while (rest !== null && this.#exchange?.answer === null) rest = this.#readHead(rest);
      if (rest !== null) this.#readBody(rest);
    } catch (error) {
      this.#fail(error);
    }
  }

  timedOut(): void {
    if (this.#exchange === null && !this.isFresh) this.destroy();
    else this.#socket?.timeout(LOOK_SECONDS);
  }

  /** Reads a head, if it is complete, and returns the bytes after it. */
  #readHead(bytes: Buffer): Buffer | null {
    const begun = this.#begun;
    const all = begun === null ? bytes : Buffer.concat([begun, bytes]);
    const end = all.indexOf('\r\n\r\n', begun === null ? 0 : Math.max(0, begun.length - 3));
    if (this.#headBytes + (end < 0 ? all.length : end) > MAX_HEAD_BYTES)
      throw new BadAnswer('the head is too large');
    this.#begun = end < 0 ? all : null;
    if (end < 0) return null;
    this.#headBytes += end;
    const head = readHead(all.toString('latin1', 0, end));
    if (head.status === 101) throw new BadAnswer('the server changes the protocol');
    if (head.status >= 200) this.#begin(head);
    return all.subarray(end + 4);
  }

  #begin(head: Head): void {
    const exchange = this.#exchange as Exchange;
    exchange.answer = new IncomingResponse(head, this);
    this.#keptMs = head.keptMs;
    const { framing } = head;
    this.#left =
      framing === 'chunked' ? new Chunks() : framing === 'until closed' ? Number.POSITIVE_INFINITY : framing;
    exchange.resolve(exchange.answer);
  }

  #readBody(bytes: Buffer): void {
    const body = this.#exchange?.answer?.body;
    if (body === undefined) throw new BadAnswer('the server sent what nobody asked for');
    let read: number;
    if (this.#left instanceof Chunks) {
      read = this.#left.read(bytes, part => body.push(part));
      if (this.#left.ended) this.#left = 0;
    } else {
      const part = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
      read = part.length;
      this.#left -= read;
      if (read > 0) body.push(part);
    }
    if (this.#left === 0) this.#finish(read === bytes.length);
  }

  /** The answer is complete. A connection on which more was sent than the answer is not used again. */
  #finish(clean: boolean): void {
    const exchange = this.#exchange as Exchange;
    this.#exchange = null;
    exchange.signal.removeEventListener('abort', exchange.aborted);
    exchange.answer?.body.end();
    this.#freshUntil = this.#owner.now() + this.#keptMs;
    if (clean && this.#keptMs > 0 && this.#unsent === null && this.#socket !== null) this.#owner.free(this);
    else this.destroy();
  }

  /** The server closed the connection, which is the end of a body that has no other. */
  #closed(error: Error | undefined): void {
    this.#socket = null;
    if (error === undefined && this.#left === Number.POSITIVE_INFINITY && this.#exchange?.answer)
      this.#finish(true);
    else this.#fail(error ?? new Error('the connection was closed'));
  }

  /** Ends the connection, and the request that waits for its answer. */
  #fail(error: unknown): void {
    const exchange = this.#exchange;
    const socket = this.#socket;
    this.#exchange = null;
    this.#socket = null;
    this.#unsent = null;
    socket?.terminate();
    this.#owner.gone(this);
    if (exchange === null) return;
    exchange.signal.removeEventListener('abort', exchange.aborted);
    if (exchange.answer === null) exchange.reject(error);
    else exchange.answer.body.fail(error);
  }
}

const HANDLERS = {
  data: (socket: Bun.Socket<Connection>, bytes: Buffer) => socket.data.received(bytes),
  drain: (socket: Bun.Socket<Connection>) => socket.data.drained(),
  timeout: (socket: Bun.Socket<Connection>) => socket.data.timedOut(),
  error: (socket: Bun.Socket<Connection>) => socket.data.destroy(),
};
