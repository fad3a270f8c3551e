// Server-sent events to a client, with keep-alive comments and a bound on what may wait: for the dashboard's feed and
// for clients of the MCP proxy.

/** The runtime's server cuts a response that was silent for 10 seconds. */
const KEEP_ALIVE_MS = 5000;

/** What may wait for a client that reads slowly. */
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

  /** Says what may be lost: left out while the client does not take what was said before. */
  hint(message: unknown): void {
    if (this.#hasRoom()) this.send(message);
  }

  /** One named event with its id. A client that does not take them is let go: it comes back with its last id. */
  tell(event: string, data: unknown, id: string): void {
    if (!this.#hasRoom()) this.close();
    else this.#write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Where the client is, before there is anything to say. */
  place(id: string, retryMs: number): void {
    this.#write(`retry: ${retryMs}\nid: ${id}\n\n`);
  }

  /** Lets headers reach the client before there is anything to say. */
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
      // The client went away first.
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
