// Follows the audit log by polling. Entries committed at almost the same time may become visible out of order, so each
// request overlaps with the previous one, and the entries shown in that period are remembered.

import type { AuditEntry } from '../core/api/resources.ts';
import { type Http, type Query, Unreachable } from './http.ts';
import { type IO, say } from './io.ts';
import { firstOf } from './list.ts';

const OVERLAP_MS = 10_000;
const LONGEST_WAIT_MS = 30_000;

export async function follow(
  io: IO,
  http: Http,
  query: Query,
  { lines, interval }: { lines: number; interval: number },
  show: (entry: AuditEntry) => void,
): Promise<void> {
  const stop = io.interrupted();
  // The service's clock, not ours, says what is new. The newest of all entries is used, so that no request has to start
  // at the beginning of the log.
  const { items: latest } = await http.page<AuditEntry>('/audit', 'entries', { limit: 1 });
  let newest = latest[0] === undefined ? 0 : Date.parse(latest[0].at);
  const first = await firstOf<AuditEntry>(http, '/audit', 'entries', query, lines);
  const shown: Shown = { seen: new Map(), floor: first.items.at(lines - 1)?.id ?? '' };
  report(first.items, shown, show);
  let failures = 0;
  while (await waited(interval * 1000 * 2 ** failures, stop)) {
    try {
      newest = await look(http, query, newest, shown, show);
      failures = 0;
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      if (failures++ === 0) say(io, `toolgate: ${error.message}; trying again`);
    }
  }
}

interface Shown {
  /** The ids that were shown recently, with their times. */
  seen: Map<string, number>;
  /** Entries before this id are older than what was asked for. */
  floor: string;
}

async function look(
  http: Http,
  query: Query,
  newest: number,
  shown: Shown,
  show: (entry: AuditEntry) => void,
): Promise<number> {
  const from = new Date(Math.max(0, newest - OVERLAP_MS)).toISOString();
  const found: AuditEntry[] = [];
  for await (const entry of http.all<AuditEntry>('/audit', 'entries', { ...query, from })) found.push(entry);
  report(found, shown, show);
  for (const [id, at] of shown.seen) if (at < newest - OVERLAP_MS) shown.seen.delete(id);
  return Math.max(newest, ...found.slice(0, 1).map(entry => Date.parse(entry.at)));
}

/** Pages come newest first, and are shown oldest first. */
function report(entries: readonly AuditEntry[], shown: Shown, show: (entry: AuditEntry) => void): void {
  for (const entry of entries.toReversed()) {
    if (entry.id < shown.floor || shown.seen.has(entry.id)) continue;
    shown.seen.set(entry.id, Date.parse(entry.at));
    show(entry);
  }
}

/** False when the user wants to stop. */
function waited(ms: number, stop: AbortSignal): Promise<boolean> {
  if (stop.aborted) return Promise.resolve(false);
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve(true), Math.min(ms, LONGEST_WAIT_MS));
    stop.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve(false);
    });
  });
}
