// Server-sent events, both ways: reading an upstream's stream with bounds, and writing one to a client with
// keep-alive comments.

import { Turns } from './turns.ts';
import { UpstreamError } from './wire.ts';

/** The runtime's server cuts a response that was silent for 10 seconds. */
const KEEP_ALIVE_MS = 5000;

/** What may wait for a client that reads slowly. */
const MAX_QUEUED_BYTES = 1024 * 1024;

interface ServerEvent {
  event: string;
  data: string;
}

/**
 * Events of a stream, one by one. An event larger than `maxBytes` ends the reading with an error. Each character
 * is looked at once, however the upstream cuts its chunks: a line of 16 MB read otherwise held up every other call.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let lines: string[] = [];
  let pieces: string[] = [];
  let size = 0;
  let returned = false;
  const turns = new Turns();
  for await (const chunk of body) {
    const decoded = decoder.decode(chunk, { stream: true });
    if (decoded === '') continue;
    // The chunk before ended between the two halves of a line's end.
    const text: string = returned && decoded.startsWith('\n') ? decoded.slice(1) : decoded;
    returned = text.endsWith('\r');
    size += chunk.length;
    if (size > maxBytes) throw new UpstreamError('the upstream sent an event that is too large');
    let from = 0;
    let ended = false;
    for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r/g)) {
      const line = pieces.join('') + text.slice(from, index);
      from = index + end.length;
      pieces = [];
      // Blank lines and comments count too: a flood of them, which makes no event, held up everybody for seconds.
      const othersTurn = turns.took(line.length);
      if (othersTurn !== null) await othersTurn;
      if (line !== '') {
        lines.push(line);
        continue;
      }
      const found = readEvent(lines);
      lines = [];
      ended = true;
      if (found !== null) yield found;
    }
    pieces.push(text.slice(from));
    if (ended) size = Buffer.byteLength(text.slice(from));
  }
}

function readEvent(lines: readonly string[]): ServerEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of lines) {
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
