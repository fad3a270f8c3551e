// A small load of checks, or of other requests, over keep-alive connections, one request at a time on each. Plain sockets:
// the test knows when a request was sent, and nothing is resent behind its back, as `fetch` does. What the answers mean is
// left to the tests.

import type { Socket } from 'bun';

export interface Sent {
  token: string;
  body: string;
  /** Where it goes, if that is not `/v1/check`. */
  path?: string;
  /** Further headers, by line. */
  headers?: string;
}

export interface Answer {
  status: number;
  text: string;
  token: string;
  /** `performance.now()` just before the request was written. */
  sentAt: number;
  receivedAt: number;
}

export const took = ({ sentAt, receivedAt }: Answer): number => receivedAt - sentAt;

/** From here on a check is answered although its commit is still under way. */
export const CHECK_LIMIT_MS = 2900;
/** The shortest wait after which the store gives up. */
const STORE_LIMIT_MS = 1000;

/** Whether an answer ran out of time, or its refusal may come from that: a machine that pauses makes some of them. */
export const isLate = (answer: Answer): boolean =>
  took(answer) > (answer.status === 500 ? STORE_LIMIT_MS : CHECK_LIMIT_MS);

/** A whole check takes 3 s at most; the rest is for a busy machine. */
export const ANSWERED_WITHIN_MS = 3000 + 3000;

export interface LoadOptions {
  connections: number;
  /** Asked before each connect, so that a restarted service is found again. */
  url: () => string;
  /** The next request of a connection; null ends that connection. */
  next: (connection: number) => Sent | null;
  answered: (answer: Answer) => void;
}

export interface Load {
  /** Resolves once every connection ended by itself. */
  done: Promise<void>;
  /** Lets requests under way finish, then closes. */
  stop: () => Promise<void>;
  /** Requests whose connection ended before an answer. */
  readonly unanswered: number;
}

const RECONNECT_MS = 10;

export function startLoad(options: LoadOptions): Load {
  const state = { stopping: false, unanswered: 0 };
  const each = (connection: number) => keepAsking(options, connection, state);
  const done = Promise.all(Array.from({ length: options.connections }, (_, index) => each(index))).then(
    () => {},
  );
  return {
    done,
    stop: () => {
      state.stopping = true;
      return done;
    },
    get unanswered() {
      return state.unanswered;
    },
  };
}

/** `count` checks, spread over the connections. */
export async function checks(count: number, options: LoadOptions): Promise<void> {
  let left = count;
  await startLoad({ ...options, next: connection => (left-- > 0 ? options.next(connection) : null) }).done;
}

async function keepAsking(
  options: LoadOptions,
  connection: number,
  state: { stopping: boolean; unanswered: number },
): Promise<void> {
  let wire: Wire | null = null;
  while (!state.stopping) {
    wire ??= await Wire.open(options.url());
    if (wire === null) {
      await Bun.sleep(RECONNECT_MS);
      continue;
    }
    const sent = options.next(connection);
    if (sent === null) break;
    const answer = await wire.ask(sent);
    if (answer === null) state.unanswered++;
    else options.answered(answer);
    if (!wire.open) wire = null;
  }
  wire?.close();
}

interface Waiting {
  token: string;
  sentAt: number;
  resolve: (answer: Answer | null) => void;
}

/** One connection. */
export class Wire {
  open = true;
  readonly #host: string;
  #socket: Socket | null = null;
  #received: Buffer = Buffer.alloc(0);
  #waiting: Waiting | null = null;

  private constructor(host: string) {
    this.#host = host;
  }

  static async open(url: string): Promise<Wire | null> {
    const { host, hostname, port } = new URL(url);
    const wire = new Wire(host);
    const end = () => wire.#end();
    try {
      wire.#socket = await Bun.connect({
        hostname,
        port: Number(port),
        socket: { data: (_socket, chunk) => wire.#take(chunk), close: end, end, error: end },
      });
      return wire;
    } catch {
      return null;
    }
  }

  /** The answer, or null when the connection ended before it was whole. */
  ask({ token, body, path = '/v1/check', headers = '' }: Sent): Promise<Answer | null> {
    const head =
      `POST ${path} HTTP/1.1\r\nHost: ${this.#host}\r\nAuthorization: Bearer ${token}\r\n${headers}` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    return new Promise(resolve => {
      this.#waiting = { token, sentAt: performance.now(), resolve };
      if (!this.open || (this.#socket?.write(head + body) ?? -1) < 0) this.#end();
    });
  }

  close(): void {
    this.#socket?.end();
  }

  #take(chunk: Buffer): void {
    this.#received =
      this.#received.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = this.#received.toString('latin1', 0, headEnd);
    const end = headEnd + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#received.length < end) return;
    const text = this.#received.toString('utf8', headEnd + 4, end);
    this.#received = this.#received.subarray(end);
    const waiting = this.#waiting;
    this.#waiting = null;
    if (/\r\nconnection: *close/i.test(head)) this.open = false;
    const { token, sentAt } = waiting ?? { token: '', sentAt: 0 };
    waiting?.resolve({
      status: Number(head.slice(9, 12)),
      text,
      token,
      sentAt,
      receivedAt: performance.now(),
    });
  }

  #end(): void {
    this.open = false;
    this.#waiting?.resolve(null);
    this.#waiting = null;
  }
}
