// Writes server-sent events to a client, with keep-alive comments and a bound on what may wait. The dashboard's feed
// and the clients of the MCP proxy use it.

/** The runtime's server cuts a response that was silent for 10 seconds. */
const KEEP_ALIVE_MS = 5000;

/** How much may wait for a client that reads slowly. */
const MAX_QUEUED_BYTES = 1024 * 1024;

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

  constructor(onClosed: () => void, onKeepAlive: () => void = () => {}) {
    this.#onClosed = onClosed;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller;
        },
        cancel: () => this.close(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MAX_QUEUED_BYTES }),
    );
    this.#keepAlive = setInterval(() => {
      if (this.#hasRoom()) this.#write(': keep-alive\n\n');
      onKeepAlive();
    }, KEEP_ALIVE_MS);
  }

  send(message: unknown): void {
    this.#write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  /** Sends a message that may be lost: it is left out while the client has not read the messages before it. */
  hint(message: unknown): void {
    if (this.#hasRoom()) this.send(message);
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

  #write(text: string): void {
    try {
      this.#controller?.enqueue(this.#encoder.encode(text));
    } catch {
      this.close();
    }
  }
}
