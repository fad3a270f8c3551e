// The sources from which `toolgate audit verify` reads a sealed log: the SQLite store or PostgreSQL, read page by page and
// without a snapshot: a log only grows, and verifying must not slow the service down. exported-log.ts reads files.

import { sealedEntry } from '../core/log/entry.ts';
import type { Place } from '../core/log/log-verifier.ts';
import type { Queries } from '../store/engine/db.ts';
import { openPostgres } from '../store/engine/postgres.ts';
import { readSqlite } from '../store/engine/sqlite.ts';
import { listCheckpoints } from '../store/log/checkpoints.ts';
import { listSealed, listUnsealed, sealedSize } from '../store/log/seals.ts';
import { CliError, EXIT } from './exit.ts';

export interface SealedSource {
  /** How much there is to read: places of a store or bytes of a file. */
  total: number;
  unit: 'entries' | 'bytes';
  /** The checkpoints that are kept with the log; null if there are none. */
  notes: () => Promise<string[] | null>;
  /** Pages of places, and how much of `total` is read after each. */
  places: () => AsyncGenerator<{ page: Place[]; reached: number }>;
  /** Pages of the ids of entries that have no place. */
  unsealed: () => AsyncGenerator<string[]>;
  close: () => Promise<void>;
}

const PAGE = 1000;

export async function openStoreLog(url: string): Promise<SealedSource> {
  const sqlite = url.startsWith('sqlite:');
  try {
    const db = sqlite ? readSqlite(url.slice('sqlite:'.length)) : await openPostgres(url, 1);
    return {
      total: await sealedSize(db),
      unit: 'entries',
      notes: () => allNotes(db),
      places: () => storedPlaces(db),
      unsealed: () => unsealedIds(db),
      close: () => db.close(),
    };
  } catch (error) {
    const why = (error as Error).message;
    throw new CliError(EXIT.noAnswer, `The sealed log cannot be read: ${why}`, { cause: error });
  }
}

async function allNotes(db: Queries): Promise<string[]> {
  const notes: string[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const rows = await listCheckpoints(db, PAGE, before);
    notes.push(...rows.map(row => row.note));
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return notes.reverse();
    before = last.number;
  }
}

async function* storedPlaces(db: Queries): AsyncGenerator<{ page: Place[]; reached: number }> {
  let from = 0;
  for (;;) {
    const rows = await listSealed(db, from, PAGE);
    const last = rows.at(-1);
    if (last === undefined) return;
    from = last.seq + 1;
    yield { page: rows.map(row => ({ ...row, entry: row.entry && sealedEntry(row.entry) })), reached: from };
  }
}

async function* unsealedIds(db: Queries): AsyncGenerator<string[]> {
  let after = '';
  for (;;) {
    const { ids, end } = await listUnsealed(db, after, PAGE);
    yield ids;
    if (end === null) return;
    after = end;
  }
}
