// The log of changes made through the admin API: who changed what, and when. It is written in the transaction of the
// change itself. `detail` never contains secrets.

import type { Queries } from './engine/db.ts';
import { firstIdAt } from './log/audit.ts';

interface Change {
  id: string;
  at: number;
  actor: string;
  action: string;
  target: string;
  detail: Record<string, unknown>;
}

type ChangeRow = Omit<Change, 'detail'> & { detail: string };

export async function insertChange(db: Queries, change: Change): Promise<void> {
  await db.run(
    'INSERT INTO changes (id, at, actor, action, target, detail) VALUES ($1, $2, $3, $4, $5, $6)',
    [change.id, change.at, change.actor, change.action, change.target, JSON.stringify(change.detail)],
  );
}

export async function listChanges(db: Queries, limit: number, before: string): Promise<Change[]> {
  const rows = await db.all<ChangeRow>(
    'SELECT id, at, actor, action, target, detail FROM changes WHERE id < $1 ORDER BY id DESC LIMIT $2',
    [before, limit],
  );
  return rows.map(row => ({ ...row, detail: JSON.parse(row.detail) }));
}

/** How many changes one statement reads. */
const AT_ONCE = 1000;

/** The ids of keys that were renamed at or after a time. */
export async function renamedKeys(db: Queries, from: number): Promise<Set<string>> {
  const renamed = new Set<string>();
  for (let at: string | null = firstIdAt(from); at !== null; ) {
    const page: Pick<ChangeRow, 'id' | 'action' | 'target' | 'detail'>[] = await db.all(
      `SELECT id, action, target, detail FROM changes WHERE id > $1 ORDER BY id LIMIT ${AT_ONCE}`,
      [at],
    );
    for (const { action, target, detail } of page) {
      if (action === 'key.update' && JSON.parse(detail).changed?.includes('name')) renamed.add(target);
    }
    at = page.length < AT_ONCE ? null : (page.at(-1)?.id ?? null);
    // SQLite answers without a turn of the event loop, so other requests get one here.
    await new Promise(setImmediate);
  }
  return renamed;
}
