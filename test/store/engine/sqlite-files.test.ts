// Whoever removes, moves, replaces or overwrites a file of an open SQLite store ends the process that has it open, before
// anything more is answered into a file that nobody will find. What SQLite itself allows others does not.

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { backupSqlite } from '../../../src/store/engine/backup.ts';
import { type Db, FatalStoreError } from '../../../src/store/engine/db.ts';
import { openSqlite } from '../../../src/store/engine/sqlite.ts';
import { newDataDir, until } from '../../support/faults.ts';
import { refusal } from '../../support/refusal.ts';

const folder = newDataDir();
afterAll(() => rmSync(folder, { recursive: true }));

interface Opened {
  path: string;
  db: Db;
  fatal: Error[];
}

let stores = 0;

async function opened(): Promise<Opened> {
  const path = join(folder, `${stores++}.db`);
  const fatal: Error[] = [];
  const db = openSqlite(path, error => fatal.push(error));
  await db.run('CREATE TABLE rows (id integer, text text)');
  await put(db, 'before');
  return { path, db, fatal };
}

const put = (db: Db, text: string): Promise<number> => db.run('INSERT INTO rows VALUES (1, $1)', [text]);

/** Another file under the same name, with the same content. */
function replace(path: string): void {
  copyFileSync(path, `${path}.other`);
  renameSync(`${path}.other`, path);
}

const LARGE = 'x'.repeat(300_000);

/** What is done to the files, and of which file the error speaks. */
const TOUCHED: Record<string, [end: string, touch: (path: string) => void]> = {
  'the database is removed': ['', path => rmSync(path)],
  'its log is removed': ['-wal', path => rmSync(`${path}-wal`)],
  'the index of its log is removed': ['-shm', path => rmSync(`${path}-shm`)],
  'the database is moved': ['', path => renameSync(path, `${path}.moved`)],
  'the database is replaced': ['', replace],
  'its log is replaced': ['-wal', path => replace(`${path}-wal`)],
  'the index of its log is replaced': ['-shm', path => replace(`${path}-shm`)],
  'a backup is copied over the database': [
    '',
    path => {
      backupSqlite(path, `${path}.backup`);
      writeFileSync(path, readFileSync(`${path}.backup`));
    },
  ],
  'the database is cut short': ['', path => truncateSync(path, 100)],
  'its log is emptied': ['-wal', path => truncateSync(`${path}-wal`)],
  'another log is copied over its log': [
    '-wal',
    path => {
      const log = readFileSync(`${path}-wal`);
      writeFileSync(`${path}-wal`, log.fill(1, 16, 24));
    },
  ],
};

describe('no commit is answered, and nothing is read any more, after', () => {
  for (const [name, [end, touch]] of Object.entries(TOUCHED)) {
    test(name, async () => {
      const { path, db, fatal } = await opened();
      touch(path);
      const refused = await refusal(put(db, 'after'));
      expect(refused).toBeInstanceOf(FatalStoreError);
      expect(String(refused)).toContain(`${path}${end} was `);
      // The look of every second may have noticed it too.
      expect(fatal).toContain(refused as Error);
      expect(await refusal(db.all('SELECT 1'))).toBeInstanceOf(FatalStoreError);
      await db.close();
    });
  }
});

test('it is noticed although nothing is committed', async () => {
  const { path, db, fatal } = await opened();
  rmSync(path);
  await until('it is noticed', () => fatal.length > 0);
  expect(String(fatal[0])).toContain('removed, moved or replaced');
  await db.close();
});

test('it is noticed before a store is closed', async () => {
  const { path, db, fatal } = await opened();
  rmSync(path);
  await db.close();
  expect(fatal.length).toBeGreaterThan(0);
});

test('the log is not moved into a file that was put in the place of the store', async () => {
  const { path, db, fatal } = await opened();
  await db.transaction({}, async tx => {
    for (let row = 0; row < 120; row++) tx.defer('INSERT INTO rows VALUES (2, $1)', [LARGE]);
  });
  backupSqlite(path, `${path}.backup`);
  const commits = Array.from({ length: 80 }, (_, index) => put(db, String(index)).catch(() => {}));
  renameSync(path, `${path}.moved`);
  copyFileSync(`${path}.backup`, path);
  await Promise.all(commits);
  expect(fatal.length).toBeGreaterThan(0);
  await db.close();
  expect(readFileSync(path).equals(readFileSync(`${path}.backup`))).toBe(true);
});

test('a program from outside may read, write, and move the log', async () => {
  const { path, db, fatal } = await opened();
  const other = new Database(path);
  other.exec("INSERT INTO rows VALUES (3, 'from outside')");
  other.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
  expect(statSync(`${path}-wal`).size).toBe(0);
  await put(db, 'after');
  other.close();
  expect(await db.all('SELECT text FROM rows ORDER BY id, text')).toEqual([
    { text: 'after' },
    { text: 'before' },
    { text: 'from outside' },
  ]);
  await db.close();
  expect(fatal).toEqual([]);
});

test('a backup may be used as a store without being restored', async () => {
  const { path: source, db: first } = await opened();
  const path = `${source}.used`;
  backupSqlite(source, path);
  await first.close();
  const fatal: Error[] = [];
  const db = openSqlite(path, error => fatal.push(error));
  await put(db, 'after');
  const other = new Database(path);
  other.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
  other.close();
  // SQLite takes the checksum behind the last page for the beginning of another one.
  await put(db, 'again');
  await db.close();
  expect(fatal).toEqual([]);
});

/** The files that a process leaves when it is killed. */
async function left(): Promise<string> {
  const { path, db } = await opened();
  const copy = `${path}.left`;
  for (const end of ['', '-wal']) copyFileSync(`${path}${end}`, `${copy}${end}`);
  await db.close();
  return copy;
}

describe('a log that does not belong to the file beside it is neither removed nor applied', () => {
  test('the file is gone', async () => {
    const path = await left();
    renameSync(path, `${path}.moved`);
    expect(() => openSqlite(path, () => {})).toThrow('is missing or empty');
    renameSync(`${path}.moved`, path);
    const db = openSqlite(path, () => {});
    expect(await db.all('SELECT text FROM rows')).toEqual([{ text: 'before' }]);
    await db.close();
  });

  test('a backup is in its place', async () => {
    const path = await left();
    const { path: other, db } = await opened();
    backupSqlite(other, `${path}.backup`);
    await db.close();
    renameSync(`${path}.backup`, path);
    expect(() => openSqlite(path, () => {})).toThrow('is a backup that was put in its place');
    rmSync(`${path}-wal`);
    const restored = openSqlite(path, () => {});
    expect(await restored.all('SELECT text FROM rows')).toEqual([{ text: 'before' }]);
    await restored.close();
  });
});
