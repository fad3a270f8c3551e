// Signed checkpoints of the audit log, numbered in the order of signing, and which of them were sent to the target
// outside.

import type { Queries } from '../engine/db.ts';

export interface CheckpointRecord {
  number: number;
  at: number;
  size: number;
  note: string;
}

const COLUMNS = 'number, at, size, note';

export async function insertCheckpoint(db: Queries, checkpoint: CheckpointRecord): Promise<void> {
  await db.run('INSERT INTO checkpoints (number, at, size, note, sent_at) VALUES ($1, $2, $3, $4, NULL)', [
    checkpoint.number,
    checkpoint.at,
    checkpoint.size,
    checkpoint.note,
  ]);
}

export async function newestCheckpoint(db: Queries): Promise<CheckpointRecord | null> {
  const [row] = await listCheckpoints(db, 1, Number.MAX_SAFE_INTEGER);
  return row ?? null;
}

/** Newest first, with a number below `before`. */
export function listCheckpoints(db: Queries, limit: number, before: number): Promise<CheckpointRecord[]> {
  return db.all(`SELECT ${COLUMNS} FROM checkpoints WHERE number < $1 ORDER BY number DESC LIMIT $2`, [
    before,
    limit,
  ]);
}

/**
 * The newest checkpoint that was signed at or before a time. Times increase with numbers, so a binary search finds it
 * in about twenty reads. There is a checkpoint for each minute of the log's life, and no index by time.
 */
export async function checkpointBy(
  db: Queries,
  at: number,
  newest: number,
): Promise<CheckpointRecord | null> {
  let [low, high] = [0, newest];
  let found: CheckpointRecord | null = null;
  while (low <= high) {
    const middle = Math.floor((low + high) / 2);
    const [row] = await listCheckpoints(db, 1, middle + 1);
    if (row !== undefined && row.at <= at) found = row;
    if (row === undefined || row.at <= at) low = middle + 1;
    else high = row.number - 1;
  }
  return found;
}

/** The newest checkpoint, if it was not sent yet: it covers all earlier ones. */
export async function unsentCheckpoint(db: Queries): Promise<CheckpointRecord | null> {
  const [row] = await db.all<CheckpointRecord & { sentAt: number | null }>(
    `SELECT ${COLUMNS}, sent_at AS "sentAt" FROM checkpoints ORDER BY number DESC LIMIT 1`,
  );
  return row === undefined || row.sentAt !== null ? null : row;
}

export async function markSent(db: Queries, number: number, at: number): Promise<void> {
  await db.run('UPDATE checkpoints SET sent_at = $2 WHERE number = $1', [number, at]);
}
