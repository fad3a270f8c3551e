// Writes server-sent events to a client, with keep-alive comments and a bound on what may wait. The dashboard's feed
// and the clients of the MCP proxy use it.

/** The runtime's server cuts a response that was silent for 10 seconds. */
const KEEP_ALIVE_MS = 5000;

/** How much may wait for a client that reads slowly. */
const MAX_QUEUED_BYTES = 1024 * 1024;
/** How much of it may be messages that may be lost. A key may have hundreds of calls under way, each with its stream. */
const MAX_HINT_BYTES = 64 * 1024;
/** The last message is handed out in pieces of this size. */
const PIECE_BYTES = 64 * 1024;

export const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

/** A stream to a client. `onClosed` is called once, whichever side ends it. */
export class EventWriter {
  readonly #encoder = new TextEncoder();
  readonly #keepAlive: Timer;
  readonly #onClosed: () => void;
  readonly body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** What is left of the last message, and what is called when the client has read some of it. */
  #last: Uint8Array | null = null;
  #reading: () => void = () => {};

  constructor(onClosed: () => void, onKeepAlive: () => void = () => {}) {
    this.#onClosed = onClosed;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller;
        },
        pull: () => this.#handOut(),
        cancel: () => this.close(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MAX_QUEUED_BYTES }),
    );
    this.#keepAlive = setInterval(() => {
      if (this.#hasRoom()) this.#write(': keep-alive\n\n');
      onKeepAlive();
    }, KEEP_ALIVE_MS);
  }

  /**
   * Sends the last message, as fast as the client reads it, and closes the stream. `reading` is called for each piece that
   * the client takes.
   */
  end(message: unknown, reading: () => void = () => {}): void {
    if (this.#controller === null) return;
    clearInterval(this.#keepAlive);
    this.#last = this.#encoder.encode(framed(message));
    this.#reading = reading;
    this.#handOut();
  }

  /** Sends a message that may be lost: it is left out while the client has not read the messages before it. */
  hint(message: unknown): void {
    if (this.#queued >= MAX_HINT_BYTES) return;
    const bytes = this.#encoder.encode(framed(message));
    if (this.#queued + bytes.length <= MAX_HINT_BYTES) this.#enqueue(bytes);
  }

  /** Sends one named event with its id. A client that does not read is disconnected, and returns with its last id. */
  tell(event: string, data: unknown, id: string): void {
    if (!this.#hasRoom()) this.close();
    else this.#write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Tells the client its position before the first event. */
  place(id: string, retryMs: number): void {
    this.#write(`retry: ${retryMs}\nid: ${id}\n\n`);
  }

  /** Makes the headers reach the client before the first event. */
  open(): void {
    this.#write(': open\n\n');
  }

  close(): void {
    const controller = this.#controller;
    if (controller === null) return;
    this.#controller = null;
    clearInterval(this.#keepAlive);
    try {
      controller.close();
    } catch {
      // The client has already gone.
    }
    this.#onClosed();
  }

  #hasRoom(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  get #queued(): number {
    return MAX_QUEUED_BYTES - (this.#controller?.desiredSize ?? 0);
  }

  /** One piece at a time: the next one is handed out when the client has taken this one. */
  #handOut(): void {
    const last = this.#last;
    if (last === null || this.#queued > 0) return;
    this.#reading();
    this.#last = last.subarray(PIECE_BYTES);
    this.#enqueue(last.subarray(0, PIECE_BYTES));
    if (last.length <= PIECE_BYTES) this.close();
  }

  #write(text: string): void {
    this.#enqueue(this.#encoder.encode(text));
  }

  #enqueue(bytes: Uint8Array): void {
    try {
      this.#controller?.enqueue(bytes);
    } catch {
      this.close();
    }
  }
}

const framed = (message: unknown): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
