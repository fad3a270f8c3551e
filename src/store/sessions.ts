// Sessions: short-lived credentials minted from a key, or for a person who signed in. Only the SHA-256 of a token is
// stored; oauth.ts has the tokens of sessions that an OAuth client uses.

import type { JsonObject } from '../core/wire/json.ts';
import { padded, placeholders, type Queries, type Transaction } from './engine/db.ts';

export interface SessionRecord {
  id: string;
  keyId: string;
  prefix: string;
  label: string;
  scopeTools: string[] | null;
  createdAt: number;
  expiresAt: number;
  revokedAt: number | null;
  /** The operator for whom it acts; null if it acts for nobody. */
  personId: string | null;
  /** The groups that a company's token names; null for those of the operator. */
  personGroups: string[] | null;
  /** The OAuth client that uses it, and the name that the client gives itself. */
  clientId: string | null;
  clientName: string | null;
  usedAt: number | null;
  /** Why it was revoked, if nobody revoked this session itself. */
  revokedBecause: string | null;
  /** What the owner said of it when it was made. */
  attributes: JsonObject | null;
}

/** The fields of a session that acts for nobody. */
export const NOBODY = {
  personId: null,
  personGroups: null,
  clientId: null,
  clientName: null,
  usedAt: null,
  revokedBecause: null,
  attributes: null,
} as const;

interface SessionRow extends Omit<SessionRecord, 'scopeTools' | 'personGroups' | 'attributes'> {
  scopeTools: string | null;
  personGroups: string | null;
  attributes: string | null;
}

const COLUMNS = `id, key_id AS "keyId", prefix, label, scope_tools AS "scopeTools", created_at AS "createdAt",
  expires_at AS "expiresAt", revoked_at AS "revokedAt", person_id AS "personId", person_groups AS "personGroups",
  client_id AS "clientId", client_name AS "clientName", used_at AS "usedAt", revoked_because AS "revokedBecause", attributes`;

function fromRow({ scopeTools, personGroups, attributes, ...row }: SessionRow): SessionRecord {
  return {
    ...row,
    scopeTools: listOrNull(scopeTools),
    personGroups: listOrNull(personGroups),
    attributes: attributes === null ? null : JSON.parse(attributes),
  };
}

const listOrNull = (text: string | null): string[] | null => (text === null ? null : JSON.parse(text));
const textOrNull = (list: string[] | null): string | null => (list === null ? null : JSON.stringify(list));

const INSERT = `INSERT INTO sessions (id, key_id, hash, prefix, label, scope_tools, created_at, expires_at, person_id,
  person_groups, client_id, client_name, used_at, signed_hash, attributes) VALUES (${placeholders(15)})`;

export async function insertSession(db: Queries, session: SessionRecord, hash: string): Promise<void> {
  await db.run(INSERT, valuesOf(session, hash, null));
}

/**
 * Inserts the session of a company's token, unless the token has one. `signedHash` is the hash of what the token says,
 * which it has in common with copies of it that have another signature: they get no session of their own.
 */
export async function insertTokenSession(
  db: Queries,
  session: SessionRecord,
  hash: string,
  signedHash: string,
): Promise<void> {
  await db.run(`${INSERT} ON CONFLICT DO NOTHING`, valuesOf(session, hash, signedHash));
}

function valuesOf(
  session: SessionRecord,
  hash: string,
  signedHash: string | null,
): (string | number | null)[] {
  return [
    session.id,
    session.keyId,
    hash,
    session.prefix,
    session.label,
    textOrNull(session.scopeTools),
    session.createdAt,
    session.expiresAt,
    session.personId,
    textOrNull(session.personGroups),
    session.clientId,
    session.clientName,
    session.usedAt,
    signedHash,
    session.attributes === null ? null : JSON.stringify(session.attributes),
  ];
}

/** Returns false if it was revoked before. `because` says what ended it, if it ended along with something else. */
export async function revokeSession(
  db: Queries,
  id: string,
  now: number,
  because: string | null = null,
): Promise<boolean> {
  const sql =
    'UPDATE sessions SET revoked_at = $2, revoked_because = $3 WHERE id = $1 AND revoked_at IS NULL';
  return (await db.run(sql, [id, now, because])) === 1;
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
 * Whether at least `count` of the sessions that a key has made since an id are active. Those of people do not count:
 * they have limits of their own. The id bounds the search, since a key may have had any number before.
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
       AND person_id IS NULL ORDER BY id LIMIT 1 OFFSET $4`,
    [keyId, since, now, count - 1],
  );
  return rows.length > 0;
}

/** Whether at least `count` sessions that were made from company tokens act for a person. */
export async function hasActiveTokens(
  db: Queries,
  personId: string,
  now: number,
  count: number,
): Promise<boolean> {
  const rows = await db.all(
    `SELECT id FROM sessions WHERE person_id = $1 AND signed_hash IS NOT NULL AND revoked_at IS NULL AND expires_at > $2
     ORDER BY id LIMIT 1 OFFSET $3`,
    [personId, now, count - 1],
  );
  return rows.length > 0;
}

/** A session with the e-mail of the person for whom it acts; null if there is none, or if they were removed. */
export type ListedSession = SessionRecord & { personEmail: string | null };

/** All sessions, also ended ones, newest first; `keyId` limits them to one key. */
export async function listSessions(
  db: Queries,
  keyId: string | null,
  limit: number,
  before: string,
): Promise<ListedSession[]> {
  const ofKey = keyId === null ? '' : 'key_id = $3 AND ';
  const rows = await db.all<SessionRow & { personEmail: string | null }>(
    `SELECT ${COLUMNS}, (SELECT email FROM operators WHERE operators.id = person_id) AS "personEmail"
     FROM sessions WHERE ${ofKey}id < $1 ORDER BY id DESC LIMIT $2`,
    keyId === null ? [before, limit] : [before, limit, keyId],
  );
  return rows.map(({ personEmail, ...row }) => ({ ...fromRow(row), personEmail }));
}

export type PersonSession = SessionRecord & { keyName: string };

/** The valid sessions that act for a person, newest first. */
export async function listConnections(
  db: Queries,
  personId: string,
  now: number,
  limit: number,
  before: string,
): Promise<PersonSession[]> {
  const rows = await db.all<SessionRow & { keyName: string }>(
    `SELECT ${COLUMNS}, (SELECT name FROM keys WHERE keys.id = key_id) AS "keyName"
     FROM sessions WHERE person_id = $1 AND revoked_at IS NULL AND expires_at > $2 AND id < $3
       AND (SELECT keys.revoked_at FROM keys WHERE keys.id = key_id) IS NULL
     ORDER BY id DESC LIMIT $4`,
    [personId, now, before, limit],
  );
  return rows.map(({ keyName, ...row }) => ({ ...fromRow(row), keyName }));
}

/** The keys of a person's valid sessions. */
export async function connectedKeys(db: Queries, personId: string, now: number): Promise<string[]> {
  const rows = await db.all<{ keyId: string }>(
    `SELECT DISTINCT key_id AS "keyId" FROM sessions
     WHERE person_id = $1 AND revoked_at IS NULL AND expires_at > $2`,
    [personId, now],
  );
  return rows.map(({ keyId }) => keyId);
}

/** Revokes all sessions that act for a person. */
export async function revokeSessionsOf(
  tx: Transaction,
  personId: string,
  now: number,
  because: string,
): Promise<void> {
  await tx.run(
    `UPDATE sessions SET revoked_at = $2, revoked_because = $3
     WHERE person_id = $1 AND revoked_at IS NULL AND expires_at > $2`,
    [personId, now, because],
  );
}

/** What says whether a valid session of a person may go on. */
export interface PersonsSession {
  id: string;
  keyId: string;
  personId: string;
  personGroups: string[] | null;
}

/** The valid sessions of all people with a key, or of a person with all keys. */
export async function personsSessions(
  tx: Transaction,
  of: { keyId: string } | { personId: string },
  now: number,
): Promise<PersonsSession[]> {
  const [column, id] = 'keyId' in of ? ['key_id', of.keyId] : ['person_id', of.personId];
  const rows = await tx.all<Omit<PersonsSession, 'personGroups'> & { personGroups: string | null }>(
    `SELECT id, key_id AS "keyId", person_id AS "personId", person_groups AS "personGroups" FROM sessions
     WHERE ${column} = $1 AND person_id IS NOT NULL AND revoked_at IS NULL AND expires_at > $2`,
    [id, now],
  );
  return rows.map(({ personGroups, ...row }) => ({ ...row, personGroups: listOrNull(personGroups) }));
}

export interface SessionFacts {
  id: string;
  expiresAt: number;
  revokedAt: number | null;
  personId: string | null;
  /** A JSON list; null for the groups of the operator. */
  personGroups: string | null;
}

export function sessionFacts(db: Queries, ids: readonly string[]): Promise<SessionFacts[]> {
  const wanted = padded(ids);
  return db.all(
    `SELECT id, expires_at AS "expiresAt", revoked_at AS "revokedAt", person_id AS "personId",
       person_groups AS "personGroups" FROM sessions
     WHERE id IN (${placeholders(wanted.length)})`,
    wanted,
  );
}
