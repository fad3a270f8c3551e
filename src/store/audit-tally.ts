// Counting the audit log, a few thousand entries at a time, so that nobody waits long behind it. Bounds are ids,
// which sort by time. Keeping what was counted is rollups.ts.

import type { Decision } from '../core/decide.ts';
import { firstIdAt } from './audit.ts';
import type { Queries } from './db.ts';

/** Entries that one statement looks at: about 5 ms on the embedded engine, where checks wait meanwhile. */
const AT_ONCE = 5000;
const LONGEST_REST_MS = 50;

export interface Tally {
  decision: Decision;
  latencyMs: number;
  serverName: string;
  toolName: string;
  keyId: string;
  count: number;
}

/** How many entries there are of each kind, from one id (inclusive) to another (exclusive). */
function auditTally(db: Queries, from: string, to: string): Promise<Tally[]> {
  // Counted by context first: there are far fewer of them to look up than entries.
  return db.all(
    `SELECT n.decision, n.latency_ms AS "latencyMs", c.server_name AS "serverName", c.tool_name AS "toolName",
       c.key_id AS "keyId", n.count FROM (
         SELECT context, decision, latency_ms, count(*) AS count FROM audit_entries WHERE id >= $1 AND id < $2
         GROUP BY context, decision, latency_ms) AS n
     JOIN audit_contexts c ON c.id = n.context`,
    [from, to],
  );
}

/** The tallies of a time, piece by piece; `rest`: between pieces, so many times as long as one took. */
export async function* tallies(db: Queries, from: number, to: number, rest = 0): AsyncGenerator<Tally[]> {
  for await (const piece of auditPieces(db, from, to, rest)) yield await auditTally(db, piece.from, piece.to);
}

export async function countAudit(db: Queries, from: number, to: number, rest = 0): Promise<number> {
  let count = 0;
  for await (const piece of auditPieces(db, from, to, rest)) {
    const [row] = await db.all<{ count: number }>(
      'SELECT count(*) AS count FROM audit_entries WHERE id >= $1 AND id < $2',
      [piece.from, piece.to],
    );
    count += row?.count ?? 0;
  }
  return count;
}

/** The first id at or after a time, or null. */
export async function nextAuditId(db: Queries, from: number): Promise<string | null> {
  const [row] = await db.all<{ id: string }>(
    'SELECT id FROM audit_entries WHERE id >= $1 ORDER BY id LIMIT 1',
    [firstIdAt(from)],
  );
  return row?.id ?? null;
}

async function* auditPieces(
  db: Queries,
  from: number,
  to: number,
  rest: number,
): AsyncGenerator<{ from: string; to: string }> {
  const end = firstIdAt(to);
  for (let at = firstIdAt(from); at < end; ) {
    const begun = performance.now();
    const [cut] = await db.all<{ id: string }>(
      `SELECT id FROM audit_entries WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 1 OFFSET ${AT_ONCE}`,
      [at, end],
    );
    yield { from: at, to: cut?.id ?? end };
    if (cut === undefined) return;
    at = cut.id;
    // The embedded engine answers without a turn of the event loop; whoever waits gets one here, or a rest.
    if (rest === 0) await new Promise(setImmediate);
    else await Bun.sleep(Math.min(rest * (performance.now() - begun), LONGEST_REST_MS));
  }
}
