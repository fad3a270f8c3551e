// The answer to a request of ours: its head, and its body as it arrives. A body that nobody reads is held back: the
// connection is paused, so that no server can fill our memory.

import type { Head } from './head.ts';

/** How much may wait here until it is read, and one read of the socket more. */
const HIGH_WATER_BYTES = 64 * 1024;
/** What a part takes beside its bytes, about: a server may send byte by byte. */
const PART_BYTES = 200;

/** Whether so many bytes have room: null, or a promise to wait for. */
export type Room = (bytes: number) => Promise<void> | null;

/** The connection that the body comes from. */
interface Source {
  pause(): void;
  resume(): void;
  /** Ends the connection: nobody wants the rest of the body. */
  destroy(): void;
}

export class IncomingResponse {
  readonly #head: Head;
  readonly body: ResponseBody;

  constructor(head: Head, source: Source) {
    this.#head = head;
    this.body = new ResponseBody(source);
  }

  get status(): number {
    return this.#head.status;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status <= 299;
  }

  /** The name is in lower case. */
  header(name: string): string | null {
    return this.#head.headers.get(name) ?? null;
  }
}

export class ResponseBody {
  readonly #source: Source;
  #parts: Buffer[] = [];
  #size = 0;
  #paused = false;
  #state: 'open' | 'ended' | 'failed' = 'open';
  #error: unknown = null;
  #wake: (() => void) | null = null;

  constructor(source: Source) {
    this.#source = source;
  }

  /** Takes what has arrived. */
  push(part: Buffer): void {
    this.#parts.push(part);
    this.#size += part.length + PART_BYTES;
    if (this.#size > HIGH_WATER_BYTES && !this.#paused) {
      this.#paused = true;
      this.#source.pause();
    }
    this.#wake?.();
  }

  end(): void {
    this.#state = 'ended';
    // The connection is used for other requests from now on, even if nobody ever reads this body.
    this.#resume();
    this.#wake?.();
  }

  fail(error: unknown): void {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    this.#error = error;
    this.#wake?.();
  }

  /** The whole body, if it arrived at once and has at most so many bytes, as most do; else null. */
  arrivedWithin(bytes: number): Buffer | null {
    const [only] = this.#parts;
    if (this.#state !== 'ended' || this.#parts.length !== 1 || (only as Buffer).length > bytes) return null;
    return this.#take();
  }

  /**
   * The whole body; null if it is larger, and then the rest is not read. `room` is waited for before each part is kept, and
   * the server waits meanwhile.
   */
  async bytes(maxBytes: number, room: Room = () => null): Promise<Buffer | null> {
    const parts: Buffer[] = [];
    let size = 0;
    for (let part = this.#take() ?? (await this.#next()); part !== null; part = await this.#next()) {
      size += part.length;
      if (size > maxBytes) {
        this.cancel();
        return null;
      }
      const waiting = room(part.length);
      if (waiting !== null) await waiting;
      parts.push(part);
    }
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (let part = await this.#next(); part !== null; part = await this.#next()) yield part;
    } finally {
      this.cancel();
    }
  }

  /** Gives up what was not read. If all of it has arrived, the connection stays. */
  async cancel(): Promise<void> {
    this.#parts = [];
    if (this.#state !== 'open') return;
    this.#state = 'ended';
    this.#source.destroy();
  }

  /** All that has arrived since; null at the end. */
  async #next(): Promise<Buffer | null> {
    for (;;) {
      const part = this.#take();
      if (part !== null) return part;
      if (this.#state === 'failed') throw this.#error;
      if (this.#state === 'ended') return null;
      // Only now: whoever waits for room has not asked for more.
      this.#resume();
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  #take(): Buffer | null {
    if (this.#parts.length === 0) return null;
    const [only] = this.#parts;
    const taken = this.#parts.length === 1 ? (only as Buffer) : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#size = 0;
    return taken;
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#source.resume();
  }
}
