// Facts about the store itself: whether it was set up, and which master key belongs to it.

import type { Queries } from './engine/db.ts';

export async function readSetting(db: Queries, name: string): Promise<string | null> {
  const [row] = await db.all<{ value: string }>('SELECT value FROM settings WHERE name = $1', [name]);
  return row?.value ?? null;
}

/** Keeps the first value ever written under a name, and returns it. It writes only if there is none: each start asks. */
export async function keepSetting(db: Queries, name: string, value: string): Promise<string> {
  const known = await readSetting(db, name);
  if (known !== null) return known;
  await db.run('INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', [
    name,
    value,
  ]);
  return (await readSetting(db, name)) ?? value;
}

export async function removeSetting(db: Queries, name: string): Promise<void> {
  await db.run('DELETE FROM settings WHERE name = $1', [name]);
}
