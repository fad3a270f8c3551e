// Group commits for tests. Most tests say only what becomes of each check of a group; the work around it is here, once.

import { CheckWork } from '../../src/guard/check/check.ts';
import { GroupCommit } from '../../src/guard/check/commit.ts';
import type { CommitObserver, GroupWork, Outcome } from '../../src/guard/check/group-work.ts';
import type { Deps } from '../../src/guard/deps.ts';
import type { Db, Transaction } from '../../src/store/engine/db.ts';

/** A check of a test: the answer to it is its number. */
export interface Check {
  keyId: string;
  number: number;
}

export const QUIET: CommitObserver = { committed: () => {}, failed: () => {} };

/** The service's own checks, observed by nobody. */
export function checksOf(deps: Deps, limit = 100) {
  return new GroupCommit(deps.db, new CheckWork(deps), limit, QUIET);
}

/** What becomes of the requests in a transaction of their own. */
export async function decidedBy<Item, Result>(
  db: Db,
  work: Pick<GroupWork<Item, Result>, 'decideGroup'>,
  requests: readonly Item[],
): Promise<Outcome<Result>[]> {
  const { results, afterCommit } = await db.transaction({}, tx => work.decideGroup(tx, requests));
  afterCommit();
  return results;
}

/** Work that decides so, takes no locks and has one caller for each key. */
export function groupWork<Item extends { keyId: string }>(
  decide: (tx: Transaction, checks: readonly Item[]) => Promise<Outcome<number>[]>,
  more: Partial<GroupWork<Item, number>> = {},
): GroupWork<Item, number> {
  return {
    keyOf: ({ keyId }) => keyId,
    callerOf: () => '',
    shares: () => [],
    decideGroup: async (tx, checks) => ({ results: await decide(tx, checks), afterCommit: () => {} }),
    ...more,
  };
}

/** Work that lists the checks of each group in `groups`, reads once from the store, and decides each check by itself. */
export function listedWork<Item extends Check = Check>(
  outcome: (check: Item, index: number) => Outcome<number> | Promise<number> = ({ number }) => number,
  more: Partial<GroupWork<Item, number>> = {},
) {
  const groups: Item[][] = [];
  const work = groupWork<Item>(async (tx, checks) => {
    await tx.all('SELECT 1');
    groups.push([...checks]);
    return Promise.all(checks.map(outcome));
  }, more);
  return { groups, work };
}

export const numbersOf = (groups: readonly (readonly Check[])[]): number[][] =>
  groups.map(checks => checks.map(({ number }) => number));
