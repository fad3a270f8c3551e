// Sessions: short-lived credentials minted from a key. Only the SHA-256 of a token is stored.

import { padded, placeholders, type Queries, type Transaction } from './db.ts';

export interface SessionRecord {
  id: string;
  keyId: string;
  prefix: string;
  label: string;
  scopeTools: string[] | null;
  createdAt: number;
  expiresAt: number;
  revokedAt: number | null;
}

interface SessionRow extends Omit<SessionRecord, 'scopeTools'> {
  scopeTools: string | null;
}

const COLUMNS = `id, key_id AS "keyId", prefix, label, scope_tools AS "scopeTools", created_at AS "createdAt",
  expires_at AS "expiresAt", revoked_at AS "revokedAt"`;

function fromRow({ scopeTools, ...row }: SessionRow): SessionRecord {
  return { ...row, scopeTools: scopeTools === null ? null : JSON.parse(scopeTools) };
}

export async function insertSession(db: Queries, session: SessionRecord, hash: string): Promise<void> {
  await db.run(
    `INSERT INTO sessions (id, key_id, hash, prefix, label, scope_tools, created_at, expires_at)
     VALUES (${placeholders(8)})`,
    [
      session.id,
      session.keyId,
      hash,
      session.prefix,
      session.label,
      session.scopeTools === null ? null : JSON.stringify(session.scopeTools),
      session.createdAt,
      session.expiresAt,
    ],
  );
}

export async function revokeSession(db: Queries, id: string, now: number): Promise<boolean> {
  const sql = 'UPDATE sessions SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL';
  return (await db.run(sql, [id, now])) === 1;
}

/** Sessions never outlive their key: shortens those that would. */
export async function shortenSessions(tx: Transaction, keyId: string, expiresAt: number): Promise<void> {
  await tx.run('UPDATE sessions SET expires_at = $2 WHERE key_id = $1 AND expires_at > $2', [
    keyId,
    expiresAt,
  ]);
}

export async function findSession(db: Queries, id: string): Promise<SessionRecord | null> {
  const [row] = await db.all<SessionRow>(`SELECT ${COLUMNS} FROM sessions WHERE id = $1`, [id]);
  return row === undefined ? null : fromRow(row);
}

export async function findSessionByHash(db: Queries, hash: string): Promise<SessionRecord | null> {
  const [row] = await db.all<SessionRow>(`SELECT ${COLUMNS} FROM sessions WHERE hash = $1`, [hash]);
  return row === undefined ? null : fromRow(row);
}

/** Newest first; `before` is the last id of the previous page. */
export async function activeSessions(
  db: Queries,
  keyId: string,
  now: number,
  limit: number,
  before: string,
): Promise<SessionRecord[]> {
  const rows = await db.all<SessionRow>(
    `SELECT ${COLUMNS} FROM sessions WHERE key_id = $1 AND revoked_at IS NULL AND expires_at > $2 AND id < $3
     ORDER BY id DESC LIMIT $4`,
    [keyId, now, before, limit],
  );
  return rows.map(fromRow);
}

/**
 * Whether at least `count` of the sessions made since an id are active. The id bounds the search, since a key may have
 * had any number before.
 */
export async function hasActive(
  db: Queries,
  keyId: string,
  now: number,
  since: string,
  count: number,
): Promise<boolean> {
  const rows = await db.all(
    `SELECT id FROM sessions WHERE key_id = $1 AND id > $2 AND revoked_at IS NULL AND expires_at > $3
     ORDER BY id LIMIT 1 OFFSET $4`,
    [keyId, since, now, count - 1],
  );
  return rows.length > 0;
}

/** All sessions, also ended ones, newest first; `keyId` limits them to one key. */
export async function listSessions(
  db: Queries,
  keyId: string | null,
  limit: number,
  before: string,
): Promise<SessionRecord[]> {
  const ofKey = keyId === null ? '' : 'key_id = $3 AND ';
  const rows = await db.all<SessionRow>(
    `SELECT ${COLUMNS} FROM sessions WHERE ${ofKey}id < $1 ORDER BY id DESC LIMIT $2`,
    keyId === null ? [before, limit] : [before, limit, keyId],
  );
  return rows.map(fromRow);
}

export interface SessionFacts {
  id: string;
  expiresAt: number;
  revokedAt: number | null;
}

export function sessionFacts(db: Queries, ids: readonly string[]): Promise<SessionFacts[]> {
  const wanted = padded(ids);
  return db.all(
    `SELECT id, expires_at AS "expiresAt", revoked_at AS "revokedAt" FROM sessions
     WHERE id IN (${placeholders(wanted.length)})`,
    wanted,
  );
}
