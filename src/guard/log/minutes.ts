// Counts minutes of the audit log: for the statistics, and by context. rollups.ts decides which minutes are
// counted and when.

import type { Decision } from '../../core/decision/decide.ts';
import { joinName } from '../../core/text/name.ts';
import { floorTo, latencyClass } from '../../core/time/buckets.ts';
import { MINUTE } from '../../core/time/duration.ts';
import type { Queries } from '../../store/engine/db.ts';
import { nextAuditId, type Tally, tallies } from '../../store/log/audit-tally.ts';
import { type ContextCount, ContextSum } from '../../store/log/context-rollups.ts';
import type { Count, Kind } from '../../store/log/rollups.ts';
import { timeOfId } from '../ids.ts';

/** Roughly how many entries and minutes one step counts. */
const STEP_ENTRIES = 5000;
export const STEP_MINUTES = 60;
/**
 * The pause between two pieces of a minute, as a multiple of the time that the piece took. Without it, counting a busy
 * minute took half a core for twenty seconds; with it, it takes a quarter of that.
 */
export const REST = 3;

/** What was counted, by the starts of minutes. */
export interface Minutes {
  counts: Map<number, Count[]>;
  contexts: Map<number, ContextCount[]>;
}

/** Counts the next minutes that have entries. `at` is the end of the last one. */
export async function countMinutes(
  db: Queries,
  from: number,
  horizon: number,
): Promise<{ minutes: Minutes; at: number }> {
  const minutes: Minutes = { counts: new Map(), contexts: new Map() };
  let at = from;
  for (let entries = 0; entries < STEP_ENTRIES && minutes.counts.size < STEP_MINUTES; at += MINUTE) {
    const next = await nextAuditId(db, at);
    at = next === null ? horizon : floorTo(timeOfId(next), MINUTE);
    if (at >= horizon) return { minutes, at: horizon };
    entries += await countMinute(db, minutes, at, REST);
  }
  return { minutes, at };
}

/**
 * Adds the counts of a minute, and returns how many entries it has. `rest` must be 0 inside a transaction, because
 * others wait for its locks.
 */
export async function countMinute(
  db: Queries,
  minutes: Minutes,
  start: number,
  rest: number,
): Promise<number> {
  const counted = new Counted();
  for await (const rows of tallies(db, start, start + MINUTE, rest)) counted.add(rows);
  minutes.counts.set(start, counted.counts());
  minutes.contexts.set(start, counted.contexts());
  return counted.entries;
}

/** Adds up rows of the log into the counts that are stored. */
export class Counted {
  entries = 0;
  readonly #counts = new Map<string, Count>();
  readonly #contexts = new ContextSum();

  add(rows: readonly Tally[]): void {
    for (const { context, decision, latencyMs, serverName, toolName, keyId, count } of rows) {
      this.entries += count;
      this.#count('latency', String(latencyClass(latencyMs)), decision, count);
      this.#count('tool', joinName(serverName, toolName), decision, count);
      this.#count('key', keyId, decision, count);
      this.#contexts.add({ context, decision, count });
    }
  }

  counts(): Count[] {
    return [...this.#counts.values()];
  }

  contexts(): ContextCount[] {
    return this.#contexts.counts();
  }

  #count(kind: Kind, name: string, decision: Decision, count: number): void {
    const id = `${kind} ${decision} ${name}`;
    const known = this.#counts.get(id);
    if (known === undefined) this.#counts.set(id, { kind, name, decision, count });
    else known.count += count;
  }
}
