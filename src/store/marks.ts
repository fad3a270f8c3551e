// The progress of background work, and which replica does it. A lease only saves the other replicas the work: a
// transaction protects whatever must not happen twice.

import type { Queries } from './db.ts';

export async function readMark(db: Queries, name: string): Promise<number | null> {
  const [row] = await db.all<{ at: number }>('SELECT at FROM marks WHERE name = $1', [name]);
  return row?.at ?? null;
}

export async function writeMark(db: Queries, name: string, at: number): Promise<void> {
  await db.run(
    'INSERT INTO marks (name, at) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET at = excluded.at',
    [name, at],
  );
}

/** Takes or renews a lease; false while another replica has it. */
export async function takeLease(
  db: Queries,
  name: string,
  holder: string,
  now: number,
  until: number,
): Promise<boolean> {
  const changed = await db.run(
    `INSERT INTO leases (name, holder, until) VALUES ($1, $2, $3)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
     WHERE leases.holder = excluded.holder OR leases.until <= $4`,
    [name, holder, until, now],
  );
  return changed === 1;
}

export async function endLease(db: Queries, name: string, holder: string): Promise<void> {
  await db.run('DELETE FROM leases WHERE name = $1 AND holder = $2', [name, holder]);
}
