// Compares millions of verdicts with the audit log, by the last 64 bits of their ids: these are random, and short
// enough to be sorted in memory.

import { readFileSync } from 'node:fs';
import { sql } from '../../test/support/faults.ts';

const ID_BYTES = 16;
const PAGE = 50_000;

export interface Compared {
  verdicts: number;
  /** Ids that were given to more than one check. */
  twice: number;
  /** Verdicts that are missing from the log. */
  missing: number;
}

export async function againstLog(idFile: string, databaseUrl: string): Promise<Compared> {
  const bytes = readFileSync(idFile);
  const given = new BigUint64Array(bytes.length / ID_BYTES);
  for (let index = 0; index < given.length; index++)
    given[index] = bytes.readBigUInt64BE(index * ID_BYTES + ID_BYTES / 2);
  given.sort();
  const logged = await entries(databaseUrl);
  let [twice, missing, at] = [0, 0, 0];
  given.forEach((id, index) => {
    if (index > 0 && given[index - 1] === id) twice++;
    while (at < logged.length && (logged[at] as bigint) < id) at++;
    if (logged[at] !== id) missing++;
  });
  return { verdicts: given.length, twice, missing };
}

/** Reads the log in pages, so that it may have any length. */
async function entries(databaseUrl: string): Promise<BigUint64Array> {
  const [row] = await sql<{ count: number }>(databaseUrl, 'SELECT count(*) AS count FROM audit');
  const found = new BigUint64Array(Number(row?.count));
  let at = 0;
  for (let after = ''; ; ) {
    const page = await sql<{ id: string }>(
      databaseUrl,
      `SELECT id FROM audit WHERE id > '${after}' ORDER BY id LIMIT ${PAGE}`,
    );
    for (const { id } of page) found[at++] = BigInt(`0x${id.slice(19).replace('-', '')}`);
    const last = page.at(-1);
    if (last === undefined) return found.sort();
    after = last.id;
  }
}
