// Cuts bytes that arrive in chunks into lines, and bounds how much of an unfinished line is kept. Each byte is copied a
// few times at most, however small the chunks are, because the buffer grows by doubling.

import { ReadSlices } from './read-slices.ts';

const NEWLINE = 0x0a;
const SMALLEST = 4096;

export class LineTooLong extends Error {}

export class Lines {
  readonly #maxBytes: number;
  #kept = new Uint8Array(0);
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
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
    if (this.#length === 0 && end.length <= this.#maxBytes) return text(end);
    this.#keep(end);
    const line = text(this.#kept.subarray(0, this.#length));
    this.#kept = new Uint8Array(0);
    this.#length = 0;
    return line;
  }

  #keep(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#maxBytes) throw new LineTooLong('a line is too long');
    if (length > this.#kept.length) {
      const grown = new Uint8Array(Math.max(SMALLEST, 2 * length));
      grown.set(this.#kept.subarray(0, this.#length));
      this.#kept = grown;
    }
    this.#kept.set(bytes, this.#length);
    this.#length = length;
  }
}

/** Yields the lines of all chunks, without the blank ones. Between slices the event loop serves everything else. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string> {
  const lines = new Lines(maxBytes);
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
