// Ends the leases of a process that has stopped. This is only right on a store that serves a single process, where
// nobody else can have a lease.

import type { Transaction } from './db.ts';

export async function endLeases(tx: Transaction): Promise<void> {
  for (const table of ['deliveries', 'notifications']) {
    await tx.run(`UPDATE ${table} SET leased_until = 0 WHERE status = 'pending' AND leased_until > 0`);
  }
  await tx.run('DELETE FROM leases');
  await tx.run('UPDATE sealing SET leased_until = 0');
}
