// Keeps the audit log counted by minute, off the path of a check. A minute is counted shortly after it is over.
// Entries may become visible later than that: ids carry the clock of their replica, and PostgreSQL commits out of
// order. So every minute is counted again at several ages, and written anew if there are more.

import { DAY, floorTo, HOUR, latencyClass, MINUTE } from '../../core/buckets.ts';
import type { Decision } from '../../core/decide.ts';
import { joinName } from '../../core/name.ts';
import { countAudit, nextAuditId, type Tally, tallies } from '../../store/audit-tally.ts';
import type { Queries } from '../../store/db.ts';
import { readMark, writeMark } from '../../store/marks.ts';
import {
  type Count,
  type Kind,
  minuteTotals,
  pruneRollups,
  sumUp,
  writeMinutes,
} from '../../store/rollups.ts';
import type { Deps } from '../deps.ts';
import { timeOfId } from '../ids.ts';
import { ROLLUPS_LOCK } from '../locks.ts';

/** Longer than a transaction may take, with a few seconds for clocks that differ. */
const LAG_MS = 10_000;
/** A mark this far in the future was set by a clock that was wrong: the minutes up to it are counted anew. */
const CLOCK_JUMP_MS = 5 * MINUTE;
/** When minutes are counted again. Beyond the last, a replica's clock is more than a day wrong. */
export const RECHECK_AGES = [2 * MINUTE, HOUR, 25 * HOUR] as const;
/** Entries and minutes that one step deals with, more or less. */
const STEP_ENTRIES = 5000;
const STEP_MINUTES = 60;
/** Rests between two pieces of a minute: counting a busy one took half a core for twenty seconds, now a quarter of it. */
const REST = 3;
const RECHECK_ENTRIES = 20_000;

/** Everything before this is in the roll-ups; what comes after is counted in the log itself. */
export const ROLLED_UP = 'rolled up';
/** Entries before this may be deleted: their minutes are never counted again. */
export const KEPT_FROM = 'audit kept from';
const PRUNED = 'rollups pruned';

/** One step forward; true when there is more to do. */
export async function rollUp(deps: Deps): Promise<boolean> {
  if (await advance(deps)) return true;
  for (const age of RECHECK_AGES) if (await recheck(deps, age)) return true;
  return prune(deps);
}

export function rolledUpTo({ db }: Deps): Promise<number | null> {
  return readMark(db, ROLLED_UP);
}

async function advance({ db, now }: Deps): Promise<boolean> {
  const mark = await readMark(db, ROLLED_UP);
  const horizon = floorTo(now() - LAG_MS, MINUTE);
  if (mark !== null && mark > horizon + CLOCK_JUMP_MS) await writeMark(db, ROLLED_UP, horizon);
  if (mark !== null && mark >= horizon) return false;
  const { minutes, at } = await countMinutes(db, mark ?? 0, horizon);
  await db.transaction({ exclusive: [ROLLUPS_LOCK] }, async tx => {
    // Another replica may have come here first.
    if ((await readMark(tx, ROLLED_UP)) !== mark) return;
    await writeMinutes(tx, minutes);
    await sumUp(tx, mark ?? Math.min(at, ...minutes.keys()), at);
    await writeMark(tx, ROLLED_UP, at);
  });
  return at < horizon;
}

/** Counts the next minutes that hold entries, and says how far it came. */
async function countMinutes(
  db: Queries,
  from: number,
  horizon: number,
): Promise<{ minutes: Map<number, Count[]>; at: number }> {
  const minutes = new Map<number, Count[]>();
  let at = from;
  for (let entries = 0; entries < STEP_ENTRIES && minutes.size < STEP_MINUTES; at += MINUTE) {
    const next = await nextAuditId(db, at);
    at = next === null ? horizon : floorTo(timeOfId(next), MINUTE);
    if (at >= horizon) return { minutes, at: horizon };
    const counts = await countMinute(db, at, REST);
    minutes.set(at, counts);
    entries += total(counts);
  }
  return { minutes, at };
}

/** Without rest inside a transaction, which others wait for. */
async function countMinute(db: Queries, start: number, rest: number): Promise<Count[]> {
  const counted = new Counted();
  for await (const rows of tallies(db, start, start + MINUTE, rest)) counted.add(rows);
  return counted.counts();
}

function total(counts: readonly Count[]): number {
  return counts.reduce((sum, each) => sum + (each.kind === 'latency' ? each.count : 0), 0);
}

/** Folds tallies of the log into the counts that are kept. */
export class Counted {
  readonly #counts = new Map<string, Count>();

  add(rows: readonly Tally[]): void {
    for (const { decision, latencyMs, serverName, toolName, keyId, count } of rows) {
      this.#count('latency', String(latencyClass(latencyMs)), decision, count);
      this.#count('tool', joinName(serverName, toolName), decision, count);
      this.#count('key', keyId, decision, count);
    }
  }

  counts(): Count[] {
    return [...this.#counts.values()];
  }

  #count(kind: Kind, name: string, decision: Decision, count: number): void {
    const id = `${kind} ${decision} ${name}`;
    const known = this.#counts.get(id);
    if (known === undefined) this.#counts.set(id, { kind, name, decision, count });
    else known.count += count;
  }
}

async function recheck(deps: Deps, age: number): Promise<boolean> {
  const { db, now } = deps;
  const name = `rechecked at ${age}`;
  const mark = await readMark(db, name);
  const end = Math.min((await readMark(db, ROLLED_UP)) ?? 0, floorTo(now() - age, MINUTE));
  const next = await nextAuditId(db, Math.max(mark ?? end, (await readMark(db, KEPT_FROM)) ?? 0));
  const from = next === null ? end : floorTo(timeOfId(next), MINUTE);
  if (from >= end) {
    // Also back, after a clock that was ahead.
    if (mark !== end) await writeMark(db, name, end);
    return false;
  }
  const until = Math.min(end, from + STEP_MINUTES * MINUTE);
  const counted = await minuteTotals(db, from, until);
  const { to, entries } = stretch(counted, from, until);
  if ((await countAudit(db, from, to, REST)) !== entries) await mend(deps, counted, from, to);
  await writeMark(db, name, to);
  return to < end;
}

/** As many minutes as can be counted at once. */
function stretch(
  counted: ReadonlyMap<number, number>,
  from: number,
  until: number,
): { to: number; entries: number } {
  let entries = 0;
  let to = from;
  do {
    entries += counted.get(to) ?? 0;
    to += MINUTE;
  } while (to < until && entries < RECHECK_ENTRIES);
  return { to, entries };
}

async function mend(
  deps: Deps,
  counted: ReadonlyMap<number, number>,
  from: number,
  to: number,
): Promise<void> {
  const { db } = deps;
  for (let start = from; start < to; start += MINUTE) {
    if ((await countAudit(db, start, start + MINUTE)) === (counted.get(start) ?? 0)) continue;
    await db.transaction({ exclusive: [ROLLUPS_LOCK] }, async tx => {
      if (start < ((await readMark(tx, KEPT_FROM)) ?? 0)) return;
      await writeMinutes(tx, new Map([[start, await countMinute(tx, start, 0)]]));
      const mark = (await readMark(tx, ROLLED_UP)) ?? 0;
      await sumUp(tx, start, Math.min(mark, floorTo(start, DAY) + DAY));
    });
  }
}

/** Has everything since a time counted anew, for entries that were written with a time of the past. */
export async function countAgain({ db }: Deps, from: number): Promise<void> {
  await db.transaction({ exclusive: [ROLLUPS_LOCK] }, async tx => {
    const mark = await readMark(tx, ROLLED_UP);
    const kept = (await readMark(tx, KEPT_FROM)) ?? 0;
    // Whole days: the hours of a day are gone before it is, and make it up anew.
    const start = Math.max(floorTo(from, DAY), kept);
    if (mark !== null && mark > start) await writeMark(tx, ROLLED_UP, start);
  });
}

async function prune({ db, now }: Deps): Promise<boolean> {
  const last = (await readMark(db, PRUNED)) ?? 0;
  if (now() - last < HOUR) return false;
  await pruneRollups(db, now());
  await writeMark(db, PRUNED, now());
  return false;
}
