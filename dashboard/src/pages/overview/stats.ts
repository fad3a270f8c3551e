// The statistics that the overview shows, and how a new verdict changes them before they are loaded again.

import type { AuditEntry, Decision, Stats } from '../../resources.ts';

type Counts = Record<Decision, number>;

export type Slice = Stats['series'][number];

export interface Ranked extends Counts {
  count: number;
}

/** The decisions from the bottom of the stack to its top. */
export const DECISIONS: Decision[] = ['allow', 'pending', 'deny'];
export const WORDS: Record<Decision, string> = { allow: 'Allowed', pending: 'Waited', deny: 'Denied' };

export const WINDOWS: [string, string][] = [
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['90d', 'Last 90 days'],
];

export const sum = (counts: Counts): number => counts.allow + counts.pending + counts.deny;

const NUMBER = new Intl.NumberFormat();
export const written = (count: number): string => NUMBER.format(count);

const NONE: Ranked = { allow: 0, pending: 0, deny: 0, count: 0 };
const TOP = 10;

/**
 * The statistics with one more verdict in the newest slice. A verdict from before they were loaded is already counted.
 */
export function counted(stats: Stats, { at, keyId, decision, serverName, toolName }: AuditEntry): Stats {
  if (at < stats.to) return stats;
  const plus = <Each extends Counts>(counts: Each): Each => ({ ...counts, [decision]: counts[decision] + 1 });
  const last = stats.series.length - 1;
  const name = `${serverName}__${toolName}`;
  const ranked = <Each extends Ranked>(list: Each[], is: (each: Each) => boolean, fresh: Each): Each[] =>
    (list.some(is) ? list : [...list, fresh])
      .map(each => (is(each) ? { ...plus(each), count: each.count + 1 } : each))
      .sort((a, b) => b.count - a.count)
      .slice(0, TOP);
  return {
    ...stats,
    totals: plus(stats.totals),
    series: stats.series.map((slice, index) => (index === last ? plus(slice) : slice)),
    topTools: ranked(stats.topTools, each => each.tool === name, { tool: name, ...NONE }),
    topKeys: ranked(stats.topKeys, each => each.keyId === keyId, { keyId, ...NONE }),
  };
}
