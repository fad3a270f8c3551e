// Reads a body in chunks (RFC 9112, section 7.1), strictly: each chunk has its length in hexadecimal digits and ends with
// CR LF. Extensions and trailers are bounded and ignored.

import { BadAnswer } from './head.ts';

/** The longest line with the length of a chunk, and the longest line of a trailer. */
const MAX_LINE = 1024;
const MAX_TRAILERS = 16;
const CR = 0x0d;
const LF = 0x0a;

export class Chunks {
  /** What is read next: a line with a length, bytes of a chunk, the line end after them, or a line of the trailers. */
  #next: 'length' | 'bytes' | 'line end' | 'trailer' = 'length';
  #left = 0;
  #line = '';
  #trailers = 0;
  /** Whether the whole body was read. */
  ended = false;

  /**
   * Passes the bytes of the body to `push`. Returns how many bytes belong to the body as it was sent. What several chunks
   * hold is moved together within `bytes`: a million chunks of one byte each took 80 MB.
   */
  read(bytes: Buffer, push: (part: Buffer) => void): number {
    let at = 0;
    let from = 0;
    let to = 0;
    while (at < bytes.length && !this.ended) {
      if (this.#next === 'bytes') {
        const stop = Math.min(at + this.#left, bytes.length);
        this.#left -= stop - at;
        if (this.#left === 0) this.#next = 'line end';
        if (to === 0) to = from = at;
        else bytes.copyWithin(to, at, stop);
        to += stop - at;
        at = stop;
        continue;
      }
      // The usual line ends need no text: a flood of tiny chunks delays other calls for half as long.
      if (this.#next === 'line end' && this.#line === '' && bytes[at] === CR && bytes[at + 1] === LF) {
        this.#next = 'length';
        at += 2;
        continue;
      }
      const end = bytes.indexOf(LF, at);
      const stop = end < 0 ? bytes.length : end + 1;
      if (this.#line.length + stop - at > MAX_LINE) throw new BadAnswer('a line between chunks is too long');
      this.#line += bytes.toString('latin1', at, stop);
      at = stop;
      if (end >= 0) this.#took();
    }
    if (to > from) push(bytes.subarray(from, to));
    return at;
  }

  /** A whole line was read. */
  #took(): void {
    const line = this.#line;
    this.#line = '';
    if (line.charCodeAt(line.length - 2) !== CR) throw new BadAnswer('a line between chunks has no CR');
    if (this.#next === 'line end') {
      if (line.length !== 2) throw new BadAnswer('a chunk is longer than its length');
      this.#next = 'length';
    } else if (this.#next === 'trailer') {
      if (line.length === 2) this.ended = true;
      else if (++this.#trailers > MAX_TRAILERS) throw new BadAnswer('there are too many trailers');
    } else {
      const length = /^([0-9a-fA-F]{1,12})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n$/.exec(line)?.[1];
      if (length === undefined) throw new BadAnswer('the length of a chunk is no number');
      this.#left = Number.parseInt(length, 16);
      this.#next = this.#left === 0 ? 'trailer' : 'bytes';
    }
  }
}
