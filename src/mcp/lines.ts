// Cuts bytes that arrive in chunks into lines, and bounds how much of an unfinished line is kept. Each byte is copied a
// few times at most, however small the chunks are, because the buffer grows by doubling.

import { ReadSlices } from './read-slices.ts';

const NEWLINE = 0x0a;
const SMALLEST = 4096;

/** How much of a line is passed over at most. Whoever writes more than that has lost its way. */
const MAX_PASSED_OVER = 256 * 1024 * 1024;
/** How much is kept of both ends of a line that is passed over. */
const END_BYTES = 200;

export class LineTooLong extends Error {}

/** What becomes of lines that are too long. */
export interface TooLong {
  /** Whether one that begins now is passed over. Otherwise it is an error. */
  isPassedOver: () => boolean;
  /** Called with both ends of a line that was passed over. */
  wasPassedOver: (beginning: string, end: string) => void;
}

const REFUSED: TooLong = { isPassedOver: () => false, wasPassedOver: () => {} };

export class Lines {
  readonly #maxBytes: number;
  readonly #tooLong: TooLong;
  #kept = new Uint8Array(0);
  #length = 0;
  /** The line that is being passed over. */
  #passing: { bytes: number; beginning: string; end: Buffer } | null = null;

  constructor(maxBytes: number, tooLong = REFUSED) {
    this.#maxBytes = maxBytes;
    this.#tooLong = tooLong;
  }

  /** Yields the lines that end in this chunk. Throws when a line is too long. */
  *take(chunk: Uint8Array): Generator<string> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      yield this.#line(chunk.subarray(from, end)).trim();
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  #line(end: Uint8Array): string {
    const isWhole = this.#length === 0 && this.#passing === null && end.length <= this.#maxBytes;
    if (isWhole) return text(end);
    this.#keep(end);
    if (this.#passing !== null) {
      this.#tooLong.wasPassedOver(this.#passing.beginning, text(this.#passing.end));
      this.#passing = null;
      return '';
    }
    const line = text(this.#kept.subarray(0, this.#length));
    this.#kept = new Uint8Array(0);
    this.#length = 0;
    return line;
  }

  #keep(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (this.#passing !== null || length > this.#maxBytes) {
      this.#passOver(bytes);
      return;
    }
    if (length > this.#kept.length) {
      const grown = new Uint8Array(Math.max(SMALLEST, 2 * length));
      grown.set(this.#kept.subarray(0, this.#length));
      this.#kept = grown;
    }
    this.#kept.set(bytes, this.#length);
    this.#length = length;
  }

  #passOver(bytes: Uint8Array): void {
    if (this.#passing === null) {
      if (!this.#tooLong.isPassedOver()) throw new LineTooLong('a line is too long');
      const kept = this.#kept.subarray(0, this.#length);
      const beginning = text(Buffer.concat([kept.subarray(0, END_BYTES), bytes.subarray(0, END_BYTES)]));
      this.#passing = { bytes: kept.length, beginning, end: Buffer.from(kept.subarray(-END_BYTES)) };
      this.#kept = new Uint8Array(0);
      this.#length = 0;
    }
    const passing = this.#passing;
    passing.bytes += bytes.length;
    if (passing.bytes > MAX_PASSED_OVER) throw new LineTooLong('a line is much too long');
    passing.end = Buffer.concat([passing.end, bytes.subarray(-END_BYTES)]).subarray(-END_BYTES);
  }
}

/** Yields the lines of all chunks, without the blank ones. Between slices the event loop serves everything else. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLong = REFUSED,
): AsyncGenerator<string> {
  const lines = new Lines(maxBytes, tooLong);
  const slices = new ReadSlices();
  for await (const chunk of chunks) {
    for (const line of lines.take(chunk)) {
      const othersTurn = slices.took(line.length);
      if (othersTurn !== null) await othersTurn;
      if (line !== '') yield line;
    }
  }
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
