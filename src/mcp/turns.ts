// What an upstream says is taken in slices, and everything else has its turn between them. A command that wrote without
// end was read without end: for two seconds per 64 MiB no check was answered.

/** A thousand small messages, two milliseconds. */
const SLICE_BYTES = 64 * 1024;
/** What a line costs however short it is: 32,000 that held `{}` alone took a second. */
const LINE_BYTES = 64;

export class Turns {
  #taken = 0;

  /** Something to wait for before the next line is taken, when it is others' turn. */
  took(bytes: number): Promise<void> | null {
    this.#taken += bytes + LINE_BYTES;
    if (this.#taken < SLICE_BYTES) return null;
    this.#taken = 0;
    return new Promise(resolve => setImmediate(resolve));
  }
}
