// Reads a sealed log from files: an export made by `toolgate audit export --sealed`, or the lines that were shipped to a
// receiver, such as the objects of a bucket in a folder. Files may be compressed with gzip.

import { createReadStream, readdirSync, type Stats, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { entryLeaf } from '../core/log/entry.ts';
import type { Place } from '../core/log/log-verifier.ts';
import { isObject, parseJson } from '../core/wire/json.ts';
import { CliError, EXIT } from './exit.ts';
import type { SealedSource } from './sealed-source.ts';

/** A place, and whether its line was shipped, which may have happened more than once. */
interface ReadPlace {
  place: Place;
  shipped: boolean;
}

interface LogFile {
  /** The path as messages show it. */
  shown: string;
  path: string;
  size: number;
}

const PAGE = 1000;
const LOG_FILE = /\.(?:jsonl|ndjson)(?:\.gz)?$/;
/** Shipping repeats at most a batch after a failure; repeats of more places than this count as changes. */
const REPEATED = 20_000;

/** `shown` is the path as it was given: a file, or a folder whose files are read in the order of their names. */
export function openExportedLog(shown: string, path: string): SealedSource {
  const files = logFiles(shown, path);
  return {
    total: files.reduce((sum, { size }) => sum + size, 0),
    unit: 'bytes',
    notes: async () => null,
    places: () => places(files),
    unsealed: async function* () {},
    close: async () => {},
  };
}

function logFiles(shown: string, path: string): LogFile[] {
  const found = stat(shown, path);
  if (!found.isDirectory()) return [{ shown, path, size: found.size }];
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter(name => LOG_FILE.test(name));
  if (names.length === 0)
    throw new CliError(EXIT.noAnswer, `${shown} has no files that end with .jsonl, .ndjson or their .gz.`);
  // Objects are named after their places in the log, and lie in folders by hour. An entry that was sealed late lies in an
  // earlier hour, so the folders do not count for the order.
  names.sort((a, b) => order(basename(a), basename(b)) || order(a, b));
  return names.map(name => {
    const file = { shown: join(shown, name), path: join(path, name) };
    return { ...file, size: stat(file.shown, file.path).size };
  });
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function stat(shown: string, path: string): Stats {
  try {
    return statSync(path);
  } catch {
    throw new CliError(EXIT.noAnswer, `${shown} cannot be read: there is no such file.`);
  }
}

async function* places(files: readonly LogFile[]): AsyncGenerator<{ page: Place[]; reached: number }> {
  const isRepeat = repeats();
  let page: Place[] = [];
  let reached = 0;
  for (const file of files) {
    for await (const { place, shipped } of placesIn(file)) {
      if (!shipped || !isRepeat(place)) page.push(place);
      if (page.length < PAGE) continue;
      yield { page, reached };
      page = [];
    }
    reached += file.size;
  }
  yield { page, reached };
}

async function* placesIn({ shown, path }: LogFile): AsyncGenerator<ReadPlace> {
  const bytes = createReadStream(path);
  const plain = path.endsWith('.gz') ? bytes.pipe(createGunzip()) : bytes;
  const lines = createInterface({ input: plain, crlfDelay: Number.POSITIVE_INFINITY });
  let number = 0;
  try {
    for await (const line of lines) {
      number++;
      if (line.trim() !== '') yield placeIn(line, `${shown}:${number}`);
    }
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw new CliError(EXIT.noAnswer, `${shown} cannot be read: it is damaged or cut short.`, { cause });
  }
}

function placeIn(line: string, where: string): ReadPlace {
  let value: unknown = null;
  try {
    // Parsing is strict: if a field were there twice, a reader could see the value that was not verified.
    value = parseJson(line);
  } catch {}
  const sealed = isObject(value) ? sealedPlace(value) : null;
  if (sealed !== null) return { place: sealed, shipped: false };
  const shipped = isObject(value) ? shippedPlace(value) : null;
  if (shipped !== null) return { place: shipped, shipped: true };
  throw new CliError(
    EXIT.noAnswer,
    `${where} is not a line of a sealed export (audit export --sealed), nor one that was shipped in the schema native.`,
  );
}

function sealedPlace({ seq, leafHash, entry }: Record<string, unknown>): Place | null {
  if (!Number.isSafeInteger(seq) || typeof leafHash !== 'string' || typeof entry !== 'object') return null;
  const id = (entry as { id?: unknown } | null)?.id;
  return { seq: seq as number, leafHash, entry, entryId: typeof id === 'string' ? id : null };
}

/** A shipped line has no hash: whether it is the entry that was sealed, the roots of the checkpoints show. */
function shippedPlace({ seq, ...entry }: Record<string, unknown>): Place | null {
  const { id, at } = entry;
  if (!Number.isSafeInteger(seq) || typeof id !== 'string' || typeof at !== 'string') return null;
  const leafHash = Buffer.from(entryLeaf(entry)).toString('base64');
  return { seq: seq as number, leafHash, entry, entryId: id };
}

/** Says whether a place was there before with the same entry, among the last ones. */
function repeats(): (place: Place) => boolean {
  const known = new Map<number, string>();
  return ({ seq, leafHash }) => {
    if (known.get(seq) === leafHash) return true;
    if (!known.has(seq)) known.set(seq, leafHash);
    if (known.size > REPEATED) known.delete(known.keys().next().value as number);
    return false;
  };
}
