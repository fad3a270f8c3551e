// How often which calls were made in a period, from the counts by context: everything that is recorded about a call but
// its session and its exact time, and how often there was such a call. It costs a few thousand rows instead of a scan of
// the log. newestCalls finds examples of such calls in the log.

import type { Decision } from '../../core/decision/decide.ts';
import { ceilTo, floorTo, keptSpan, pieces } from '../../core/time/buckets.ts';
import { DAY, MINUTE } from '../../core/time/duration.ts';
import type { Queries } from '../../store/engine/db.ts';
import { nextAuditId, tallies } from '../../store/log/audit-tally.ts';
import {
  contextCounts,
  findContexts,
  oldestContextBucket,
  type SharedContext,
} from '../../store/log/context-rollups.ts';
import { newestEntries } from '../../store/log/newest-entries.ts';
import { readProgress } from '../../store/log/progress.ts';
import type { Deps } from '../deps.ts';
import { timeOfId } from '../ids.ts';
import { nextTurn } from './long-reads.ts';
import { ROLLED_UP } from './marks.ts';

export interface CountedCall extends SharedContext {
  decision: Decision;
  count: number;
  /** The end of the newest bucket in which there was such a call. */
  until: number;
}

export interface CountedCalls {
  /**
   * What was counted. It begins later than asked where the log or its counts do not reach back, or if there were too many
   * different calls, and is rounded to whole hours where minutes are no longer kept, and to whole days where hours are not.
   */
  from: number;
  to: number;
  calls: CountedCall[];
  /**
   * How many further calls of this policy or key there were, of which nothing else is known. There are some only if one
   * day had more than ten thousand different contexts (or an hour or a minute correspondingly fewer).
   */
  others: number;
  /** The same further calls, by what their shadows said and what was decided. Their tools and reasons mean nothing. */
  unnamed: CountedCall[];
}

/** The calls of each version of a policy together: so it is read once, and only one version is in memory at a time. */
export function byVersion<T extends CountedCall>(calls: readonly T[]): [T, ...T[]][] {
  const groups = Map.groupBy(calls, ({ policyId, policyVersion }) => `${policyId} ${policyVersion}`);
  return [...groups.values()] as [T, ...T[]][];
}

export interface CallFilter {
  policyId?: string;
  keyId?: string;
}

/** How many contexts one statement looks up. */
const CONTEXTS_AT_ONCE = 512;
/**
 * Agents choose the names of tools, so the number of contexts is unlimited. If there are more than this, which take some
 * 100 MB, only the newest days are counted. Contexts of other policies or keys take a tenth of that.
 */
const MOST_COUNTED = 100_000;
const PER_OTHER = 0.1;

export async function countedCalls(
  { db, now }: Deps,
  filter: CallFilter,
  from: number,
  to: number,
  most = MOST_COUNTED,
): Promise<CountedCalls> {
  const period = await countedPeriod(db, now(), from, to);
  const sums = new Sums(db, filter);
  const rolledUp = (await readProgress(db, ROLLED_UP)) ?? 0;
  for await (const rows of tallies(db, Math.max(period.from, rolledUp), period.to))
    await sums.add(rows, period.to);
  // The newest buckets come first, so that the oldest are left out if there are too many contexts.
  for (const { span, from, to } of pieces(period.from, Math.min(period.to, rolledUp), DAY).reverse()) {
    for (let start = to - span; start >= from; start -= span) {
      if (sums.size > most) return { from: start + span, to: period.to, ...sums.all() };
      for await (const rows of contextCounts(db, span, start, start + span)) {
        await sums.add(rows, start + span);
        await nextTurn();
      }
    }
  }
  return { ...period, ...sums.all() };
}

/** The period that can be counted. Its bounds are those of buckets that are still kept. */
async function countedPeriod(
  db: Queries,
  now: number,
  from: number,
  to: number,
): Promise<{ from: number; to: number }> {
  const end = Math.min(ceilTo(to, keptSpan(now - to)), ceilTo(now + 1, MINUTE));
  const oldest = await oldestCounted(db);
  const start = Math.max(floorTo(from, keptSpan(now - from)), oldest ?? end);
  return { from: Math.min(start, end), to: end };
}

/** The start of the oldest bucket, or of the first minute of the log if nothing is counted yet. */
async function oldestCounted(db: Queries): Promise<number | null> {
  const oldest = await oldestContextBucket(db);
  if (oldest !== null) return oldest;
  const first = await nextAuditId(db, 0);
  return first === null ? null : floorTo(timeOfId(first), MINUTE);
}

/** Counts by context and decision, of the calls that pass a filter. */
class Sums {
  readonly #db: Queries;
  readonly #filter: CallFilter;
  /** Null for a context that does not pass. */
  readonly #known = new Map<number, SharedContext | null>();
  readonly #calls = new Map<string, CountedCall>();
  readonly #unnamed = new Map<string, CountedCall>();
  #passing = 0;

  constructor(db: Queries, filter: CallFilter) {
    this.#db = db;
    this.#filter = filter;
  }

  /** How much memory it takes, in contexts that pass. */
  get size(): number {
    return this.#passing + (this.#known.size - this.#passing) * PER_OTHER;
  }

  async add(rows: readonly { context: number; decision: Decision; count: number }[], until: number) {
    await this.#look(rows.map(({ context }) => Math.abs(context)));
    for (const { context, decision, count } of rows) {
      const shared = this.#known.get(Math.abs(context)) ?? null;
      if (shared === null) continue;
      const calls = context < 0 ? this.#unnamed : this.#calls;
      const name = `${context} ${decision}`;
      const call = calls.get(name);
      if (call === undefined) calls.set(name, { ...shared, decision, count, until });
      else {
        call.count += count;
        call.until = Math.max(call.until, until);
      }
    }
  }

  all(): Pick<CountedCalls, 'calls' | 'others' | 'unnamed'> {
    const unnamed = [...this.#unnamed.values()];
    const others = unnamed.reduce((sum, { count }) => sum + count, 0);
    return { calls: [...this.#calls.values()], others, unnamed };
  }

  async #look(contexts: readonly number[]): Promise<void> {
    const unknown = [...new Set(contexts.filter(each => !this.#known.has(each)))];
    for (let at = 0; at < unknown.length; at += CONTEXTS_AT_ONCE) {
      for (const each of await findContexts(this.#db, unknown.slice(at, at + CONTEXTS_AT_ONCE))) {
        const mine = passes(each, this.#filter);
        this.#known.set(each.context, mine ? each : null);
        if (mine) this.#passing++;
      }
      await nextTurn();
    }
  }
}

function passes(context: SharedContext, { policyId, keyId }: CallFilter): boolean {
  return (
    (policyId === undefined || context.policyId === policyId) &&
    (keyId === undefined || context.keyId === keyId)
  );
}

/** Of one group, at most so many contexts are searched for examples, those that were used last. */
const MOST_CONTEXTS = 256;
/**
 * How many entries and slots are read for all groups together, where each group counts for PER_GROUP of them at least. It
 * is enough for 200 groups, and takes some hundred milliseconds. Groups that come later have no examples.
 */
const MOST_READ = 64_000;
const PER_GROUP = 320;

/**
 * The newest entries of each group of calls, as ids, newest first and at most `most` each. The calls of a group have the
 * same key, tool and decision. The work is bounded: there may be fewer ids than calls, most likely of the last groups.
 */
export async function newestCalls(
  { db }: Deps,
  groups: readonly (readonly CountedCall[])[],
  from: number,
  to: number,
  most: number,
): Promise<string[][]> {
  const found: string[][] = [];
  let read = 0;
  for (const group of groups) {
    const calls = group.toSorted((a, b) => b.until - a.until).slice(0, MOST_CONTEXTS);
    const [newest] = calls;
    if (newest === undefined || read >= MOST_READ) {
      found.push([]);
      continue;
    }
    const { keyId, toolName, decision, until } = newest;
    const contexts = calls.map(call => call.context);
    const wanted = { keyId, toolName, decision, contexts, from, to: Math.min(to, until) };
    const { ids, seen } = await newestEntries(db, wanted, most);
    found.push(ids);
    read += Math.max(seen, PER_GROUP);
    await nextTurn();
  }
  return found;
}
