// When one member of a group makes its transaction fail, the others must not pay for it: the group is decided again
// in parts until those who fail by themselves are found, and their keys are decided apart for a while. How a part is
// decided, and that a failed one left nothing behind, is commit.ts's.

/** Decides a part of a group. False: it failed because of one of its members, and nothing of it was written. */
type Attempt<Member> = (part: readonly Member[]) => Promise<boolean>;

interface Origin<Member> {
  keyOf(member: Member): string;
  /** Tells the callers of one key apart. */
  callerOf(member: Member): string;
}

/** For telling the callers of a bad key apart, and a caller's checks: one of 1,024 is found with 20. */
const ATTEMPTS_WITHIN_KEYS = 64;

/**
 * Has every member of a group that failed as a whole answered, except those that make it fail; answers their keys.
 * Each attempt costs a transaction. Keys are told apart whatever it takes, at most two attempts for each: one
 * bad key among 256 takes 16. What the checks of one key do to each other is told apart with a fixed number.
 */
export async function divide<Member>(
  group: readonly Member[],
  { keyOf, callerOf }: Origin<Member>,
  attempt: Attempt<Member>,
): Promise<string[]> {
  const bad = await failing(units(group, keyOf), attempt, { left: Number.POSITIVE_INFINITY });
  const budget = { left: ATTEMPTS_WITHIN_KEYS };
  for (const ofKey of bad) {
    for (const ofCaller of await failing(units(ofKey, callerOf), attempt, budget)) {
      await failing(
        ofCaller.map(member => [member]),
        attempt,
        budget,
      );
    }
  }
  return bad.map(ofKey => keyOf(ofKey[0] as Member));
}

function units<Member>(members: readonly Member[], unitOf: (member: Member) => string): Member[][] {
  return [...Map.groupBy(members, unitOf).values()];
}

/** The units that fail by themselves, of some that fail together; found by halving. Past the budget, what is left. */
async function failing<Member>(
  together: readonly Member[][],
  attempt: Attempt<Member>,
  budget: { left: number },
): Promise<Member[][]> {
  const found: Member[][] = [];
  const parts = [together];
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    if (part.length === 1 || budget.left <= 0) {
      found.push(part.flat());
      continue;
    }
    const middle = part.length >> 1;
    for (const half of [part.slice(0, middle), part.slice(middle)]) {
      budget.left--;
      if (!(await attempt(half.flat()))) parts.push(half);
    }
  }
  return found;
}

const APART_MS = 60_000;
const MOST_APART = 1000;

/**
 * Keys whose checks made a group fail lately. Theirs are decided in groups of their own, and never two such groups in
 * a row while others wait: so a key that goes on costs the others one group's time, not an attempt to find it each time.
 */
export class Apart {
  readonly #until = new Map<string, number>();
  #hadTurn = false;

  get isEmpty(): boolean {
    return this.#until.size === 0;
  }

  add(keyId: string): void {
    this.#until.delete(keyId);
    this.#until.set(keyId, performance.now() + APART_MS);
    if (this.#until.size > MOST_APART) this.#until.delete(this.#until.keys().next().value as string);
  }

  /** Those of the queue that may share the next group: one such key's, or everybody else's. */
  turn<Member>(queue: readonly Member[], keyOf: (member: Member) => string): Member[] {
    this.#release();
    const others = queue.filter(each => !this.#until.has(keyOf(each)));
    const first = queue.find(each => this.#until.has(keyOf(each)));
    const theirs = first !== undefined && (!this.#hadTurn || others.length === 0);
    this.#hadTurn = theirs;
    return theirs ? queue.filter(each => keyOf(each) === keyOf(first)) : others;
  }

  #release(): void {
    const now = performance.now();
    for (const [keyId, until] of this.#until) if (until <= now) this.#until.delete(keyId);
  }
}
