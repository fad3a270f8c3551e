// Remembers values that are certainly in the store. What a transaction wrote counts only after its commit: after a
// rollback, the same number may be given to another value.

/** Callers choose names, so their number is unlimited; beyond this many the memory is cleared. */
const REMEMBERED = 10_000;

export class CommittedMemory<Key, Value> {
  readonly #known = new Map<Key, Value>();
  readonly #uncommitted = new Map<Key, Value>();

  /** Forgets what the previous transaction wrote, unless `committed` was called for it. */
  begin(): void {
    this.#uncommitted.clear();
  }

  /** The value as the current transaction sees it. */
  get(key: Key): Value | undefined {
    return this.#uncommitted.get(key) ?? this.#known.get(key);
  }

  set(key: Key, value: Value): void {
    this.#uncommitted.set(key, value);
  }

  committed(): void {
    if (this.#known.size + this.#uncommitted.size > REMEMBERED) this.#known.clear();
    for (const [key, value] of this.#uncommitted) this.#known.set(key, value);
  }
}
