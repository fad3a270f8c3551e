// One SQLite file serves one process: a second is refused, whatever it calls the file, and a killed one leaves
// nothing in the way. The files are for their owner alone.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import {
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Db, FatalStoreError, StoreError, UniqueViolation } from '../../../src/store/engine/db.ts';
import { openSqlite, readSqlite } from '../../../src/store/engine/sqlite.ts';
import { newDataDir, until } from '../../support/faults.ts';
import { need } from '../../support/need.ts';
import { refusal } from '../../support/refusal.ts';
import { failToStart, startService } from '../../support/service.ts';
import { openStore } from '../stores.ts';

test('a second process is refused in clear words while the first goes on, and starts after kill -9', async () => {
  const first = await startService();
  const { databaseUrl, dataDir } = first;
  const { key } = await first.newKey([{ tool: '*', action: 'allow' }]);
  const verdict = await first.check(key, 's', 't');

  const refused = await failToStart({ databaseUrl, dataDir });
  expect(refused).toContain(`Another process has ${join(dataDir, 'toolgate.db')} open`);
  expect(refused).toContain('TOOLGATE_DATABASE_URL=postgres://');
  expect((await first.check(key, 's', 't')).body.decision).toBe('allow');

  await first.kill('SIGKILL');
  const second = await startService({ databaseUrl, dataDir });
  const { entries } = (await second.admin('GET', '/audit')).body;
  expect(entries.map((entry: { id: string }) => entry.id)).toContain(verdict.body.toolCallId);
  await second.kill('SIGTERM');
  await first.close();
});

test('a start waits for a reader from outside that holds the file for a moment', async () => {
  const first = await startService();
  const { databaseUrl, dataDir } = first;
  const path = join(dataDir, 'toolgate.db');
  await first.kill('SIGKILL');
  const reader = new Database(path);
  reader.exec('PRAGMA locking_mode = EXCLUSIVE');
  reader.exec('BEGIN EXCLUSIVE');
  const starting = startService({ databaseUrl, dataDir });
  // How long the reader takes: a start comes to the file meanwhile, and waits for five times as long.
  await Bun.sleep(2000);
  reader.close();
  await (await starting).kill('SIGTERM');
  await first.close();
});

test('a second handle in the same process is refused too', async () => {
  const store = await openStore('sqlite');
  expect(String(await refusal(store.again()))).toContain('Another process has');
  await store.close();
});

test('a hard link does not start a second service on a live store, nor on one that was killed', async () => {
  const first = await startService();
  const { databaseUrl, dataDir } = first;
  const other = join(dataDir, 'other');
  mkdirSync(other);
  linkSync(join(dataDir, 'toolgate.db'), join(other, 'toolgate.db'));
  const linked = { databaseUrl: `sqlite:${join(other, 'toolgate.db')}`, dataDir: other };
  expect(await failToStart(linked)).toContain('has 2 names (hard links)');
  await first.kill('SIGKILL');
  // What was last committed lies in the write-ahead log beside the first name.
  expect(await failToStart(linked)).toContain('remove the other names');
  rmSync(other, { recursive: true });
  await (await startService({ databaseUrl, dataDir })).kill('SIGTERM');
  await first.close();
});

test.skipIf(!need(process.platform === 'linux', 'a lock on an open file, which Linux has'))(
  'a live store that was moved is refused under its new name',
  async () => {
    const first = await startService();
    const elsewhere = newDataDir();
    // Otherwise it notices that its store was moved, and ends.
    first.process.kill('SIGSTOP');
    renameSync(join(first.dataDir, 'toolgate.db'), join(elsewhere, 'moved.db'));
    const moved = { databaseUrl: `sqlite:${join(elsewhere, 'moved.db')}`, dataDir: elsewhere };
    expect(await failToStart(moved)).toContain(`Another process has ${join(elsewhere, 'moved.db')} open`);
    await first.kill('SIGKILL');
    await (await startService(moved)).kill('SIGTERM');
    rmSync(elsewhere, { recursive: true });
    await first.close();
  },
);

test('a symbolic link leads to the file: it serves, and the file is taken by its own name too', async () => {
  const dataDir = newDataDir();
  const real = join(dataDir, 'real');
  mkdirSync(real);
  symlinkSync(join(real, 'store.db'), join(dataDir, 'dangling.db'));
  const dangling = await failToStart({ databaseUrl: `sqlite:${join(dataDir, 'dangling.db')}`, dataDir });
  expect(dangling).toContain('a link that leads nowhere');

  const made = await startService({ databaseUrl: `sqlite:${join(real, 'store.db')}`, dataDir });
  const { key } = await made.newKey([{ tool: '*', action: 'allow' }]);
  await made.kill('SIGTERM');
  const service = await startService({ databaseUrl: `sqlite:${join(dataDir, 'dangling.db')}`, dataDir });
  expect((await service.check(key, 's', 't')).body.decision).toBe('allow');
  const refused = await failToStart({ databaseUrl: `sqlite:${join(real, 'store.db')}`, dataDir });
  expect(refused).toContain('Another process has');
  await service.kill('SIGTERM');
  rmSync(dataDir, { recursive: true });
});

test('the store’s files are for their owner alone, whatever the umask says', async () => {
  const before = process.umask(0);
  const service = await startService();
  process.umask(before);
  await service.newKey([]);
  const modes = ['toolgate.db', 'toolgate.db-wal', 'toolgate.db-shm', 'toolgate.db.lock'].map(file => [
    file,
    (statSync(join(service.dataDir, file)).mode & 0o777).toString(8),
  ]);
  expect(modes.filter(([, mode]) => mode !== '600')).toEqual([]);
  await service.close();
});

test('the file is in WAL mode', async () => {
  const service = await startService();
  const reader = new Database(join(service.dataDir, 'toolgate.db'), { readonly: true });
  expect(reader.query('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  reader.close();
  await service.close();
});

test('a read that fails while a sync is due fails only for the caller that asked', async () => {
  const { db, close } = await openStore('sqlite');
  const unhandled: unknown[] = [];
  const take = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', take);
  let writing = true;
  const written = (async () => {
    for (let each = 0; each < 20; each++) {
      await db.run("INSERT INTO settings (name, value) VALUES ($1, '')", [`setting ${each}`]);
    }
    writing = false;
  })();
  while (writing) {
    expect(String(await refusal(db.all('SELECT 1 FROM nowhere')))).toContain('nowhere');
    await new Promise(setImmediate);
  }
  await written;
  process.off('unhandledRejection', take);
  expect(unhandled).toEqual([]);
  await close();
});

/** The descriptors of this process by which a store syncs its log: SQLite writes to it through others. */
function syncing(path: string): number[] {
  return readdirSync('/proc/self/fd').flatMap(descriptor => {
    try {
      const reads = /^flags:\s+\d*0$/m.test(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'));
      return reads && readlinkSync(`/proc/self/fd/${descriptor}`) === `${path}-wal`
        ? [Number(descriptor)]
        : [];
    } catch {
      return [];
    }
  });
}

const ON_LINUX = need(process.platform === 'linux', 'the folder /proc, which Linux has');
const put = (db: { run(sql: string, params: string[]): Promise<number> }, name: string) =>
  db.run("INSERT INTO settings (name, value) VALUES ($1, '')", [name]);
const pathOf = ({ url }: { url: string }) => url.replace(/^sqlite:/, '');

test.skipIf(!ON_LINUX)('a closed store can be opened again, and its log is not open any more', async () => {
  const folder = newDataDir();
  const path = join(folder, 'toolgate.db');
  for (let round = 0; round < 2; round++) {
    const db = openSqlite(path, () => {});
    await db.run('CREATE TABLE IF NOT EXISTS rows (id text)');
    expect(syncing(path)).toHaveLength(1);
    await db.close();
    expect(syncing(path)).toEqual([]);
  }
  rmSync(folder, { recursive: true });
});

test('a closed store is one file: a copy of it alone holds everything', async () => {
  const folder = newDataDir();
  const path = join(folder, 'toolgate.db');
  const db = openSqlite(path, () => {});
  await db.run('CREATE TABLE rows (id text)');
  for (let id = 0; id < 100; id++) await db.run('INSERT INTO rows VALUES ($1)', [String(id)]);
  expect(await db.all('SELECT id FROM rows')).toHaveLength(100);
  await db.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
  copyFileSync(path, join(folder, 'copy.db'));
  const copy = new Database(join(folder, 'copy.db'), { readonly: true });
  expect(copy.query('SELECT count(*) AS n FROM rows').get()).toEqual({ n: 100 });
  copy.close();
  rmSync(folder, { recursive: true });
});

test.skipIf(!ON_LINUX)('whoever was refused because the file was moved holds no lock beside it', async () => {
  const folder = newDataDir();
  const [path, moved] = [join(folder, 'toolgate.db'), join(folder, 'moved.db')];
  const db = openSqlite(path, () => {});
  renameSync(path, moved);
  expect(() => openSqlite(moved, () => {})).toThrow(`Another process has ${moved} open`);
  const lock = new Database(`${moved}.lock`);
  lock.exec('BEGIN EXCLUSIVE');
  lock.close();
  renameSync(moved, path);
  await db.run('CREATE TABLE rows (id text)');
  await db.close();
  rmSync(folder, { recursive: true });
});

test.skipIf(!ON_LINUX)('the lock on the file itself holds if the one beside it was removed', async () => {
  const store = await openStore('sqlite');
  rmSync(`${pathOf(store)}.lock`);
  expect(String(await refusal(store.again()))).toContain('Another process has');
  await put(store.db, 'goes on');
  await store.close();
});

test('the lock beside the file holds by itself, where the system has no other', async () => {
  const store = await openStore('sqlite');
  const lock = `${pathOf(store)}.lock`;
  const other = new Database(lock);
  expect(() => other.exec('BEGIN EXCLUSIVE')).toThrow('locked');
  other.close();
  await store.db.close();
  const holder = new Database(lock);
  holder.exec('BEGIN EXCLUSIVE');
  expect(String(await refusal(store.again()))).toContain('Another process has');
  holder.close();
  await (await store.again()).close();
  rmSync(join(pathOf(store), '..'), { recursive: true });
});

test('a folder is no store', () => {
  const folder = newDataDir();
  expect(() => openSqlite(folder, () => {})).toThrow(`${folder} is a folder; the store is a file`);
  rmSync(folder, { recursive: true });
});

test.skipIf(!ON_LINUX)(
  'a disk that fails to sync is fatal, and nobody learns of what it may lose',
  async () => {
    const folder = newDataDir();
    const path = join(folder, 'toolgate.db');
    const fatal: Error[] = [];
    const db = openSqlite(path, error => fatal.push(error));
    await db.run('CREATE TABLE rows (id text)');
    await db.run("INSERT INTO rows VALUES ('kept')");
    expect(await db.all('SELECT id FROM rows')).toEqual([{ id: 'kept' }]);
    closeSync(syncing(path)[0] as number);
    expect(await db.run("INSERT INTO rows VALUES ('lost')").catch((error: unknown) => error)).toBeInstanceOf(
      FatalStoreError,
    );
    expect(fatal).toHaveLength(1);
    expect(await db.all('SELECT id FROM rows').catch((error: unknown) => error)).toBeInstanceOf(
      FatalStoreError,
    );
    await db.close().catch(() => {});
    rmSync(folder, { recursive: true });
  },
);

test('a transaction waits for a process that holds the file, and others go on; in the end it fails', async () => {
  const store = await openStore('sqlite');
  const other = new Database(pathOf(store));
  other.exec('BEGIN IMMEDIATE');
  let turns = 0;
  const turning = setInterval(() => turns++, 1);
  expect(String(await refusal(put(store.db, 'too late')))).toContain('locked');
  expect(turns).toBeGreaterThan(1);
  const waiting = put(store.db, 'in time');
  await Bun.sleep(1);
  other.exec('COMMIT');
  expect(await waiting).toBe(1);
  clearInterval(turning);
  other.close();
  expect(await store.db.all("SELECT name FROM settings WHERE name LIKE '%time%'")).toEqual([
    { name: 'in time' },
  ]);
  await store.close();
});

test('a reader beside the service waits a second for the file; the service itself waits in steps', async () => {
  const store = await openStore('sqlite');
  const beside = readSqlite(pathOf(store));
  const patience = async (db: Pick<Db, 'all'>) => (await db.all('PRAGMA busy_timeout'))[0]?.['timeout'];
  expect([await patience(beside), await patience(store.db)]).toEqual([1000, 10]);
  expect(await store.db.transaction({}, patience)).toBe(10);
  expect(String(await refusal(beside.run('DELETE FROM settings')))).toContain('open for reading only');
  await beside.close();
  await store.close();
});

test('a read never writes', async () => {
  const store = await openStore('sqlite');
  await put(store.db, 'stays');
  expect(await refusal(store.db.all('DELETE FROM settings RETURNING name'))).toBeInstanceOf(StoreError);
  expect(await store.db.all('SELECT name FROM settings')).toEqual([{ name: 'stays' }]);
  await store.close();
});

test('an error that ended its transaction comes out as it is, and so does a mistake of ours', async () => {
  const store = await openStore('sqlite');
  await put(store.db, 'once');
  const twice = store.db.run("INSERT OR ROLLBACK INTO settings (name, value) VALUES ('once', '')");
  expect(await refusal(twice)).toBeInstanceOf(UniqueViolation);
  const mistaken = store.db.run('INSERT INTO settings (name, value) VALUES ($1, $2)', ['x', {} as never]);
  expect(await mistaken.catch((error: unknown) => error)).not.toBeInstanceOf(StoreError);
  await put(store.db, 'next');
  await store.close();
});

test('rows live in the tree of their primary key, except where the store gives numbers', async () => {
  const store = await openStore('sqlite');
  const rows = await store.db.all<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%WITHOUT ROWID%' ORDER BY name",
  );
  expect(rows.map(row => row.name)).toEqual(['audit_contexts', 'migrations', 'runs']);
  await store.close();
});

test('a word, and a hint that there is work, reach the one process', async () => {
  const store = await openStore('sqlite');
  const words: string[] = [];
  let woken = 0;
  store.db.onHint(word => words.push(word));
  store.db.onWake(() => woken++);
  store.db.sendHint('word');
  await until('the word came', () => words.length === 1);
  expect([words, woken]).toEqual([['word'], 0]);
  store.db.wake();
  await until('the hint came', () => woken === 1);
  await store.close();
});
