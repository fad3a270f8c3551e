// Passkeys of operators: public keys, and when they were used. Nothing in them is secret. The challenges that were
// answered are kept for a while, so that no answer counts twice.

import { placeholders, type Queries } from './engine/db.ts';

export interface PasskeyRecord {
  /** The credential's id, in base64url. */
  id: string;
  operatorId: string;
  name: string;
  /** The public key as COSE, in base64url. */
  publicKey: string;
  /** How often the authenticator says that it was used; many always say 0. */
  counter: number;
  /** How browsers can reach the authenticator, as they reported it. */
  transports: string[];
  createdAt: number;
  usedAt: number | null;
}

type Stored = Omit<PasskeyRecord, 'transports'> & { transports: string };

const COLUMNS = `id, operator_id AS "operatorId", name, public_key AS "publicKey", counter, transports,
  created_at AS "createdAt", used_at AS "usedAt"`;

const read = (row: Stored): PasskeyRecord => ({ ...row, transports: JSON.parse(row.transports) as string[] });

/** False if there is a passkey with this id already. */
export async function insertPasskey(db: Queries, passkey: PasskeyRecord): Promise<boolean> {
  const { id, operatorId, name, publicKey, counter, transports, createdAt, usedAt } = passkey;
  const inserted = await db.run(
    `INSERT INTO passkeys (id, operator_id, name, public_key, counter, transports, created_at, used_at)
     VALUES (${placeholders(8)}) ON CONFLICT (id) DO NOTHING`,
    [id, operatorId, name, publicKey, counter, JSON.stringify(transports), createdAt, usedAt],
  );
  return inserted === 1;
}

export async function findPasskey(db: Queries, id: string): Promise<PasskeyRecord | null> {
  const [row] = await db.all<Stored>(`SELECT ${COLUMNS} FROM passkeys WHERE id = $1`, [id]);
  return row === undefined ? null : read(row);
}

/** The passkeys of an operator, the oldest first. */
export async function listPasskeys(db: Queries, operatorId: string): Promise<PasskeyRecord[]> {
  const rows = await db.all<Stored>(
    `SELECT ${COLUMNS} FROM passkeys WHERE operator_id = $1 ORDER BY created_at, id`,
    [operatorId],
  );
  return rows.map(read);
}

export async function updatePasskeyName(db: Queries, id: string, name: string): Promise<void> {
  await db.run('UPDATE passkeys SET name = $2 WHERE id = $1', [id, name]);
}

/**
 * Notes that a passkey was used. False if it does not exist (any more), or if its counter is not above the last one: an
 * authenticator that counts its uses reports a higher number each time.
 */
export async function notePasskeyUse(
  db: Queries,
  { id, publicKey }: Pick<PasskeyRecord, 'id' | 'publicKey'>,
  counter: number,
  now: number,
): Promise<boolean> {
  const changed = await db.run(
    `UPDATE passkeys SET counter = $3, used_at = $4
     WHERE id = $1 AND public_key = $2 AND (counter < $3 OR (counter = 0 AND $3 = 0))`,
    [id, publicKey, counter, now],
  );
  return changed === 1;
}

export async function removePasskey(db: Queries, id: string): Promise<void> {
  await db.run('DELETE FROM passkeys WHERE id = $1', [id]);
}

export async function removePasskeys(db: Queries, operatorId: string): Promise<void> {
  await db.run('DELETE FROM passkeys WHERE operator_id = $1', [operatorId]);
}

/** Notes that a challenge was answered; false if it was answered before. */
export async function insertAnswered(db: Queries, hash: string, keepUntil: number): Promise<boolean> {
  const inserted = await db.run(
    'INSERT INTO passkey_challenges (hash, expires_at) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING',
    [hash, keepUntil],
  );
  return inserted === 1;
}

export async function removeOldAnswered(db: Queries, now: number): Promise<void> {
  await db.run('DELETE FROM passkey_challenges WHERE expires_at <= $1', [now]);
}
