// The doctor on a machine on which the service does not run: each test plants one fault of settings, secrets, store,
// files, disk or clock, and exactly its line has to say so, with what to do.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { examine, good } from '../../src/doctor/examine.ts';
import { MIGRATIONS } from '../../src/store/engine/migrate.ts';
import { captured } from '../cli/captured.ts';
import { canCompile, SettableClock } from '../support/clock.ts';
import { canTrace, newDataDir, sql } from '../support/faults.ts';
import { need } from '../support/need.ts';
import { freePort } from '../support/port.ts';
import { startService } from '../support/service.ts';
import { doctor, doctorApart, type Env, faultsOf, messageOf, stateOf } from './asking.ts';

const dataDir = newDataDir();
const store = join(dataDir, 'toolgate.db');
let env: Env;

/** A store that was used once; the service is stopped. */
beforeAll(async () => {
  env = { TOOLGATE_DATA_DIR: dataDir, TOOLGATE_PORT: String(await freePort()) };
  const service = await startService({
    dataDir,
    databaseUrl: `sqlite:${store}`,
    env: { TOOLGATE_MASTER_KEY: '', TOOLGATE_ADMIN_TOKEN: '' },
  });
  await service.kill('SIGTERM');
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const NEWEST = MIGRATIONS.at(-1)?.version;

/** Nothing else is wrong than that the service does not run. */
const STOPPED = 'warning service';

test('nothing is bad where the service was stopped, and nothing is changed', async () => {
  const before = readFileSync(store);
  const names = readdirSync(dataDir).filter(each => !/-(wal|shm)$/.test(each));
  const found = await doctor(dataDir, env);
  expect([found.ok, found.code, faultsOf(found)]).toEqual([true, 0, [STOPPED]]);
  expect(messageOf(found, 'service')).toContain('toolgate serve');
  expect(readFileSync(store).equals(before)).toBe(true);
  expect(readdirSync(dataDir).filter(each => !/-(wal|shm)$/.test(each))).toEqual(names);
});

test('before the first start nothing is made', async () => {
  const folder = newDataDir();
  const found = await doctor(folder, { TOOLGATE_PORT: env['TOOLGATE_PORT'] as string });
  expect([found.ok, faultsOf(found)]).toEqual([true, []]);
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
});

test('people read a table, and the exit code says whether something is bad', async () => {
  const io = captured(dataDir, { ...env, TOOLGATE_NOTIFY_URL: 'http://127.0.0.1:9/hook?token=s3cret' });
  await run(['doctor'], io);
  expect(io.out).toMatch(/^good +settings +All settings/);
  expect(io.out).toMatch(
    /^bad +notifier +127\.0\.0\.1:9 cannot be reached \(ECONNREFUSED\)\. Is TOOLGATE_NOTIFY_URL/m,
  );
  expect(io.out).toMatch(/\nBad: 1, warnings: [1-4]\.\n$/);
  expect([io.code, io.out.includes('s3cret')]).toEqual([1, false]);
});

test('a write-ahead log that is not moved into the file', async () => {
  const folder = newDataDir();
  cpSync(dataDir, folder, { recursive: true });
  const used = new Database(join(folder, 'toolgate.db'));
  used.exec('PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0; CREATE TABLE filler (bytes blob)');
  expect(messageOf(await doctor(folder, { ...env, TOOLGATE_DATA_DIR: folder }), 'write-ahead log')).toMatch(
    /^0\.\d MB/,
  );
  used.exec('INSERT INTO filler VALUES (zeroblob(130000000))');
  const found = await doctor(folder, { ...env, TOOLGATE_DATA_DIR: folder });
  expect(faultsOf(found)).toEqual(['warning write-ahead log', STOPPED]);
  expect(messageOf(found, 'write-ahead log')).toContain('130.');
  used.close();
  rmSync(folder, { recursive: true });
});

describe('settings', () => {
  test('a wrong value', async () => {
    const found = await doctor(dataDir, { ...env, TOOLGATE_RETENTION: '5 moons' });
    expect([found.code, faultsOf(found)]).toEqual([1, ['bad settings']]);
    expect(messageOf(found, 'settings')).toContain('TOOLGATE_RETENTION is "5 moons": it must be a duration');
  });

  test('settings that exclude each other, without their secrets', async () => {
    const found = await doctor(dataDir, {
      ...env,
      TOOLGATE_CHECKPOINT_AUTHORIZATION: 'Bearer s3cret',
      TOOLGATE_CHECKPOINT_S3_KEY: 'id:s3cret',
    });
    expect(faultsOf(found)).toEqual(['bad settings']);
    expect(found.printed).not.toContain('s3cret');
  });

  test('a variable that is misspelt, and settings that have no effect', async () => {
    const found = await doctor(dataDir, {
      ...env,
      TOOLGATE_PUBLIC_ULR: 'https://gate.example',
      TOOLGATE_APPROVER_EMAILS: 'ops@example.com',
      TOOLGATE_TRUSTED_PROXIES: '0.0.0.0/0',
    });
    expect(faultsOf(found)).toEqual(['warning settings', STOPPED]);
    const message = messageOf(found, 'settings');
    expect(message).toContain('Did you mean "TOOLGATE_PUBLIC_URL"?');
    expect(message).toContain('set it to your mail server');
    expect(message).toContain('TOOLGATE_TRUSTED_PROXIES trusts every address');
  });

  test('every interface without TLS', async () => {
    const found = await doctor(dataDir, { ...env, TOOLGATE_HOST: '0.0.0.0' });
    expect(faultsOf(found)).toEqual(['warning listening', STOPPED]);
    expect(messageOf(found, 'listening')).toContain('Put a proxy with TLS in front');
  });
});

describe('secrets', () => {
  test('a master key that is not the store’s', async () => {
    const wrong = Buffer.alloc(32, 9).toString('base64');
    const found = await doctor(dataDir, { ...env, TOOLGATE_MASTER_KEY: wrong });
    expect(faultsOf(found)).toEqual(['bad master key', STOPPED]);
    expect(messageOf(found, 'master key')).toContain(
      'TOOLGATE_MASTER_KEY is not the one this store was made with',
    );
    expect(found.printed).not.toContain(wrong);
  });

  test('a master key that is missing is not made', async () => {
    const path = join(dataDir, 'master.key');
    const kept = readFileSync(path, 'utf8');
    rmSync(path);
    const found = await doctor(dataDir, env);
    expect(faultsOf(found)).toEqual(['bad master key']);
    expect(messageOf(found, 'master key')).toContain('put the file back');
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
    writeFileSync(path, kept, { mode: 0o600 });
  });

  test('an empty admin token', async () => {
    const path = join(dataDir, 'admin.token');
    const kept = readFileSync(path, 'utf8');
    writeFileSync(path, '');
    expect(faultsOf(await doctor(dataDir, env))).toEqual(['bad admin token', STOPPED]);
    writeFileSync(path, kept);
  });

  test('a file that others can read', async () => {
    chmodSync(join(dataDir, 'master.key'), 0o644);
    const found = await doctor(dataDir, env);
    expect(faultsOf(found)).toEqual(['warning file modes', STOPPED]);
    expect(messageOf(found, 'file modes')).toContain(`has the mode 0644: other users can read`);
    expect(messageOf(found, 'file modes')).toContain('run chmod 600');
    chmodSync(join(dataDir, 'master.key'), 0o600);
  });

  test.skipIf(!need(process.getuid?.() === 0 && Bun.which('setpriv') !== null, 'root and setpriv'))(
    'files that this user may not see are not called missing',
    async () => {
      const found = await doctorApart('/', env, ['setpriv', '--reuid=65534', '--clear-groups']);
      const hidden = ['store', 'master key', 'admin token', 'sync'];
      expect([found.code, faultsOf(found)]).toEqual([1, hidden.map(each => `bad ${each}`)]);
      for (const each of hidden) expect(messageOf(found, each)).toMatch(/\(EACCES\).*run this as the user/);
    },
  );
});

describe('the store', () => {
  const changed = async (statement: string, back: string): Promise<Awaited<ReturnType<typeof doctor>>> => {
    await sql(`sqlite:${store}`, statement);
    try {
      return await doctor(dataDir, env);
    } finally {
      await sql(`sqlite:${store}`, back);
    }
  };

  test('a schema that is newer than the program', async () => {
    const found = await changed(
      `INSERT INTO migrations (version, name, applied_at) VALUES (999, 'later', 1)`,
      'DELETE FROM migrations WHERE version = 999',
    );
    expect(faultsOf(found)).toEqual(['bad schema', STOPPED]);
    expect(messageOf(found, 'schema')).toMatch(/version 999, this program knows \d+: run the newer Toolgate/);
  });

  test('a schema that the next start will migrate, and the doctor does not', async () => {
    const found = await changed(
      `UPDATE migrations SET version = 10 WHERE version = ${NEWEST}`,
      `UPDATE migrations SET version = ${NEWEST} WHERE version = 10`,
    );
    expect(faultsOf(found)).toEqual(['warning schema', STOPPED]);
    expect(messageOf(found, 'schema')).toContain('Make a backup before');
  });

  test('a file that is no store', async () => {
    const path = join(dataDir, 'other.db');
    writeFileSync(path, 'this is a text, and it is long enough to be seen as no database at all'.repeat(9), {
      mode: 0o600,
    });
    const found = await doctor(dataDir, { ...env, TOOLGATE_DATABASE_URL: `sqlite:${path}` });
    expect(faultsOf(found)).toContain('bad store');
    expect(messageOf(found, 'store')).toContain('TOOLGATE_DATABASE_URL');
    rmSync(path);
  });
});

describe('disk and clock', () => {
  const traced = need(canTrace(), 'strace, and the right to trace');
  const strace = (fault: string) => ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `inject=fsync:${fault}`];

  test.skipIf(!traced)('a disk whose syncs are slow, with the number', async () => {
    const found = await doctorApart(dataDir, env, strace('delay_exit=60000'));
    expect([found.code, faultsOf(found), stateOf(found, 'sync')]).toEqual([0, [STOPPED], 'warning']);
    const [, ms] = /takes ([\d.]+) ms, and every check waits/.exec(messageOf(found, 'sync')) ?? [];
    expect(Number(ms)).toBeGreaterThanOrEqual(60);
    expect(messageOf(found, 'sync')).toContain('use a faster disk');
  });

  test.skipIf(!traced)('a full disk, on which nothing is left behind', async () => {
    const found = await doctorApart(dataDir, env, strace('error=ENOSPC'));
    expect([found.code, faultsOf(found)]).toEqual([1, ['bad sync', STOPPED]]);
    expect(messageOf(found, 'sync')).toContain('(ENOSPC): the disk is full. Make room');
    expect(readdirSync(dataDir).filter(each => each.startsWith('.doctor-'))).toEqual([]);
  });

  test.skipIf(!need(canCompile(), 'a C compiler'))(
    'a clock that is behind what the store has recorded',
    async () => {
      const clock = new SettableClock();
      clock.jump(-3600);
      const found = await doctorApart(dataDir, { ...env, ...clock.env });
      expect([found.code, faultsOf(found)]).toEqual([1, ['bad clock', STOPPED]]);
      expect(messageOf(found, 'clock')).toMatch(/3[56]\d\d\.\d s behind the newest entry.*synchronise/);
      clock.close();
    },
  );
});

test('a check that hangs or fails stops no other, and shows no text of libraries', async () => {
  const report = await examine(
    [
      { name: 'hangs', run: () => new Promise(() => {}) },
      { name: 'fails', run: () => Promise.reject(Object.assign(new Error('with s3cret'), { code: 'EODD' })) },
      { name: 'works', run: async () => [good('works', 'a\u001bb')] },
    ],
    { limitMs: 20 },
  );
  expect(report.ok).toBe(false);
  expect(report.checks.map(each => [each.name, each.state])).toEqual([
    ['hangs', 'bad'],
    ['fails', 'bad'],
    ['works', 'good'],
  ]);
  expect(report.checks.map(each => each.message)).toEqual([
    expect.stringContaining('no answer within 0.02 s'),
    'This could not be looked at (EODD).',
    'a\\u{001B}b',
  ]);
});
