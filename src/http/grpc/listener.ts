// Listens for gRPC: unary calls of one method, without encryption and without compression. A call is read as a whole
// before its caller is known, because the key is in it, so what all calls together may hold is bounded.
// docs/decisions/0017-reach.md says why this is written by hand.

import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';

const OK = '0';
const UNIMPLEMENTED = '12';

export interface GrpcOptions {
  host: string;
  port: number;
  reusePort: boolean;
  path: string;
  /** In bytes. */
  maxMessage: number;
  answer: (message: Uint8Array, metadata: Metadata) => Promise<Uint8Array>;
  /**
   * The answer to a message that cannot be read. After an error of gRPC, a gateway that is configured to go on without
   * us would let the request pass.
   */
  refusal: Uint8Array;
}

/** The headers of a call. */
export type Metadata = Readonly<IncomingHttpHeaders>;

/** How many bytes all calls that are not completely read may hold together. */
const MAX_HELD = 64 * 1024 * 1024;
/** A call that has not arrived completely within this time is given up. */
const READ_MS = 10_000;
const STOP_MS = 8000;
const MAX_STREAMS = 1000;
const MAX_HEADERS = 16 * 1024;

export class GrpcListener {
  readonly #options: GrpcOptions;
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  #held = 0;

  private constructor(options: GrpcOptions) {
    this.#options = options;
    this.#server = createServer({
      maxHeaderListPairs: 100,
      settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: MAX_HEADERS },
    });
    this.#server.on('session', session => {
      this.#sessions.add(session);
      session.on('close', () => this.#sessions.delete(session));
      session.on('error', () => {});
    });
    this.#server.on('sessionError', () => {});
    this.#server.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      const isCheck = headers[':path'] === options.path && GRPC.test(String(headers['content-type'] ?? ''));
      if (isCheck) this.#take(stream as ServerHttp2Stream, headers);
      else unimplemented(stream as ServerHttp2Stream);
    });
  }

  /** Throws if the port cannot be opened. */
  static async open(options: GrpcOptions): Promise<GrpcListener> {
    const listener = new GrpcListener(options);
    const { host, port, reusePort } = options;
    await new Promise<void>((resolve, reject) => {
      listener.#server.once('error', reject);
      listener.#server.listen({ host, port, reusePort } as never, () => resolve());
    });
    return listener;
  }

  /** Takes no further calls; those in progress get their answers. */
  async stop(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.close();
    await Promise.race([closed, Bun.sleep(STOP_MS)]);
    for (const session of this.#sessions) session.destroy();
  }

  #take(stream: ServerHttp2Stream, metadata: Metadata): void {
    const chunks: Uint8Array[] = [];
    let size = 0;
    let over = false;
    /** Called when the call was read, given up or refused. */
    const end = () => {
      if (over) return;
      over = true;
      this.#held -= size;
      clearTimeout(late);
    };
    const late = setTimeout(() => stream.close(), READ_MS);
    stream.on('close', end);
    stream.on('data', (chunk: Uint8Array) => {
      if (over) return;
      size += chunk.length;
      this.#held += chunk.length;
      chunks.push(chunk);
      if (size <= this.#options.maxMessage + PREFIX && this.#held <= MAX_HELD) return;
      chunks.length = 0;
      end();
      send(stream, this.#options.refusal);
    });
    stream.on('end', () => {
      if (over) return;
      end();
      this.#answer(stream, Buffer.concat(chunks), metadata);
    });
  }

  async #answer(stream: ServerHttp2Stream, bytes: Buffer, metadata: Metadata): Promise<void> {
    const { answer, refusal } = this.#options;
    const isWhole = bytes.length >= PREFIX && bytes.readUInt32BE(1) === bytes.length - PREFIX;
    // The first byte says whether the message is compressed, which this listener does not support.
    if (!isWhole || bytes[0] !== 0) return send(stream, refusal);
    send(stream, await answer(bytes.subarray(PREFIX), metadata).catch(() => refusal));
  }
}

const GRPC = /^application\/grpc(?:\+proto)?(?:;|$)/;
/** A flag for compression, and the length. */
const PREFIX = 5;

function send(stream: ServerHttp2Stream, message: Uint8Array): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return;
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(message.length, 1);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': OK }));
  stream.end(Buffer.concat([prefix, message]));
}

function unimplemented(stream: ServerHttp2Stream): void {
  const headers = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': UNIMPLEMENTED };
  stream.respond(headers, { endStream: true });
}
