// One SQLite file serves one process: a second is refused, whatever it calls the file, and a killed one leaves
// nothing in the way. The files are for their owner alone.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { linkSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { newDataDir } from '../support/faults.ts';
import { need } from '../support/need.ts';
import { refusal } from '../support/refusal.ts';
import { failToStart, startService } from '../support/service.ts';
import { openStore } from './stores.ts';

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

test('a read that fails while a sync is due fails for whoever asked, and for nobody else', async () => {
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
