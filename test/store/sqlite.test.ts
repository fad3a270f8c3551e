// One SQLite file serves one process: a second is refused, and a killed one leaves nothing in the way.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
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

test('a second handle in the same process is refused too', async () => {
  const store = await openStore('sqlite');
  await expect(store.again()).rejects.toThrow('Another process has');
  await store.close();
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
    await expect(db.all('SELECT 1 FROM nowhere')).rejects.toThrow('nowhere');
    await new Promise(setImmediate);
  }
  await written;
  process.off('unhandledRejection', take);
  expect(unhandled).toEqual([]);
  await close();
});
