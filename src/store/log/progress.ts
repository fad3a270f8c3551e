// How far background work has come.

import type { Queries } from '../engine/db.ts';

export async function readProgress(db: Queries, name: string): Promise<number | null> {
  const [row] = await db.all<{ at: number }>('SELECT at FROM marks WHERE name = $1', [name]);
  return row?.at ?? null;
}

export async function writeProgress(db: Queries, name: string, at: number): Promise<void> {
  await db.run(
    'INSERT INTO marks (name, at) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET at = excluded.at',
    [name, at],
  );
}
