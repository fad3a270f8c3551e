// Counts the requests of each client per minute, over all replicas.

import type { Queries } from './engine/db.ts';

/** Counts one more request and returns the new count. It is one statement, so that no concurrent request is lost. */
export async function insertRequest(db: Queries, minute: number, client: string): Promise<number> {
  const [row] = await db.all<{ count: number }>(
    `INSERT INTO request_counts (minute, client, count) VALUES ($1, $2, 1)
     ON CONFLICT (minute, client) DO UPDATE SET count = request_counts.count + 1 RETURNING count`,
    [minute, client],
  );
  return row?.count ?? 0;
}

export async function removeRequests(db: Queries, before: number): Promise<void> {
  await db.run('DELETE FROM request_counts WHERE minute < $1', [before]);
}
