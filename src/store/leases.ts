// Which replica does which background work. A lease only saves the other replicas the work: a transaction protects
// whatever must not happen twice.

import type { Queries, Transaction } from './engine/db.ts';

/** A lease that ends later than this was taken by a clock that was wrong, and nobody would work until then. */
const FARTHEST_MS = 10 * 60_000;

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
     WHERE leases.holder = excluded.holder OR leases.until <= $4 OR leases.until > $5`,
    [name, holder, until, now, now + FARTHEST_MS],
  );
  return changed === 1;
}

/** Renews a lease that has not expired; false if it has, or if there is none. */
export async function renewLease(
  db: Queries,
  name: string,
  holder: string,
  now: number,
  until: number,
): Promise<boolean> {
  const changed = await db.run(
    'UPDATE leases SET until = $4 WHERE name = $1 AND holder = $2 AND until > $3',
    [name, holder, now, until],
  );
  return changed === 1;
}

/** The holders of leases whose names begin so and that have not expired. */
export async function listHolders(db: Queries, prefix: string, now: number): Promise<string[]> {
  const rows = await db.all<{ holder: string }>(
    'SELECT holder FROM leases WHERE name >= $1 AND name < $2 AND until > $3',
    [prefix, `${prefix}\u{10ffff}`, now],
  );
  return rows.map(({ holder }) => holder);
}

/**
 * Removes a lease that has expired; false if it has not. Whoever has it cannot renew it before the transaction has ended, and
 * then finds that it was removed.
 */
export async function removeExpired(tx: Transaction, name: string, now: number): Promise<boolean> {
  await tx.run('DELETE FROM leases WHERE name = $1 AND until <= $2', [name, now]);
  const left = await tx.all('SELECT 1 FROM leases WHERE name = $1', [name]);
  return left.length === 0;
}

export async function endLease(db: Queries, name: string, holder: string): Promise<void> {
  await db.run('DELETE FROM leases WHERE name = $1 AND holder = $2', [name, holder]);
}

/**
 * Ends the leases of a process that has stopped. This is only right on a store that serves a single process, where
 * nobody else can have a lease.
 */
export async function endLeases(tx: Transaction): Promise<void> {
  for (const table of ['deliveries', 'notifications']) {
    await tx.run(`UPDATE ${table} SET leased_until = 0 WHERE status = 'pending' AND leased_until > 0`);
  }
  await tx.run('DELETE FROM leases');
  await tx.run('UPDATE server_sign_ins SET leased_until = 0 WHERE refreshing = 1');
  await tx.run('UPDATE sealing SET leased_until = 0');
}
