// Deleting what is past its time, a few hundred rows per statement. Ids sort by time, so "made before" is a range of
// the primary key. What may go, and when, is the guard's.

import { firstIdAt } from './audit.ts';
import { padded, placeholders, type Queries, type Transaction } from './db.ts';

/** About 5 ms on the embedded engine, where checks wait meanwhile. */
export const BATCH = 500;

/** Entries made from one time on and before another; of a sealed log only those in the places before `places`. */
export async function deleteAudit(
  tx: Transaction,
  from: number,
  to: number,
  places: number | null,
): Promise<{ count: number; last: string | null }> {
  const placed =
    places === null
      ? ''
      : 'AND EXISTS (SELECT 1 FROM seals s WHERE s.entry_id = audit_entries.id AND s.seq < $3)';
  const bounds = [firstIdAt(from), firstIdAt(to)];
  const rows = await tx.all<{ id: string }>(
    `DELETE FROM audit_entries WHERE id IN (
       SELECT id FROM audit_entries WHERE id >= $1 AND id < $2 ${placed} ORDER BY id LIMIT ${BATCH})
     RETURNING id`,
    places === null ? bounds : [...bounds, places],
  );
  const last = rows.reduce((most, { id }) => (id > most ? id : most), '');
  return { count: rows.length, last: last === '' ? null : last };
}

/** By table: its id, and when a row that was made before a time ($2) has also ended by then. */
const OVER = {
  outcomes: ['tool_call_id', null],
  approvals: [
    'id',
    "status <> 'pending' AND expires_at < $2 AND (grant_expires_at IS NULL OR grant_expires_at < $2)",
  ],
  grants: ['id', 'expires_at < $2'],
  notifications: ['id', "status <> 'pending'"],
  sessions: ['id', 'expires_at < $2'],
  events: ['id', null],
} as const;

export type Ended = keyof typeof OVER;
export const ENDED = Object.keys(OVER) as Ended[];

/** Rows of a table that were made and have ended before a time. */
export function deleteEnded(db: Queries, table: Ended, before: number): Promise<number> {
  const [id, over] = OVER[table];
  return db.run(
    `DELETE FROM ${table} WHERE ${id} IN (
       SELECT ${id} FROM ${table} WHERE ${id} < $1 ${over === null ? '' : `AND ${over}`} ORDER BY ${id} LIMIT ${BATCH})`,
    over?.includes('$2') ? [firstIdAt(before), before] : [firstIdAt(before)],
  );
}

/** Deliveries that are settled, with their attempts. */
export async function deleteDeliveries(tx: Transaction, before: number): Promise<number> {
  const rows = await tx.all<{ id: string }>(
    `SELECT id FROM deliveries WHERE id < $1 AND status <> 'pending' ORDER BY id LIMIT ${BATCH}`,
    [firstIdAt(before)],
  );
  if (rows.length === 0) return 0;
  const ids = padded(rows.map(row => row.id));
  await tx.run(`DELETE FROM attempts WHERE delivery_id IN (${placeholders(ids.length)})`, ids);
  return tx.run(
    `DELETE FROM deliveries WHERE status <> 'pending' AND id IN (${placeholders(ids.length)})`,
    ids,
  );
}

/** Connections of MCP clients that were last used before a time. */
export function deleteConnections(db: Queries, before: number): Promise<number> {
  return db.run(
    `DELETE FROM connections WHERE id IN (
       SELECT id FROM connections WHERE used_at < $1 ORDER BY used_at LIMIT ${BATCH})`,
    [before],
  );
}
