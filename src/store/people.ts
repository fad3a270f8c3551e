// What a check must know about the people for whom its sessions act, and about the keys that are open to them.

import { padded, placeholders, type Queries, type Value } from './engine/db.ts';
import { type WithGroupNames, withGroups } from './operators.ts';

export interface PersonFacts {
  id: string;
  email: string;
  groups: string[];
  /** A provider brought them, and has not said that the e-mail is theirs. */
  unverified?: true;
}

/** Those of these operators who have not been removed. */
export async function personFacts(db: Queries, ids: readonly string[]): Promise<PersonFacts[]> {
  const wanted = padded(ids);
  const rows = await db.all<WithGroupNames<Omit<PersonFacts, 'unverified'>> & { unverified: number | null }>(
    `SELECT id, email, group_names AS "groupNames", email_unverified AS unverified FROM operators
     WHERE id IN (${placeholders(wanted.length)})`,
    wanted,
  );
  return rows.map(({ unverified, ...row }) => ({
    ...withGroups<Omit<PersonFacts, 'unverified'>>(row),
    ...(unverified === 1 && { unverified: true }),
  }));
}

/** To whom these keys are open. */
export async function openToFacts(
  db: Queries,
  keyIds: readonly string[],
): Promise<{ id: string; openTo: string[] }[]> {
  const wanted = padded(keyIds);
  const rows = await db.all<{ id: string; openTo: string }>(
    `SELECT id, open_to AS "openTo" FROM keys WHERE id IN (${placeholders(wanted.length)})`,
    wanted,
  );
  return rows.map(({ id, openTo }) => ({ id, openTo: JSON.parse(openTo) }));
}

export interface OpenKey {
  id: string;
  name: string;
  openTo: string[];
  expiresAt: number | null;
}

/** The keys that are valid and open to somebody, by their names. */
export function openKeys(db: Queries, now: number): Promise<OpenKey[]> {
  return readOpen(db, '', [now]);
}

/** Those of them that have a Connected Tool with this source. */
export function openKeysWith(db: Queries, sourceId: string, now: number): Promise<OpenKey[]> {
  const has = `AND EXISTS (SELECT 1 FROM connected_tools t
    WHERE t.key_id = keys.id AND (t.id = $2 OR t.tool_server_id = $2))`;
  return readOpen(db, has, [now, sourceId]);
}

async function readOpen(db: Queries, also: string, params: readonly Value[]): Promise<OpenKey[]> {
  const rows = await db.all<Omit<OpenKey, 'openTo'> & { openTo: string }>(
    `SELECT id, name, open_to AS "openTo", expires_at AS "expiresAt" FROM keys
     WHERE open_to <> '[]' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) ${also}
     ORDER BY name, id`,
    params,
  );
  return rows.map(row => ({ ...row, openTo: JSON.parse(row.openTo) }));
}
