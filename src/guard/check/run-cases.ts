// The runs of the calls of a group: which of them have one, and how their rules are found once more, after the values that
// conditions ask about were read.

import { type Considered, consider } from '../../core/decision/consider.ts';
import { GuardError } from '../../core/errors.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import type { RunFacts, Situation } from '../../core/policy/situation.ts';
import type { Transaction } from '../../store/engine/db.ts';
import type { Deps } from '../deps.ts';
import { type Metered, meteredBy } from './limits.ts';
import type { CheckRequest } from './request.ts';
import type { Run } from './run.ts';
import { Runs } from './runs.ts';

/** The run of a call, and how its rule is found once more, by what is known of the run then. */
export interface RunCase {
  run: Run;
  /** The marks by which the rule was found. */
  marks: readonly string[];
  /** Whether conditions have asked for values that were not read yet. */
  unsettled: boolean;
  again: () => Considered;
  /** Whether another rule would apply in a run that knows the same and has no marks. */
  marksMatter: () => boolean;
  shadowAgain: () => Considered | null;
}

interface Judged {
  request: CheckRequest;
  policy: CompiledPolicy;
  shadow: CompiledPolicy | null;
  sessionEndsAt: number | null;
  run: Run | null;
}

/**
 * Gives calls their runs. It remembers which keys had policies that use runs, and reads theirs together with other facts,
 * which saves a round trip and decides nothing.
 */
export class RunOpener {
  readonly #keyIds = new Set<string>();

  /** The runs of those requests that probably have one; null if there are none. */
  expect(deps: Deps, tx: Transaction, requests: readonly CheckRequest[]): Promise<Runs> | null {
    if (this.#keyIds.size === 0) return null;
    const likely = requests.filter(({ principal }) => this.#keyIds.has(principal.keyId));
    if (likely.length === 0) return null;
    const runs = new Runs(deps);
    return runs.expect(tx, likely).then(() => runs);
  }

  /** Null if no policy of the group uses marks or known values. `expected` are those that were read before. */
  open(
    deps: Deps,
    tx: Transaction,
    calls: readonly (Judged | GuardError)[],
    now: number,
    expected: Runs | null,
  ): Promise<Runs> | null {
    const wanted: Judged[] = [];
    for (const each of calls) {
      if (each instanceof GuardError) continue;
      const { policy, shadow, request } = each;
      const uses = remembers(policy) || (shadow !== null && remembers(shadow)) || isReported(each);
      this.#noteUse(request.principal.keyId, uses);
      // What comes back from a resource can mark the run, although no rule decides about it.
      if (uses && (!request.call.relayed || policy.compiledResults !== null)) wanted.push(each);
    }
    return wanted.length === 0 ? null : opened(expected ?? new Runs(deps), tx, wanted, now);
  }

  /** Most services have no key that uses runs, so that there is nothing to delete. */
  #noteUse(keyId: string, uses: boolean): void {
    if (!uses) {
      if (this.#keyIds.size > 0) this.#keyIds.delete(keyId);
    } else if (this.#keyIds.size < MOST_KEYS) this.#keyIds.add(keyId);
  }
}

async function opened(runs: Runs, tx: Transaction, wanted: readonly Judged[], now: number): Promise<Runs> {
  await runs.open(tx, wanted, now);
  for (const each of wanted) each.run = runs.of(each.request);
  return runs;
}

const MOST_KEYS = 10_000;

/** Whether a coding agent will report the result of the call, and the policy says what is to be done to it. */
const isReported = ({ policy, request }: Judged): boolean =>
  policy.compiledResults !== null && request.resultName !== undefined;

/** Whether anything is remembered of runs for a policy. */
export const remembers = ({ usesMarks, usesKnown }: CompiledPolicy): boolean => usesMarks || usesKnown;

interface Settled {
  key: { id: string };
  considered: Considered;
  shadow: Considered | null;
  metered: Metered | null;
  run: RunCase | null;
}

/**
 * How often conditions are evaluated again. An evaluation asks for all values at once, but for those that it asks for only
 * if another one is known or not, as `known(a) ? known(b) : known(c)` does. What is nested deeper than this is not looked up,
 * and counts as a failure.
 */
export const MOST_ROUNDS = 8;

/** Reads the values that conditions have asked for, and evaluates those again, until none asks for more. */
export async function settle(tx: Transaction, runs: Runs, cases: readonly Settled[]): Promise<void> {
  let open = cases.filter(({ run }) => run?.unsettled === true);
  for (let round = 0; round < MOST_ROUNDS && open.length > 0 && (await runs.resolve(tx)); round++)
    open = open.filter(each => !isSettled(each));
}

/** Finds the rule once more, and says whether everything was known that its conditions asked for. */
function isSettled(each: Settled): boolean {
  const run = each.run as RunCase;
  const before = run.run.asked;
  each.considered = run.again();
  each.shadow = run.shadowAgain();
  each.metered = meteredBy(each.considered, each.key.id);
  return run.run.asked === before;
}

/** Whether another rule would apply in a run without marks. `isKnown` is said of all values, since nobody looks up others’. */
export function marksMatter(
  policy: CompiledPolicy,
  { call, principal }: CheckRequest,
  situation: Situation,
  isKnown: boolean,
): boolean {
  const [own, none] = [situation.run?.marks ?? [], []].map(marks => {
    const run: RunFacts = { marks, knows: () => isKnown };
    const { index, held } = consider(policy, call, principal.scope, { ...situation, run });
    return `${index} ${held?.index}`;
  });
  return own !== none;
}
