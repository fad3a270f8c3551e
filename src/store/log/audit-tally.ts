// Counts the audit log, a few thousand entries at a time, so that no request waits long. Bounds are ids, which sort by
// time. rollups.ts and context-rollups.ts store the counts.

import type { Decision } from '../../core/decision/decide.ts';
import type { Queries } from '../engine/db.ts';
import { firstIdAt } from './audit.ts';

/** How many entries one statement reads: about 5 ms on SQLite, during which checks wait. */
const AT_ONCE = 5000;
const LONGEST_REST_MS = 50;

export interface Tally {
  context: number;
  decision: Decision;
  latencyMs: number;
  serverName: string;
  toolName: string;
  keyId: string;
  count: number;
}

/** How many entries of each kind there are from one id (inclusive) to another (exclusive). */
function auditTally(db: Queries, from: string, to: string): Promise<Tally[]> {
  // Entries are counted by context first, because there are far fewer contexts than entries to look up.
  return db.all(
    `SELECT n.context, n.decision, n.latency_ms AS "latencyMs", c.server_name AS "serverName", c.tool_name AS "toolName",
       c.key_id AS "keyId", n.count FROM (
         SELECT context, decision, latency_ms, count(*) AS count FROM audit_entries WHERE id >= $1 AND id < $2
         GROUP BY context, decision, latency_ms) AS n
     JOIN audit_contexts c ON c.id = n.context`,
    [from, to],
  );
}

/** The tallies of a period, piece by piece. After each piece there is a pause of `rest` times its duration. */
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
    // SQLite answers without a turn of the event loop, so other requests get one here, or a pause.
    if (rest === 0) await new Promise(setImmediate);
    else await Bun.sleep(Math.min(rest * (performance.now() - begun), LONGEST_REST_MS));
  }
}
