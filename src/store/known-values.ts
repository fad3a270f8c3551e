// The values that somebody trusted has named in a run, as keyed digests, and the calls of coding agents whose results may
// name more.

import { into, type Queries, type Transaction, type Value } from './engine/db.ts';
import { sized } from './engine/sized.ts';

export interface KnownValue {
  run: number;
  digest: string;
}

/** A statement has room for this many values. */
const AT_ONCE = 512;

/** Those of the given values that are known. */
export async function findKnown(tx: Queries, wanted: readonly KnownValue[]): Promise<KnownValue[]> {
  const found: KnownValue[] = [];
  for (let from = 0; from < wanted.length; from += AT_ONCE) {
    const some = wanted.slice(from, from + AT_ONCE);
    const params: Value[] = [some.length];
    const sql = lookUp(some, ({ run, digest }) => params.push(run, digest));
    found.push(...(await tx.all<KnownValue>(sql, params)));
  }
  return found;
}

/** The subquery makes either engine look each of them up in the primary key. */
const lookUp = sized(
  2,
  1,
  rows => `WITH wanted (at, run, digest) AS (VALUES ${rows})
    SELECT CAST(run AS bigint) AS run, digest FROM wanted WHERE at < $1 AND EXISTS (
      SELECT 1 FROM run_known k WHERE k.run = CAST(wanted.run AS bigint) AND k.digest = wanted.digest)`,
);

const KNOWN = into('run_known', { run: 'bigint', digest: 'text' }, 'ON CONFLICT DO NOTHING');

/**
 * Adds values to a run as long as it has room for them, and counts those that it has no room for. Returns whether there
 * was room for all of them. Others that add to the same run wait.
 */
export async function addKnown(
  tx: Transaction,
  run: number,
  digests: readonly string[],
  most: number,
): Promise<boolean> {
  const [row] = await tx.all<{ known: number }>(
    'UPDATE runs SET known = known WHERE number = $1 RETURNING known',
    [run],
  );
  if (row === undefined) return false;
  const fresh = await unknownAmong(tx, run, digests);
  const added = fresh.slice(0, Math.max(0, most - row.known));
  if (added.length > 0)
    tx.insert(
      KNOWN,
      added.flatMap(digest => [run, digest]),
    );
  tx.defer('UPDATE runs SET known = known + $2, dropped = dropped + $3 WHERE number = $1', [
    run,
    added.length,
    fresh.length - added.length,
  ]);
  return added.length === fresh.length;
}

/** How many values the runs of a key know together, ended runs included that are not removed yet. */
export async function countKnownOf(db: Queries, keyId: string): Promise<number> {
  const [row] = await db.all<{ known: number | null }>(
    'SELECT CAST(SUM(known) AS bigint) AS known FROM runs WHERE key_id = $1',
    [keyId],
  );
  return row?.known ?? 0;
}

/** Counts values for which a run has no room. */
export async function countDropped(tx: Transaction, run: number, count: number): Promise<void> {
  await tx.run('UPDATE runs SET dropped = dropped + $2 WHERE number = $1', [run, count]);
}

async function unknownAmong(tx: Queries, run: number, digests: readonly string[]): Promise<string[]> {
  const different = [...new Set(digests)];
  const found = await findKnown(
    tx,
    different.map(digest => ({ run, digest })),
  );
  const known = new Set(found.map(({ digest }) => digest));
  return different.filter(digest => !known.has(digest));
}

export interface ReportedCall {
  run: number;
  call: string;
  toolCallId: string;
  /** Whether its result makes values known. */
  trusted: boolean;
}

const CALLS = into(
  'run_calls',
  { run: 'bigint', call: 'text', tool_call_id: 'text', trusted: 'bigint' },
  'ON CONFLICT DO NOTHING',
);

export function insertCalls(tx: Transaction, calls: readonly ReportedCall[]): void {
  tx.insert(
    CALLS,
    calls.flatMap(({ run, call, toolCallId, trusted }) => [run, call, toolCallId, trusted ? 1 : 0]),
  );
}

/**
 * Takes a call of this name whose result has not been reported, and says whether the result makes values known. Nobody tells
 * to which of several calls it belongs, so none does while one of them is not trusted. Trusted ones are taken first: then
 * those that are not trusted never have fewer rows here than calls under way. Null if there is no such call.
 */
export async function takeCall(
  tx: Transaction,
  run: number,
  call: string,
): Promise<{ toolCallId: string; trusted: boolean } | null> {
  const [waiting] = await tx.all<{ trusted: string | null; untrusted: string | null }>(
    `SELECT min(CASE WHEN COALESCE(trusted, 1) = 1 THEN tool_call_id END) AS trusted,
       min(CASE WHEN trusted = 0 THEN tool_call_id END) AS untrusted
     FROM run_calls WHERE run = $1 AND call = $2`,
    [run, call],
  );
  const { trusted = null, untrusted = null } = waiting ?? {};
  const taken = trusted ?? untrusted;
  if (taken === null) return null;
  const deleted = await tx.run('DELETE FROM run_calls WHERE run = $1 AND call = $2 AND tool_call_id = $3', [
    run,
    call,
    taken,
  ]);
  return deleted === 1 ? { toolCallId: taken, trusted: untrusted === null } : null;
}
