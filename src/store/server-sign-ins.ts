// Our sign-ins to the servers of Connected Tools: the encrypted tokens with the state of their refresh, the clients that
// servers registered for us, sign-ins that are under way in a browser, and the tickets that lead people to them. Of what
// a browser or an address holds, only the SHA-256 is stored.

import { placeholders, type Queries, type Transaction } from './engine/db.ts';

export interface ServerSignIn {
  toolId: string;
  /** Empty for the sign-in of the key itself. */
  personId: string;
  /** Null once the sign-in has ended. */
  tokensEncrypted: string | null;
  /** The account at the server, as the server names it. */
  account: string | null;
  /** The scopes that were granted, separated by spaces. */
  scopes: string | null;
  /** The scopes that were asked for, and those that the server has asked for since. */
  wanted: string | null;
  /** How often in a row the server wanted scopes that it had been asked for already. */
  stepUps: number;
  expiresAt: number | null;
  /** Grows with every change of the tokens, and with every refresh that begins. */
  version: number;
  /** 1 from before a refresh token is sent until its successor is stored. */
  refreshing: number;
  leasedUntil: number;
  endedBecause: string | null;
  createdAt: number;
  updatedAt: number;
}

const COLUMNS = `tool_id AS "toolId", person_id AS "personId", tokens_sealed AS "tokensEncrypted", account, scopes, wanted,
  step_ups AS "stepUps", expires_at AS "expiresAt", version, refreshing, leased_until AS "leasedUntil",
  ended_because AS "endedBecause", created_at AS "createdAt", updated_at AS "updatedAt"`;

const THIS = 'tool_id = $1 AND person_id = $2';

export async function findServerSignIn(
  db: Queries,
  toolId: string,
  personId: string,
): Promise<ServerSignIn | null> {
  const sql = `SELECT ${COLUMNS} FROM server_sign_ins WHERE ${THIS}`;
  return (await db.all<ServerSignIn>(sql, [toolId, personId]))[0] ?? null;
}

export function listServerSignIns(db: Queries, personId: string): Promise<ServerSignIn[]> {
  return db.all(`SELECT ${COLUMNS} FROM server_sign_ins WHERE person_id = $1`, [personId]);
}

interface NewSignIn {
  toolId: string;
  personId: string;
  tokensEncrypted: string;
  account: string | null;
  scopes: string | null;
  wanted: string | null;
  expiresAt: number | null;
}

/** Replaces what was there. Nothing of an older sign-in may change it afterwards: it has no holder and a new version. */
export async function putServerSignIn(db: Queries, signIn: NewSignIn, now: number): Promise<void> {
  const { toolId, personId, tokensEncrypted, account, scopes, wanted, expiresAt } = signIn;
  await db.run(
    `INSERT INTO server_sign_ins (tool_id, person_id, tokens_sealed, account, scopes, wanted, expires_at, version,
       created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $8)
     ON CONFLICT (tool_id, person_id) DO UPDATE SET tokens_sealed = excluded.tokens_sealed, account = excluded.account,
       scopes = excluded.scopes, wanted = excluded.wanted, expires_at = excluded.expires_at,
       version = server_sign_ins.version + 1, refreshing = 0, leased_until = 0, holder = NULL, ended_because = NULL,
       updated_at = excluded.updated_at`,
    [toolId, personId, tokensEncrypted, account, scopes, wanted, expiresAt, now],
  );
}

/** Names the tokens of one version of a sign-in. */
interface At {
  toolId: string;
  personId: string;
  version: number;
}

/**
 * Marks that the refresh token of this version is about to be sent. Only one holder can do that, once: the mark stays
 * until that holder has stored the successor, or knows that nothing was sent.
 */
export async function beginRefresh(db: Queries, at: At, holder: string, until: number): Promise<boolean> {
  const changed = await db.run(
    `UPDATE server_sign_ins SET refreshing = 1, holder = $4, leased_until = $5, version = version + 1
     WHERE ${THIS} AND version = $3 AND refreshing = 0 AND tokens_sealed IS NOT NULL`,
    [at.toolId, at.personId, at.version, holder, until],
  );
  return changed === 1;
}

/** Stores the successor. False if the sign-in was replaced or removed meanwhile. */
export async function finishRefresh(
  db: Queries,
  { toolId, personId }: Pick<At, 'toolId' | 'personId'>,
  holder: string,
  fresh: { tokensEncrypted: string; scopes: string | null; expiresAt: number | null; now: number },
): Promise<boolean> {
  const changed = await db.run(
    `UPDATE server_sign_ins SET tokens_sealed = $4, scopes = $5, expires_at = $6, updated_at = $7,
       version = version + 1, refreshing = 0, leased_until = 0, holder = NULL, ended_because = NULL
     WHERE ${THIS} AND holder = $3`,
    [toolId, personId, holder, fresh.tokensEncrypted, fresh.scopes, fresh.expiresAt, fresh.now],
  );
  return changed === 1;
}

/** Takes the mark back, because nothing was sent. */
export async function takeBackRefresh(
  db: Queries,
  { toolId, personId }: Pick<At, 'toolId' | 'personId'>,
  holder: string,
): Promise<void> {
  await db.run(
    `UPDATE server_sign_ins SET refreshing = 0, leased_until = 0, holder = NULL WHERE ${THIS} AND holder = $3`,
    [toolId, personId, holder],
  );
}

/** Ends the sign-in and forgets its tokens, unless they have been replaced meanwhile. */
export async function endServerSignIn(db: Queries, at: At, because: string, now: number): Promise<void> {
  await db.run(
    `UPDATE server_sign_ins SET tokens_sealed = NULL, expires_at = NULL, ended_because = $4, updated_at = $5,
       version = version + 1, refreshing = 0, leased_until = 0
     WHERE ${THIS} AND version = $3`,
    [at.toolId, at.personId, at.version, because, now],
  );
}

/** Notes the scopes that the server asks for. */
export async function noteWanted(
  db: Queries,
  { toolId, personId }: Pick<At, 'toolId' | 'personId'>,
  wanted: string,
  stepUps: number,
): Promise<void> {
  await db.run(`UPDATE server_sign_ins SET wanted = $3, step_ups = $4 WHERE ${THIS}`, [
    toolId,
    personId,
    wanted,
    stepUps,
  ]);
}

/** Removes a sign-in and returns it. */
export async function removeServerSignIn(
  db: Queries,
  toolId: string,
  personId: string,
): Promise<ServerSignIn | null> {
  const sql = `DELETE FROM server_sign_ins WHERE ${THIS} RETURNING ${COLUMNS}`;
  return (await db.all<ServerSignIn>(sql, [toolId, personId]))[0] ?? null;
}

/** Everything that belongs to sign-ins of a Connected Tool, except for our clients. */
export async function removeToolSignIns(tx: Transaction, toolId: string): Promise<void> {
  for (const table of ['server_sign_ins', 'server_visits', 'server_tickets'])
    await tx.run(`DELETE FROM ${table} WHERE tool_id = $1`, [toolId]);
}

/** Everything that belongs to the sign-ins of a person. */
export async function removePersonSignIns(tx: Transaction, personId: string): Promise<void> {
  for (const table of ['server_sign_ins', 'server_visits', 'server_tickets'])
    await tx.run(`DELETE FROM ${table} WHERE person_id = $1`, [personId]);
}

export async function findServerClient(db: Queries, toolId: string, issuer: string): Promise<string | null> {
  const [row] = await db.all<{ clientEncrypted: string }>(
    'SELECT client_sealed AS "clientEncrypted" FROM server_clients WHERE tool_id = $1 AND issuer = $2',
    [toolId, issuer],
  );
  return row?.clientEncrypted ?? null;
}

export async function countServerClients(db: Queries, toolId: string): Promise<number> {
  const sql = 'SELECT COUNT(*) AS count FROM server_clients WHERE tool_id = $1';
  return Number((await db.all<{ count: number }>(sql, [toolId]))[0]?.count ?? 0);
}

export async function putServerClient(
  db: Queries,
  client: { toolId: string; issuer: string; clientEncrypted: string },
  now: number,
): Promise<void> {
  await db.run(
    `INSERT INTO server_clients (tool_id, issuer, client_sealed, created_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (tool_id, issuer) DO UPDATE SET client_sealed = excluded.client_sealed, created_at = excluded.created_at`,
    [client.toolId, client.issuer, client.clientEncrypted, now],
  );
}

export async function removeServerClient(db: Queries, toolId: string, issuer: string): Promise<void> {
  await db.run('DELETE FROM server_clients WHERE tool_id = $1 AND issuer = $2', [toolId, issuer]);
}

export async function removeServerClients(db: Queries, toolId: string): Promise<void> {
  await db.run('DELETE FROM server_clients WHERE tool_id = $1', [toolId]);
}

interface Visit {
  hash: string;
  browserHash: string;
  toolId: string;
  personId: string;
  stateEncrypted: string;
  expiresAt: number;
}

export async function insertServerVisit(db: Queries, visit: Visit, now: number): Promise<void> {
  await db.run('DELETE FROM server_visits WHERE expires_at <= $1', [now]);
  await db.run(
    `INSERT INTO server_visits (hash, browser_hash, tool_id, person_id, state_sealed, expires_at)
     VALUES (${placeholders(6)})`,
    [visit.hash, visit.browserHash, visit.toolId, visit.personId, visit.stateEncrypted, visit.expiresAt],
  );
}

/** Removes and returns a visit, for the browser that began it. */
export async function takeServerVisit(
  db: Queries,
  hash: string,
  browserHash: string,
  now: number,
): Promise<string | null> {
  const [row] = await db.all<{ stateEncrypted: string }>(
    `DELETE FROM server_visits WHERE hash = $1 AND browser_hash = $2 AND expires_at > $3
     RETURNING state_sealed AS "stateEncrypted"`,
    [hash, browserHash, now],
  );
  return row?.stateEncrypted ?? null;
}

interface Ticket {
  hash: string;
  toolId: string;
  personId: string;
  expiresAt: number;
}

export async function insertServerTicket(db: Queries, ticket: Ticket, now: number): Promise<void> {
  await db.run('DELETE FROM server_tickets WHERE expires_at <= $1', [now]);
  await db.run(
    `INSERT INTO server_tickets (hash, tool_id, person_id, expires_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (hash) DO NOTHING`,
    [ticket.hash, ticket.toolId, ticket.personId, ticket.expiresAt],
  );
}

export async function findServerTicket(
  db: Queries,
  hash: string,
  now: number,
): Promise<{ toolId: string; personId: string } | null> {
  const rows = await db.all<{ toolId: string; personId: string }>(
    `SELECT tool_id AS "toolId", person_id AS "personId" FROM server_tickets WHERE hash = $1 AND expires_at > $2`,
    [hash, now],
  );
  return rows[0] ?? null;
}
