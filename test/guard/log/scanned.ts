// Entries anywhere in time, and statistics over them as their definition reads, for comparison with those of the program.

import { expect } from 'bun:test';
import { latencyClass, sliceOf, windowStart } from '../../../src/core/time/buckets.ts';
import { DAY, HOUR, MINUTE } from '../../../src/core/time/duration.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { timeOfId } from '../../../src/guard/ids.ts';
import { type Stats, stats } from '../../../src/guard/log/stats.ts';
import type { Db } from '../../../src/store/engine/db.ts';
import type { AuditEntry } from '../../../src/store/log/audit-entry.ts';
import { auditEntry, idAt } from '../../store/stores.ts';

const DECISIONS = ['allow', 'allow', 'allow', 'deny', 'pending'] as const;
const WINDOWS = [15 * MINUTE, HOUR, DAY, 2 * DAY, 7 * DAY, 90 * DAY, 366 * DAY];

let serial = 0;

export function entryAt(at: number, next: () => number): AuditEntry {
  const pick = (count: number) => Math.floor(next() * count);
  const id = idAt(at, serial++);
  return auditEntry({
    id,
    at,
    keyId: `key-${pick(4)}`,
    serverName: ['github', 'gitlab'][pick(2)] as string,
    toolName: `tool-${pick(8)}`,
    decision: DECISIONS[pick(DECISIONS.length)] as AuditEntry['decision'],
    latencyMs: Math.floor(next() ** 4 * 3000),
  });
}

/** The statistics as their definition reads: one look at every entry. */
function scan(entries: readonly AuditEntry[], now: number, window: number): Stats {
  const to = now + 1;
  const from = windowStart(to, window);
  const step = sliceOf(window);
  const inside = entries.filter(entry => entry.at >= from && entry.at < to);
  const counts = (some: readonly AuditEntry[]) => ({
    allow: some.filter(entry => entry.decision === 'allow').length,
    deny: some.filter(entry => entry.decision === 'deny').length,
    pending: some.filter(entry => entry.decision === 'pending').length,
  });
  const top = (nameOf: (entry: AuditEntry) => string) =>
    [...Map.groupBy(inside, nameOf)]
      .map(([name, some]) => ({ name, count: some.length, ...counts(some) }))
      .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
      .slice(0, 10);
  const series = [];
  for (let at = Math.floor(from / step) * step; at < to; at += step) {
    const here = inside.filter(entry => entry.at >= at && entry.at < at + step);
    series.push({ at: Math.max(at, from), ...counts(here) });
  }
  const latencies = inside.map(entry => latencyClass(entry.latencyMs)).sort((a, b) => a - b);
  const share = (part: number) => latencies[Math.ceil(part * latencies.length) - 1] as number;
  return {
    from,
    to,
    totals: counts(inside),
    series,
    topTools: top(entry => `${entry.serverName}__${entry.toolName}`),
    topKeys: top(entry => entry.keyId),
    latencyMs: inside.length === 0 ? null : { p50: share(0.5), p90: share(0.9), p99: share(0.99) },
  };
}

export async function logged(db: Db): Promise<AuditEntry[]> {
  const rows = await db.all<AuditEntry>(
    `SELECT id, key_id AS "keyId", server_name AS "serverName", tool_name AS "toolName", decision,
       latency_ms AS "latencyMs" FROM audit`,
  );
  return rows.map(row => ({ ...row, at: timeOfId(row.id) }));
}

export async function expectEqualToScan(deps: Deps): Promise<void> {
  const entries = await logged(deps.db);
  for (const window of WINDOWS) expect(await stats(deps, window)).toEqual(scan(entries, deps.now(), window));
}
