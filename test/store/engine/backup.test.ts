// A backup that fails leaves nothing behind, and says what was in its way.

import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { existsSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backupSqlite } from '../../../src/store/engine/backup.ts';
import { newDataDir } from '../../support/faults.ts';
import { openStore } from '../stores.ts';

const folder = newDataDir();
afterAll(() => rmSync(folder, { recursive: true }));

test('a copy is for its owner alone, and never replaces a file', async () => {
  const store = await openStore('sqlite');
  const target = join(folder, 'copy.db');
  const bytes = backupSqlite(store.url.replace('sqlite:', ''), target);
  expect(statSync(target)).toMatchObject({ size: bytes, mode: 0o100600 });
  expect(() => backupSqlite(store.url.replace('sqlite:', ''), target)).toThrow('is there already');
  const nowhere = join(folder, 'missing/copy.db');
  expect(() => backupSqlite(store.url.replace('sqlite:', ''), nowhere)).toThrow('its folder is not there');
  await store.close();
});

/** Other tests of this process may close a file between the two calls; so does the listing its own. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}

test.if(existsSync('/proc/self/fd'))('a refusal keeps no file open', () => {
  const [source, target] = [join(folder, 'source.db'), join(folder, 'closed.db')];
  const db = new Database(source);
  db.run('CREATE TABLE things (id integer)');
  db.close();
  writeFileSync(target, '');
  expect(() => backupSqlite(source, target)).toThrow('is there already');
  expect(openFiles().filter(file => file.startsWith(folder))).toEqual([]);
});

test.if(existsSync('/sys/kernel'))('a place where nobody may write is told as such', async () => {
  const store = await openStore('sqlite');
  expect(() => backupSqlite(store.url.replace('sqlite:', ''), '/sys/copy.db')).toThrow(
    '/sys/copy.db cannot be made: this user may not write there.',
  );
  await store.close();
});

test('what is no store leaves no copy', () => {
  const [source, target] = [join(folder, 'letter.txt'), join(folder, 'letter.db')];
  writeFileSync(source, 'No database at all.'.repeat(100));
  expect(() => backupSqlite(source, target)).toThrow('not a database');
  expect(existsSync(target)).toBe(false);
});
