// The sources from which `toolgate audit verify` reads a sealed log: the SQLite store, PostgreSQL, or an export. They
// are read page by page and without a snapshot: a log only grows, and verifying must not slow the service down.

import { createReadStream, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { shownEntry } from '../core/entry.ts';
import { parseJson } from '../core/json.ts';
import type { Place } from '../core/log-verifier.ts';
import { listCheckpoints } from '../store/checkpoints.ts';
import type { Queries } from '../store/db.ts';
import { openPostgres } from '../store/postgres.ts';
import { listSealed, listUnsealed, sealedSize } from '../store/seals.ts';
import { readSqlite } from '../store/sqlite.ts';
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
    yield { page: rows.map(row => ({ ...row, entry: row.entry && shownEntry(row.entry) })), reached: from };
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

/** An export made by `toolgate audit export --sealed`. */
export function openExportedLog(shown: string, path: string): SealedSource {
  let total: number;
  try {
    total = statSync(path).size;
  } catch {
    throw new CliError(EXIT.noAnswer, `${shown} cannot be read: there is no such file.`);
  }
  return {
    total,
    unit: 'bytes',
    notes: async () => null,
    places: () => exportedPlaces(shown, path),
    unsealed: async function* () {},
    close: async () => {},
  };
}

async function* exportedPlaces(
  shown: string,
  path: string,
): AsyncGenerator<{ page: Place[]; reached: number }> {
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
  let page: Place[] = [];
  let reached = 0;
  let number = 0;
  for await (const line of lines) {
    number++;
    reached += Buffer.byteLength(line) + 1;
    if (line.trim() !== '') page.push(placeIn(line, `${shown}:${number}`));
    if (page.length < PAGE) continue;
    yield { page, reached };
    page = [];
  }
  yield { page, reached };
}

function placeIn(line: string, where: string): Place {
  let value: Partial<Place> | null = null;
  try {
    // Parsing is strict: if a field were there twice, a reader could see the value that was not verified.
    value = parseJson(line) as Partial<Place> | null;
  } catch {}
  const { seq, leafHash, entry } = value ?? {};
  if (!Number.isSafeInteger(seq) || typeof leafHash !== 'string' || typeof entry !== 'object') {
    throw new CliError(EXIT.noAnswer, `${where} is not a line of a sealed export (audit export --sealed).`);
  }
  const id = (entry as { id?: unknown } | null)?.id;
  return { seq: seq as number, leafHash, entry, entryId: typeof id === 'string' ? id : null };
}
