// The work that the conditions of one check may do together. Arguments come from strangers, so what they cost is
// counted: a step is about a microsecond of work. Whoever is about to work asks first, and does nothing if refused.

const MAX_STEPS = 5_000;
const CHARACTERS_PER_STEP = 256;
const COPIES_PER_STEP = 16;
const KEYS_PER_STEP = 32;

let checks = 0;

export class Steps {
  left = MAX_STEPS;
  /** Tells the checks apart without keeping anything of them. */
  readonly check = ++checks;
  #keys: Map<object, readonly string[]> | null = null;

  get taken(): number {
    return MAX_STEPS - this.left;
  }

  /** Takes steps. False means that none are left, and then the condition fails, whatever its other parts say. */
  spend(steps: number): boolean {
    this.left -= steps;
    return this.left >= 0;
  }

  /** Pays for reading or writing that many characters; short texts are part of the evaluation's own step. */
  characters(count: number): boolean {
    return count < CHARACTERS_PER_STEP ? this.left >= 0 : this.spend(Math.ceil(count / CHARACTERS_PER_STEP));
  }

  /** Pays for that many new elements of a list, or entries of a map. */
  copies(count: number): boolean {
    return this.spend(Math.ceil(count / COPIES_PER_STEP));
  }

  /**
   * The keys of an object. Listing 20,000 keys takes a millisecond, and their number is not known before, so they are
   * listed once per check and not once per iteration, and paid for afterwards.
   */
  keysOf(object: object): readonly string[] {
    const known = this.#keys?.get(object);
    if (known !== undefined) return known;
    const keys = Object.keys(object);
    this.left -= Math.floor(keys.length / KEYS_PER_STEP);
    this.#keys ??= new Map();
    this.#keys.set(object, keys);
    return keys;
  }
}
