// Tries a draft of a policy with the calls that the policy decided: how many of them would have been decided otherwise,
// which, and of how many that depends on what is not recorded. It works on counts by context, so its work grows with the
// number of different calls and not with the length of the log. core/foresight/replay.ts finds the outcome of each.

import { isEarlier } from '../../core/foresight/evidence.ts';
import { type Outcome as Found, outcomeOf } from '../../core/foresight/replay.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import { renamedKeys } from '../../store/changes.ts';
import type { Queries } from '../../store/engine/db.ts';
import { listKeyNames } from '../../store/keys.ts';
import { compiledVersion } from '../compiled-version.ts';
import type { Deps } from '../deps.ts';
import { byVersion, type CountedCall, type CountedCalls, countedCalls } from './counted-calls.ts';
import { type Difference, Differences } from './differences.ts';
import { nextTurn, Slices } from './long-reads.ts';

export interface Replay {
  /** What was counted; see CountedCalls. */
  from: number;
  to: number;
  calls: number;
  changed: number;
  depends: number;
  /** Of those that depend: how many an earlier version recorded, of which too little is known. */
  earlier: number;
  /** The most frequent ones first. */
  changes: Difference[];
}

/** How many names of keys one statement looks up. */
const KEYS_AT_ONCE = 512;

/** The id of the draft is that of the policy whose calls are tried. `from` and `to` are times, as for countedCalls. */
export async function replay(deps: Deps, draft: CompiledPolicy, from: number, to: number): Promise<Replay> {
  const counted = await countedCalls(deps, { policyId: draft.id }, from, to);
  const changes = new Differences();
  let depends = counted.others;
  let earlier = 0;
  const keyNames = await namesOf(deps.db, counted);
  for await (const { call, outcome } of outcomes(deps, draft, counted.calls, keyNames)) {
    if (outcome === 'depends') {
      depends += call.count;
      if (isEarlier(call)) earlier += call.count;
    } else if (outcome === 'unasked') changes.add(call, 'allow', 'pending');
    else if (outcome !== call.decision) changes.add(call, outcome);
  }
  return {
    from: counted.from,
    to: counted.to,
    calls: sum(counted.calls) + counted.others,
    changed: changes.total,
    depends,
    earlier,
    changes: await changes.listed(deps, counted.from, counted.to),
  };
}

interface Outcome {
  call: CountedCall;
  outcome: Found;
}

async function* outcomes(
  { db }: Deps,
  draft: CompiledPolicy,
  calls: readonly CountedCall[],
  keyNames: ReadonlyMap<string, string>,
): AsyncGenerator<Outcome> {
  const slices = new Slices();
  for (const some of byVersion(calls)) {
    const recorded = await compiledVersion(db, draft.id, some[0].policyVersion);
    const known = new Map<string, Outcome['outcome']>();
    for (const call of some) {
      const text = textOf(call);
      const keyName = keyNames.get(call.keyId) ?? null;
      const outcome = known.get(text) ?? outcomeOf(draft, call, { recorded, keyName });
      known.set(text, outcome);
      yield { call, outcome };
      await slices.next();
    }
  }
}

/** All that an outcome depends on: calls of different people, or judged by different shadows, have the same. */
function textOf({ keyId, serverName, toolName, decision, reason, ruleIndex, personId }: CountedCall): string {
  const who = personId === null ? 'nobody' : 'somebody';
  return `${keyId}\n${who}\n${serverName}\n${toolName}\n${decision}\n${ruleIndex}\n${reason}`;
}

/** The names that keys had in the whole period. It leaves out those that were renamed since it began. */
async function namesOf(db: Queries, { calls, from }: CountedCalls): Promise<Map<string, string>> {
  const ids = [...new Set(calls.map(call => call.keyId))];
  const names = new Map<string, string>();
  for (let at = 0; at < ids.length; at += KEYS_AT_ONCE) {
    for (const [id, name] of await listKeyNames(db, ids.slice(at, at + KEYS_AT_ONCE))) names.set(id, name);
    await nextTurn();
  }
  for (const id of await renamedKeys(db, from)) names.delete(id);
  return names;
}

function sum(calls: readonly CountedCall[]): number {
  return calls.reduce((all, { count }) => all + count, 0);
}
