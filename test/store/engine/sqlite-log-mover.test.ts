// The write-ahead log of SQLite is moved into the file beside the commits: it does not grow without end although they never
// pause, nothing is lost, and a file that could not be synced ends the process.

import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '../../../src/store/engine/sqlite.ts';
import { LogMover } from '../../../src/store/engine/sqlite-log-mover.ts';
import { canTrace, inject, newDataDir, until } from '../../support/faults.ts';
import { need } from '../../support/need.ts';
import { collect } from '../../support/service.ts';

const folder = newDataDir();
afterAll(() => rmSync(folder, { recursive: true }));

const LARGE = 'x'.repeat(300_000);
/**
 * Moving begins at 32 MB, and the log begins again when all of it is moved. How much is written meanwhile depends on the
 * machine: 30 MB on an idle one, and the rest of 300 MB is for a busy one.
 */
const MOST_ROWS = 1000;
const MEGABYTE = 1 << 20;

/** How often a log has begun again: SQLite counts it in the log's header. */
function beginnings(path: string): number {
  const header = Buffer.alloc(16);
  const file = openSync(`${path}-wal`, 'r');
  readSync(file, header);
  closeSync(file);
  return header.readUInt32BE(12);
}

test('the log begins again while transactions follow each other without a pause', async () => {
  const path = join(folder, 'busy.db');
  const db = openSqlite(path, error => {
    throw error;
  });
  await db.run('CREATE TABLE rows (id integer, text text)');
  const before = beginnings(path);
  let written = 0;
  const write = async () => {
    while (beginnings(path) === before && written < MOST_ROWS)
      await db.run('INSERT INTO rows VALUES ($1, $2)', [written++, LARGE]);
  };
  await Promise.all([write(), write(), write(), write()]);
  expect(beginnings(path)).toBeGreaterThan(before);
  expect(await db.all('SELECT count(*) AS n FROM rows')).toEqual([{ n: written }]);
  await db.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
  const copy = new Database(path, { readonly: true });
  expect(copy.query('SELECT count(*) AS n, sum(length(text)) AS length FROM rows').get()).toEqual({
    n: written,
    length: written * LARGE.length,
  });
  copy.close();
});

/**
 * What happens between transactions, where the log has so many unmoved pages each time that somebody looks: another look, or
 * 'moved'.
 */
async function betweenTransactions(unmoved: (number | Error)[]): Promise<unknown[]> {
  const path = join(folder, 'watched.db');
  new Database(path).close();
  const seen: unknown[] = [];
  const mover = new LogMover(path, {
    unmovedPages: () => {
      const pages = unmoved.shift() ?? 0;
      if (pages instanceof Error) throw pages;
      return pages;
    },
    between: async work => {
      const result = await work();
      seen.push(result ?? 'moved');
      return result;
    },
    look: () => null,
    notSynced: error => seen.push(error),
    moving: failure => seen.push(failure),
  });
  for (let commit = 0; commit < 64; commit++) mover.committed();
  await mover.close();
  return seen;
}

test('transactions wait only for few pages, and not while a reader from outside needs the log', async () => {
  expect(await betweenTransactions([8191])).toEqual([]);
  expect(await betweenTransactions([8192, 500])).toEqual([500, 'moved']);
  expect(await betweenTransactions([30_000, 9000, 3000, 900])).toEqual([9000, 3000, 900, 'moved']);
  // The disk is not faster than the commits, which have to wait for it.
  expect(await betweenTransactions([9000, 4000, 3900])).toEqual([4000, 3900, 'moved']);
  expect(await betweenTransactions([30_000, 30_100])).toEqual([30_100]);
});

test('a commit does not fail because the log cannot be looked at, but that is told', async () => {
  const error = new Error('disk I/O error');
  expect(await betweenTransactions([error])).toEqual([error]);
});

/** Writes into a store once it is told to, until the store says that a write may not be durable. */
const WRITING = `
  const { openSqlite } = await import(process.argv[1]);
  const db = openSqlite(process.argv[2], error => {
    console.log(error.message);
    process.exit(70);
  });
  await db.run('CREATE TABLE rows (text text)');
  console.log('ready');
  for await (const _ of console) break;
  for (let id = 0; id < 200; id++) await db.run('INSERT INTO rows VALUES ($1)', ['x'.repeat(${LARGE.length})]);
`;

const SOURCE = join(import.meta.dirname, '../../../src/store/engine/sqlite.ts');
const TRACED = need(canTrace(), 'strace, and the right to trace');

/** Writes lines until it is told to stop. */
const TELLING = `
  const { openSqlite } = await import(process.argv[1]);
  const db = openSqlite(process.argv[2], error => { throw error; }, failure => console.log(failure?.code ?? 'again'));
  await db.run('CREATE TABLE rows (text text)');
  console.log('ready');
  let isAsked = false;
  console[Symbol.asyncIterator]().next().then(() => { isAsked = true; });
  while (!isAsked) await db.run('INSERT INTO rows VALUES ($1)', ['x'.repeat(${LARGE.length})]);
  console.log(db.moveErrors);
  process.exit(0);
`;
test.skipIf(!TRACED)(
  'a file that cannot be synced after the log was moved into it ends the process',
  async () => {
    const child = Bun.spawn([process.execPath, '-e', WRITING, SOURCE, join(folder, 'unsynced.db')], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const output = child.stdout.getReader();
    expect(Buffer.from((await output.read()).value ?? '').toString()).toBe('ready\n');
    // SQLite calls fsync, and the thread that syncs commits calls fdatasync, which goes on to succeed.
    const end = await inject(child.pid, 'fsync:error=EIO');
    child.stdin.write('\n');
    await child.stdin.end();
    expect(Buffer.from((await output.read()).value ?? '').toString()).toContain(
      'failed to make a write durable',
    );
    expect(await child.exited).toBe(70);
    await end();
  },
);

test.skipIf(!TRACED)(
  'a log that cannot be moved is told once, commits go on, and so is that it can again',
  async () => {
    const path = join(folder, 'unmoved.db');
    const child = Bun.spawn([process.execPath, '-e', TELLING, SOURCE, path], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const told = { text: '' };
    const telling = collect(child.stdout, told);
    await until('it writes', () => told.text === 'ready\n');
    // SQLite writes to the file itself only when the log is moved.
    const end = await inject(child.pid, 'pwrite64:error=EIO', path);
    await until('it is told', () => told.text !== 'ready\n');
    const length = statSync(`${path}-wal`).size;
    await until('commits go on', () => statSync(`${path}-wal`).size > length + 64 * MEGABYTE);
    await end();
    await until('the log is moved', () => told.text.endsWith('again\n'));
    child.stdin.write('\n');
    await child.stdin.end();
    expect(await child.exited).toBe(0);
    await telling;
    const [, , , errors] = told.text.split('\n');
    expect(told.text).toBe(`ready\nSQLITE_IOERR_WRITE\nagain\n${errors}\n`);
    expect(Number(errors)).toBeGreaterThan(1);
  },
);
