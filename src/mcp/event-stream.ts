// Reads the server-sent events of an upstream, within bounds. guard/rations/event-writer.ts writes such events to a client.

import type { Room } from '../guard/outgoing/client/response.ts';
import { ReadSlices } from './read-slices.ts';
import { UpstreamError } from './wire.ts';

interface ServerEvent {
  event: string;
  data: string;
}

/** How many short texts are joined into one. */
const JOINED = 1000;

/**
 * Texts that become one. They are joined as they come: eight million lines of one character each, within an event of
 * 16 MiB, took a gigabyte as long as each of them was kept by itself.
 */
class Joined {
  readonly #between: string;
  #whole: string[] = [];
  #parts: string[] = [];

  constructor(between: string) {
    this.#between = between;
  }

  add(part: string): void {
    this.#parts.push(part);
    if (this.#parts.length < JOINED) return;
    this.#whole.push(this.#parts.join(this.#between));
    this.#parts = [];
  }

  /** The text, after which nothing is left. */
  take(): string {
    if (this.#whole.length === 0 && this.#parts.length === 1) return this.#parts.pop() as string;
    const text = [...this.#whole, ...this.#parts].join(this.#between);
    this.#whole = [];
    this.#parts = [];
    return text;
  }
}

/**
 * Yields the events of a stream, one by one. An event larger than `maxBytes` ends the reading with an error. Each
 * character is looked at once, however the upstream cuts its chunks: before, one line of 16 MB delayed every other
 * call. `room` is waited for before a chunk is taken.
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  room: Room = () => null,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  const line = new Joined('');
  const data = new Joined('\n');
  let event = 'message';
  let size = 0;
  let returned = false;
  const slices = new ReadSlices();
  for await (const chunk of body) {
    const waiting = room(chunk.length);
    if (waiting !== null) await waiting;
    const decoded = decoder.decode(chunk, { stream: true });
    if (decoded === '') continue;
    // The previous chunk ended between the CR and the LF of a line's end.
    const text: string = returned && decoded.startsWith('\n') ? decoded.slice(1) : decoded;
    returned = text.endsWith('\r');
    size += chunk.length;
    if (size > maxBytes) throw new UpstreamError('the upstream sent an event that is too large');
    let from = 0;
    let ended = false;
    for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r/g)) {
      line.add(text.slice(from, index));
      const whole = line.take();
      from = index + end.length;
      // Blank lines and comments count too: a flood of them makes no event, and delayed every other call for seconds.
      const othersTurn = slices.took(whole.length);
      if (othersTurn !== null) await othersTurn;
      if (whole.startsWith('data:')) data.add(whole.slice(5).replace(/^ /, ''));
      else if (whole.startsWith('event:')) event = whole.slice(6).trim();
      if (whole !== '') continue;
      const found = { event, data: data.take() };
      event = 'message';
      ended = true;
      // Some servers begin with an event without data, only to give it an id.
      if (found.data !== '') yield found;
    }
    line.add(text.slice(from));
    if (ended) size = Buffer.byteLength(text.slice(from));
  }
}
