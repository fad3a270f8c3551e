// Deletes expired rows, a few hundred per statement. Ids sort by time, so "made before" is a range of the primary key.
// guard/log/retention.ts decides what is deleted and when.

import type { Decision } from '../../core/decision/decide.ts';
import { padded, placeholders, type Queries, type Transaction } from '../engine/db.ts';
import { firstIdAt } from './audit.ts';
import { allTagsOf, insertSlots, slotAfter, slotOf, type TaggedEntry } from './slots.ts';

/** A batch takes about 5 ms on SQLite, during which checks wait. */
export const BATCH = 500;

/**
 * Deletes entries made from one time on and before another, in whole slots; of a sealed log, only those in the places
 * before `places`. Returns how many there were, and the slot before which all entries are deleted, or null when none is
 * left.
 */
export async function deleteAudit(
  tx: Transaction,
  from: number,
  to: number,
  places: number | null,
): Promise<{ count: number; until: string | null }> {
  const placed =
    places === null
      ? ''
      : 'AND EXISTS (SELECT 1 FROM seals s WHERE s.entry_id = audit_entries.id AND s.seq < $3)';
  const bounded = (end: string) => [firstIdAt(from), end, ...(places === null ? [] : [places])];
  const [batch] = await tx.all<{ count: number; first: string; last: string }>(
    `SELECT count(*) AS count, min(id) AS first, max(id) AS last FROM (
       SELECT id FROM audit_entries WHERE id >= $1 AND id < $2 ${placed} ORDER BY id LIMIT ${BATCH + 1}) AS batch`,
    bounded(slotOf(firstIdAt(to))),
  );
  const until = batch === undefined || batch.count <= BATCH ? null : slotToEnd(batch.first, batch.last);
  const end = until ?? slotOf(firstIdAt(to));
  const deleted = await tx.all<TaggedRow>(
    `DELETE FROM audit_entries WHERE id >= $1 AND id < $2 ${placed}
     RETURNING id, session_id AS "sessionId", decision, surface, trace_id AS "traceId",
       (SELECT key_id FROM audit_contexts c WHERE c.id = context) AS "keyId",
       (SELECT tool_name FROM audit_contexts c WHERE c.id = context) AS "toolName",
       (SELECT person_id FROM audit_contexts c WHERE c.id = context) AS "personId",
       (SELECT shadow_decision FROM audit_contexts c WHERE c.id = context) AS "shadowDecision",
       (SELECT marks FROM audit_contexts c WHERE c.id = context) AS marks`,
    bounded(end),
  );
  const gone = deleted.map(taggedEntry);
  if (gone.length > 0) await deleteSlots(tx, gone, firstIdAt(from), end);
  return { count: gone.length, until };
}

/** The slot before which a batch ends; a slot that is larger than a batch is deleted as a whole. */
function slotToEnd(first: string, last: string): string {
  return slotOf(first) === slotOf(last) ? slotAfter(slotOf(last)) : slotOf(last);
}

/**
 * Deletes the slots of deleted entries. Some entries of the same slots may remain because they were sealed late: their
 * slots are written again, or filters would miss them.
 */
async function deleteSlots(
  tx: Transaction,
  gone: readonly TaggedEntry[],
  from: string,
  end: string,
): Promise<void> {
  const tags = new Set(gone.flatMap(allTagsOf));
  const all = padded([...tags]);
  await tx.run(
    `DELETE FROM audit_slots WHERE slot >= $1 AND slot < $2 AND tag IN (${placeholders(all.length, 2)})`,
    [slotOf(from), end, ...all],
  );
  const left = await tx.all<TaggedRow>(
    `SELECT id, session_id AS "sessionId", decision, surface, key_id AS "keyId", tool_name AS "toolName",
       person_id AS "personId", shadow_decision AS "shadowDecision", trace_id AS "traceId", marks
     FROM audit WHERE id >= $1 AND id < $2`,
    [from, end],
  );
  insertSlots(tx, left.map(taggedEntry), tags);
}

type TaggedRow = Omit<TaggedEntry, 'shadow'> & { shadowDecision: Decision | null };

function taggedEntry({ shadowDecision, ...row }: TaggedRow): TaggedEntry {
  return { ...row, shadow: shadowDecision === null ? null : { decision: shadowDecision } };
}

/** For each table, its id column and the condition that a row has ended before a time ($2). */
const OVER = {
  outcomes: ['tool_call_id', null],
  executions: ['tool_call_id', null],
  approvals: [
    'id',
    "status <> 'pending' AND expires_at < $2 AND (grant_expires_at IS NULL OR grant_expires_at < $2)",
  ],
  approval_votes: [
    'approval_id',
    'NOT EXISTS (SELECT 1 FROM approvals WHERE approvals.id = approval_votes.approval_id)',
  ],
  approval_proofs: [
    'approval_id',
    'NOT EXISTS (SELECT 1 FROM approvals WHERE approvals.id = approval_proofs.approval_id)',
  ],
  grants: ['id', 'expires_at < $2'],
  notifications: ['id', "status <> 'pending'"],
  sessions: ['id', 'expires_at < $2'],
  events: ['id', null],
} as const;

export type Ended = keyof typeof OVER;
export const ENDED = Object.keys(OVER) as Ended[];

/** Deletes rows of a table that were made and have ended before a time. */
export function deleteEnded(db: Queries, table: Ended, before: number): Promise<number> {
  const [id, over] = OVER[table];
  return db.run(
    `DELETE FROM ${table} WHERE ${id} IN (
       SELECT ${id} FROM ${table} WHERE ${id} < $1 ${over === null ? '' : `AND ${over}`} ORDER BY ${id} LIMIT ${BATCH})`,
    over?.includes('$2') ? [firstIdAt(before), before] : [firstIdAt(before)],
  );
}

/** Deletes deliveries that have ended, with their attempts. */
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

/** Deletes MCP sessions that were last used before a time. */
export function deleteMcpSessions(db: Queries, before: number): Promise<number> {
  return db.run(
    `DELETE FROM connections WHERE id IN (
       SELECT id FROM connections WHERE used_at < $1 ORDER BY used_at LIMIT ${BATCH})`,
    [before],
  );
}
