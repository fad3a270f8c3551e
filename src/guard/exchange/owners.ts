// How many bytes of a bounded memory each owner takes, so that what has to make room is taken from the owner that has most,
// and no owner pushes out what belongs to others.

export class Owners {
  readonly #bytes = new Map<string, number>();

  add(owner: string, bytes: number): void {
    const left = (this.#bytes.get(owner) ?? 0) + bytes;
    if (left > 0) this.#bytes.set(owner, left);
    else this.#bytes.delete(owner);
  }

  /** Who takes most, with so many more bytes counted for this owner. Of owners that take the same, the first that came. */
  largest(owner: string, more: number): string {
    let largest = owner;
    let most = 0;
    for (const [each, bytes] of this.#bytes) {
      const takes = each === owner ? bytes + more : bytes;
      if (takes > most) [largest, most] = [each, takes];
    }
    return largest;
  }
}
