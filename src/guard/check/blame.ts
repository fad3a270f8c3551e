// Finds the checks that made the transaction of a group fail, so that the other checks of the group still get their
// verdicts. The group is decided again in ever smaller parts until the checks that fail on their own are found. Their
// keys are then decided in separate groups for a while. commit.ts decides the parts, and makes sure that a failed part
// leaves nothing in the store.

/** Decides a part of a group. The answer is false if one of its members made it fail; then nothing was written. */
type Attempt<Member> = (part: readonly Member[]) => Promise<boolean>;

interface Origin<Member> {
  keyOf(member: Member): string;
  /** Distinguishes the callers that share a key. */
  callerOf(member: Member): string;
}

/** The attempts that may be spent inside failing keys, on callers and single checks: 20 find one check among 1,024. */
const ATTEMPTS_WITHIN_KEYS = 64;

/**
 * Takes a group that failed as a whole, decides every member that does not fail on its own, and returns the keys of
 * those that do. Each attempt costs a transaction. There is no limit on the attempts that separate keys: they are at
 * most two for each key, and 16 find one bad key among 256. Inside the bad keys the number of attempts is limited.
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

/**
 * Finds by halving which of the given units fail on their own. When the budget is spent, a part that has not been
 * divided yet counts as one failing unit.
 */
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

const QUARANTINE_MS = 60_000;
const MOST_QUARANTINED = 1000;

/**
 * Keys whose checks recently made a group fail. Each of them is decided in groups of its own, and two such groups never
 * follow each other while other checks wait. A key that keeps failing thus costs the others the time of one group, and
 * not a new search for it each time.
 */
export class Quarantine {
  readonly #until = new Map<string, number>();
  #hadTurn = false;

  get isEmpty(): boolean {
    return this.#until.size === 0;
  }

  add(keyId: string): void {
    this.#until.delete(keyId);
    this.#until.set(keyId, performance.now() + QUARANTINE_MS);
    if (this.#until.size > MOST_QUARANTINED) this.#until.delete(this.#until.keys().next().value as string);
  }

  /** The checks of the queue that may share the next group: those of one such key, or those of all other keys. */
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
