// toolgate backup under load: the copy is whole, of one moment, and blocks nothing; and what it refuses.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { startService, type TestService } from '../support/service.ts';
import { Shell } from './shell.ts';

let service: TestService;
let shell: Shell;
beforeAll(async () => {
  service = await startService();
  shell = new Shell({ TOOLGATE_DATA_DIR: service.dataDir });
});
afterAll(async () => {
  shell.close();
  await service.close();
});

test('copies the store while checks go on, and the copy holds what was answered before', async () => {
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const before = await Promise.all(Array.from({ length: 200 }, () => service.check(key, 'files', 'read')));
  let going = true;
  const load = (async () => {
    const statuses = new Set<number>();
    while (going) statuses.add((await service.check(key, 'files', 'read')).status);
    return statuses;
  })();
  const { code, stderr } = await shell.run('toolgate backup copy.db');
  going = false;
  expect([code, stderr]).toEqual([0, expect.stringContaining('master.key')]);
  expect([...(await load)]).toEqual([200]);
  const copy = new Database(join(shell.folder, 'copy.db'), { readonly: true });
  expect(copy.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  const ids = new Set((copy.prepare('SELECT id FROM audit').all() as { id: string }[]).map(row => row.id));
  expect(before.filter(({ body }) => !ids.has(body.toolCallId))).toEqual([]);
  copy.close();
});

test('is for its owner alone, and is written through no link', async () => {
  const before = process.umask(0);
  expect(await shell.run('toolgate backup mine.db')).toMatchObject({ code: 0 });
  process.umask(before);
  expect(statSync(join(shell.folder, 'mine.db')).mode & 0o777).toBe(0o600);
  symlinkSync(join(shell.folder, 'target.db'), join(shell.folder, 'dangling.db'));
  expect(await shell.run('toolgate backup dangling.db')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('never replaces'),
  });
  expect(existsSync(join(shell.folder, 'target.db'))).toBe(false);
});

test('never replaces a file, and says so when there is nothing to copy', async () => {
  await shell.run('toolgate backup twice.db');
  expect(await shell.run('toolgate backup twice.db')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('never replaces'),
  });
  const nowhere = { TOOLGATE_DATA_DIR: join(shell.folder, 'nothing') };
  expect(await shell.run('toolgate backup new.db', nowhere)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('no store'),
  });
  const elsewhere = { TOOLGATE_DATABASE_URL: 'postgres://db.example/toolgate' };
  expect(await shell.run('toolgate backup new.db', elsewhere)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('pg_dump'),
  });
});
