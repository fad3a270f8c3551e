// Statistics of a window of time. They come from the roll-ups, and for the last minute or so from the log itself. The
// result equals that of a scan of the whole window, but costs only a few hundred rows.

import type { Decision } from '../../core/decision/decide.ts';
import { floorTo, pieces, sliceOf, windowStart } from '../../core/time/buckets.ts';
import { DAY, MINUTE } from '../../core/time/duration.ts';
import type { Queries } from '../../store/engine/db.ts';
import { tallies } from '../../store/log/audit-tally.ts';
import { readProgress } from '../../store/log/progress.ts';
import { KINDS, type Kind, rollupCounts, rollupSeries } from '../../store/log/rollups.ts';
import type { Deps } from '../deps.ts';
import { ROLLED_UP } from './marks.ts';
import { Counted } from './minutes.ts';

const TOP = 10;

type Counts = Record<Decision, number>;
export type Named = Counts & { name: string; count: number };

export interface Stats {
  from: number;
  to: number;
  totals: Counts;
  series: (Counts & { at: number })[];
  topTools: Named[];
  topKeys: Named[];
  latencyMs: { p50: number; p90: number; p99: number } | null;
}

export async function stats({ db, now }: Deps, window: number): Promise<Stats> {
  const to = now() + 1;
  const from = windowStart(to, window);
  const step = sliceOf(window);
  const rolledUp = floorTo(Math.max(from, (await readProgress(db, ROLLED_UP)) ?? 0), MINUTE);
  const found = new Found(from, to, step);
  await addRolledUp(db, found, rolledUp);
  await addLogged(db, found, rolledUp);
  return found.stats();
}

async function addRolledUp(db: Queries, found: Found, until: number): Promise<void> {
  for (const piece of pieces(found.from, until, found.step)) {
    for (const { at, decision, count } of await rollupSeries(
      db,
      piece.span,
      piece.from,
      piece.to,
      found.step,
    )) {
      found.slice(at, decision, count);
    }
  }
  for (const piece of pieces(found.from, until, DAY)) {
    for (const kind of KINDS) {
      for (const { name, decision, count } of await rollupCounts(
        db,
        piece.span,
        piece.from,
        piece.to,
        kind,
      )) {
        found.named(kind, name, decision, count);
      }
    }
  }
}

/** Adds the entries that are not rolled up yet, slice by slice. */
async function addLogged(db: Queries, found: Found, from: number): Promise<void> {
  for (let start = from; start < found.to; start = floorTo(start, found.step) + found.step) {
    const end = Math.min(floorTo(start, found.step) + found.step, found.to);
    const counted = new Counted();
    for await (const rows of tallies(db, start, end)) counted.add(rows);
    for (const { kind, name, decision, count } of counted.counts()) {
      found.named(kind, name, decision, count);
      if (kind === 'latency') found.slice(start, decision, count);
    }
  }
}

class Found {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly #slices = new Map<number, Counts>();
  readonly #named: Record<Kind, Map<string, Counts>> = {
    latency: new Map(),
    tool: new Map(),
    key: new Map(),
  };

  constructor(from: number, to: number, step: number) {
    this.from = from;
    this.to = to;
    this.step = step;
    for (let at = floorTo(from, step); at < to; at += step) this.#slices.set(at, none());
  }

  slice(at: number, decision: Decision, count: number): void {
    const counts = this.#slices.get(floorTo(at, this.step));
    if (counts !== undefined) counts[decision] += count;
  }

  named(kind: Kind, name: string, decision: Decision, count: number): void {
    const counts = this.#named[kind].get(name) ?? none();
    counts[decision] += count;
    this.#named[kind].set(name, counts);
  }

  stats(): Stats {
    const latencies = [...this.#named.latency].map(([name, counts]) => [Number(name), sum(counts)] as const);
    const totals = none();
    for (const counts of this.#slices.values()) {
      totals.allow += counts.allow;
      totals.deny += counts.deny;
      totals.pending += counts.pending;
    }
    return {
      from: this.from,
      to: this.to,
      totals,
      series: [...this.#slices].map(([at, counts]) => ({ at: Math.max(at, this.from), ...counts })),
      topTools: top(this.#named.tool),
      topKeys: top(this.#named.key),
      latencyMs: percentiles(latencies),
    };
  }
}

function none(): Counts {
  return { allow: 0, deny: 0, pending: 0 };
}

function sum({ allow, deny, pending }: Counts): number {
  return allow + deny + pending;
}

function top(named: ReadonlyMap<string, Counts>): Named[] {
  const all = [...named].map(([name, counts]) => ({ name, count: sum(counts), ...counts }));
  return all.sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1)).slice(0, TOP);
}

function percentiles(latencies: readonly (readonly [number, number])[]): Stats['latencyMs'] {
  const sorted = latencies.toSorted((a, b) => a[0] - b[0]);
  const total = sorted.reduce((all, [, count]) => all + count, 0);
  if (total === 0) return null;
  const at = (share: number) => {
    let seen = 0;
    for (const [latency, count] of sorted) {
      seen += count;
      if (seen >= share * total) return latency;
    }
    return 0;
  };
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}
