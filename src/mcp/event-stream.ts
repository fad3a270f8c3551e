// Server-sent events, both ways: reading an upstream's stream with bounds, and writing one to a client with
// keep-alive comments.

/** The runtime's server cuts a response that was silent for 10 seconds. */
const KEEP_ALIVE_MS = 5000;

export interface ServerEvent {
  event: string;
  data: string;
}

/** Events of a stream, one by one. An event larger than `maxBytes` ends the reading with an error. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > maxBytes) throw new Error('the upstream sent an event that is too large');
    for (;;) {
      const end = /\r?\n\r?\n|\r\r/.exec(rest);
      if (end === null) break;
      const found = readEvent(rest.slice(0, end.index));
      rest = rest.slice(end.index + end[0].length);
      if (found !== null) yield found;
    }
  }
}

function readEvent(block: string): ServerEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
    else if (line.startsWith('event:')) event = line.slice(6).trim();
  }
  // Some servers begin with an event without data, only to give it an id.
  const text = data.join('\n');
  return text === '' ? null : { event, data: text };
}

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
    this.body = new ReadableStream({
      start: controller => {
        this.#controller = controller;
      },
      cancel: () => this.close(),
    });
    this.#keepAlive = setInterval(() => {
      this.#write(': keep-alive\n\n');
      onKeepAlive();
    }, KEEP_ALIVE_MS);
  }

  send(message: unknown): void {
    this.#write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
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

  #write(text: string): void {
    try {
      this.#controller?.enqueue(this.#encoder.encode(text));
    } catch {
      this.close();
    }
  }
}
