// The log of changes made through the admin API: who changed what, and when. It is written in the transaction of the
// change itself. `detail` never contains secrets.

import type { Queries } from './db.ts';

interface Change {
  id: string;
  at: number;
  actor: string;
  action: string;
  target: string;
  detail: Record<string, unknown>;
}

export async function insertChange(db: Queries, change: Change): Promise<void> {
  await db.run(
    'INSERT INTO changes (id, at, actor, action, target, detail) VALUES ($1, $2, $3, $4, $5, $6)',
    [change.id, change.at, change.actor, change.action, change.target, JSON.stringify(change.detail)],
  );
}

export async function listChanges(db: Queries, limit: number, before: string): Promise<Change[]> {
  const rows = await db.all<Omit<Change, 'detail'> & { detail: string }>(
    'SELECT id, at, actor, action, target, detail FROM changes WHERE id < $1 ORDER BY id DESC LIMIT $2',
    [before, limit],
  );
  return rows.map(row => ({ ...row, detail: JSON.parse(row.detail) }));
}
