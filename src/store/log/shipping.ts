// How far the sealed log has been sent to each target. The cursor of a target only moves from the place that was read, so
// that two replicas that both believe they are sending can neither skip a place nor go back.

import { padded, placeholders, type Queries } from '../engine/db.ts';

export interface ShippingState {
  name: string;
  /** The number of places that the target has confirmed; also the next place to send. */
  shipped: number;
  /** When the target last confirmed a batch. */
  shippedAt: number | null;
  /** Attempts that failed since then. */
  failures: number;
  lastError: string | null;
  lastErrorAt: number | null;
}

const COLUMNS = `name, shipped, shipped_at AS "shippedAt", failures, last_error AS "lastError",
  last_error_at AS "lastErrorAt"`;

export async function listShipping(db: Queries): Promise<ShippingState[]> {
  return db.all<ShippingState>(`SELECT ${COLUMNS} FROM shipping ORDER BY name`);
}

export async function findShipping(db: Queries, name: string): Promise<ShippingState | null> {
  const [row] = await db.all<ShippingState>(`SELECT ${COLUMNS} FROM shipping WHERE name = $1`, [name]);
  return row ?? null;
}

/** Adds a target that begins with the first place. One that is there already stays as it is. */
export async function addShipping(db: Queries, name: string): Promise<void> {
  await db.run(
    'INSERT INTO shipping (name, shipped, failures) VALUES ($1, 0, 0) ON CONFLICT (name) DO NOTHING',
    [name],
  );
}

/** Moves the cursor after the target has confirmed the places before `to`. False: another replica has moved it. */
export async function moveShipping(
  db: Queries,
  { name, shipped }: ShippingState,
  to: number,
  at: number,
): Promise<boolean> {
  const changed = await db.run(
    'UPDATE shipping SET shipped = $3, shipped_at = $4, failures = 0 WHERE name = $1 AND shipped = $2',
    [name, shipped, to, at],
  );
  return changed === 1;
}

/**
 * Moves the cursor past places that have no entry any more, or back to the end of the log. False: another replica has
 * moved it.
 */
export async function skipShipping(
  db: Queries,
  { name, shipped }: ShippingState,
  to: number,
): Promise<boolean> {
  const changed = await db.run('UPDATE shipping SET shipped = $3 WHERE name = $1 AND shipped = $2', [
    name,
    shipped,
    to,
  ]);
  return changed === 1;
}

export async function noteShippingError(db: Queries, name: string, error: string, at: number): Promise<void> {
  await db.run(
    'UPDATE shipping SET failures = failures + 1, last_error = $2, last_error_at = $3 WHERE name = $1',
    [name, error, at],
  );
}

/** The number of places that all of these targets have confirmed. A target that has not begun has confirmed none. */
export async function shippedByAll(db: Queries, names: readonly string[]): Promise<number> {
  const all = padded(names);
  const rows = await db.all<{ shipped: number }>(
    `SELECT shipped FROM shipping WHERE name IN (${placeholders(all.length)})`,
    all,
  );
  return rows.length < names.length ? 0 : Math.min(...rows.map(row => row.shipped));
}
