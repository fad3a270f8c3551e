// The write-ahead log of SQLite is moved into the file beside the commits: it does not grow without end although they never
// pause, nothing is lost, and a file that could not be synced ends the process.

import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '../../src/store/sqlite.ts';
import { inject, newDataDir } from '../support/faults.ts';
import { need } from '../support/need.ts';

const folder = newDataDir();
afterAll(() => rmSync(folder, { recursive: true }));

const LARGE = 'x'.repeat(300_000);
const MEGABYTE = 1 << 20;

test('the log begins again while transactions follow each other without a pause', async () => {
  const path = join(folder, 'busy.db');
  const db = openSqlite(path, error => {
    throw error;
  });
  await db.run('CREATE TABLE rows (id integer, text text)');
  let longest = 0;
  const write = async (from: number) => {
    for (let id = from; id < from + 80; id++) {
      await db.run('INSERT INTO rows VALUES ($1, $2)', [id, LARGE]);
      longest = Math.max(longest, statSync(`${path}-wal`).size);
    }
  };
  await Promise.all([write(0), write(1000), write(2000), write(3000)]);
  expect(await db.all('SELECT count(*) AS n FROM rows')).toEqual([{ n: 320 }]);
  await db.close();
  // They wrote 94 MB. Moving begins at 32, and those that commit meanwhile add some.
  expect(longest).toBeLessThan(70 * MEGABYTE);
  expect(existsSync(`${path}-wal`)).toBe(false);
  const copy = new Database(path, { readonly: true });
  expect(copy.query('SELECT count(*) AS n, sum(length(text)) AS length FROM rows').get()).toEqual({
    n: 320,
    length: 320 * LARGE.length,
  });
  copy.close();
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

test.skipIf(!need(Bun.which('strace') !== null, 'strace'))(
  'a file that cannot be synced after the log was moved into it ends the process',
  async () => {
    const source = join(import.meta.dirname, '../../src/store/sqlite.ts');
    const child = Bun.spawn([process.execPath, '-e', WRITING, source, join(folder, 'unsynced.db')], {
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
