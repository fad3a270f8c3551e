// Counts the audit log by minute, in the background. A minute is counted shortly after it is over. Entries may become
// visible later than that, because ids carry the clock of their replica and PostgreSQL commits out of order. So every
// minute is counted again at several ages, and its counts are replaced if there are more entries.

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

/**
 * How long after its end a minute is counted: longer than a transaction may take, and a few seconds for differing
 * clocks.
 */
const LAG_MS = 10_000;
/** A mark this far in the future was set by a wrong clock, and the minutes up to it are counted again. */
const CLOCK_JUMP_MS = 5 * MINUTE;
/**
 * The ages at which minutes are counted again. An entry that appears later comes from a clock more than a day wrong.
 */
export const RECHECK_AGES = [2 * MINUTE, HOUR, 25 * HOUR] as const;
/** Roughly how many entries and minutes one step counts. */
const STEP_ENTRIES = 5000;
const STEP_MINUTES = 60;
/**
 * The pause between two pieces of a minute, as a multiple of the time that the piece took. Without it, counting a busy
 * minute took half a core for twenty seconds; with it, it takes a quarter of that.
 */
const REST = 3;
const RECHECK_ENTRIES = 20_000;

/** The mark before which all entries are in the roll-ups. Later ones are counted from the log itself. */
export const ROLLED_UP = 'rolled up';
/** The mark before which entries may have been deleted. Minutes before it are never counted again. */
export const KEPT_FROM = 'audit kept from';
const PRUNED = 'rollups pruned';

/** Does one step, and returns true if there is more to do. */
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
    // Another replica may have written these minutes first.
    if ((await readMark(tx, ROLLED_UP)) !== mark) return;
    await writeMinutes(tx, minutes);
    await sumUp(tx, mark ?? Math.min(at, ...minutes.keys()), at);
    await writeMark(tx, ROLLED_UP, at);
  });
  return at < horizon;
}

/** Counts the next minutes that have entries. `at` is the end of the last one. */
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

/** `rest` must be 0 inside a transaction, because others wait for its locks. */
async function countMinute(db: Queries, start: number, rest: number): Promise<Count[]> {
  const counted = new Counted();
  for await (const rows of tallies(db, start, start + MINUTE, rest)) counted.add(rows);
  return counted.counts();
}

function total(counts: readonly Count[]): number {
  return counts.reduce((sum, each) => sum + (each.kind === 'latency' ? each.count : 0), 0);
}

/** Adds up rows of the log into the counts that are stored. */
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
    // The mark also moves back, after a clock that was ahead was corrected.
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

/** The end of the minutes that are counted in one statement, and how many entries the roll-ups have for them. */
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

/** Makes all minutes since `from` be counted again, after entries were written with a time in the past. */
export async function countAgain({ db }: Deps, from: number): Promise<void> {
  await db.transaction({ exclusive: [ROLLUPS_LOCK] }, async tx => {
    const mark = await readMark(tx, ROLLED_UP);
    const kept = (await readMark(tx, KEPT_FROM)) ?? 0;
    // It starts at the beginning of a day: a day is summed up from its hours, and those are removed before the day is.
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
