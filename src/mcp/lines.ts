// Lines out of bytes that arrive in chunks, with a bound on what is kept of a line that has not ended. Each byte is
// copied a few times at most, however finely the sender cuts: what is kept grows by doubling.

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

  /** The lines that end in this chunk, without the blank ones. Throws when one is too long. */
  *take(chunk: Uint8Array): Generator<string> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const line = this.#line(chunk.subarray(from, end)).trim();
      from = end + 1;
      if (line !== '') yield line;
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

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
