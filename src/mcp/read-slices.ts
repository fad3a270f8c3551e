// Cuts the reading of an upstream into slices, and lets the event loop serve everything else between them. Before, a
// command that wrote without end was read without end: for two seconds per 64 MiB no check was answered.

/** About a thousand small messages, or two milliseconds. */
const SLICE_BYTES = 64 * 1024;
/** What every line costs, however short it is: 32,000 lines of `{}` took a second. */
const LINE_BYTES = 64;

export class ReadSlices {
  #taken = 0;

  /** Counts a line. At the end of a slice it returns a promise to wait for before the next line is read. */
  took(bytes: number): Promise<void> | null {
    this.#taken += bytes + LINE_BYTES;
    if (this.#taken < SLICE_BYTES) return null;
    this.#taken = 0;
    return new Promise(resolve => setImmediate(resolve));
  }
}
