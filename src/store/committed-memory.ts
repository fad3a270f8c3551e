// Remembers what is surely in the store: what a transaction wrote counts once it has committed, since one that was
// rolled back may stand for something else later.

/** Callers choose names, so there may be any number of them; when they are too many, it starts anew. */
const REMEMBERED = 10_000;

export class CommittedMemory<Key, Value> {
  readonly #known = new Map<Key, Value>();
  readonly #uncommitted = new Map<Key, Value>();

  /** What the transaction before this one wrote, and was not said to be committed, is forgotten. */
  begin(): void {
    this.#uncommitted.clear();
  }

  /** As this transaction sees it. */
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
