// The doctor and PostgreSQL: a server that is stopped, hangs, could lose commits, is short of connections or is a
// standby, a database that is not there, and a machine whose clock differs from the server's.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { canCompile, SettableClock } from '../support/clock.ts';
import { newDataDir } from '../support/faults.ts';
import { freshStore } from '../support/fresh-store.ts';
import { need } from '../support/need.ts';
import { freePort } from '../support/port.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { engines, ROOT, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';
import { doctor, doctorApart, type Env, faultsOf, messageOf } from './asking.ts';

const STOPPED = 'warning service';
/** A server that is stopped and paused is one more to make. */
const onItsOwn = whenChanged('src/doctor/**', 'src/store/engine/**', 'src/cli/commands/doctor.ts');
const hasPostgres = (await engines()).includes('postgres');
const dataDir = newDataDir();
let env: Env;
let url: string;

afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

beforeAll(async () => {
  if (!hasPostgres) return;
  url = await freshStore('postgres', dataDir, ROOT);
  env = {
    TOOLGATE_DATA_DIR: dataDir,
    TOOLGATE_DATABASE_URL: url,
    TOOLGATE_PORT: String(await freePort()),
    TOOLGATE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
});

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  test('is good as it is', async () => {
    const found = await doctor(dataDir, env);
    expect([found.ok, faultsOf(found)]).toEqual([true, [STOPPED]]);
    expect(messageOf(found, 'store')).toMatch(/^PostgreSQL at 127\.0\.0\.1:\d+ answers in [\d.]+ ms\.$/);
    expect(messageOf(found, 'engine')).toContain('exclude');
    expect(messageOf(found, 'versions')).toMatch(/with PostgreSQL \d+/);
    expect(messageOf(found, 'clock')).toContain('agree within');
  });

  /** Runs the doctor while the database has a setting. */
  async function having(setting: string, more: Env = {}): Promise<Awaited<ReturnType<typeof doctor>>> {
    const admin = new SQL(url);
    const name = new URL(url).pathname.slice(1);
    await admin.unsafe(`ALTER DATABASE "${name}" SET ${setting}`);
    try {
      return await doctor(dataDir, { ...env, ...more });
    } finally {
      await admin.unsafe(`ALTER DATABASE "${name}" RESET ALL`);
      await admin.close();
    }
  }

  test('could lose what was committed', async () => {
    const found = await having('synchronous_commit = off');
    expect([found.code, faultsOf(found)]).toEqual([1, ['bad durability', STOPPED]]);
    expect(messageOf(found, 'durability')).toContain('synchronous_commit=off: an audit entry could be lost');
  });

  test('has too few connections left', async () => {
    const found = await doctor(dataDir, { ...env, TOOLGATE_DATABASE_POOL: '100' });
    expect(faultsOf(found)).toEqual(['warning connections', STOPPED]);
    expect(messageOf(found, 'connections')).toContain(
      'raise max_connections, or lower TOOLGATE_DATABASE_POOL',
    );
  });

  test('has no such database, and the message no password', async () => {
    const wrong = new URL(url);
    wrong.pathname = '/nowhere';
    wrong.password = 's3cret';
    const found = await doctor(dataDir, { ...env, TOOLGATE_DATABASE_URL: wrong.href });
    expect(faultsOf(found)).toEqual(['bad store', STOPPED]);
    expect(messageOf(found, 'store')).toMatch(/refuses us: .*nowhere.*TOOLGATE_DATABASE_URL names/);
    expect(found.printed).not.toContain('s3cret');
  });

  test.skipIf(!need(canCompile(), 'a C compiler'))('has another clock than this machine', async () => {
    const clock = new SettableClock();
    const at = async (seconds: number) => {
      clock.jump(seconds);
      return doctorApart(dataDir, { ...env, ...clock.env });
    };
    const ahead = await at(90);
    expect([ahead.code, faultsOf(ahead)]).toEqual([1, ['bad clock', STOPPED]]);
    expect(messageOf(ahead, 'clock')).toMatch(
      /ahead of the database’s.*Let the machine synchronise its time/,
    );
    const behind = await at(-100);
    expect([behind.code, faultsOf(behind)]).toEqual([0, ['warning clock', STOPPED]]);
    expect(messageOf(behind, 'clock')).toContain('s behind the database’s');
    clock.close();
  });
});

describe.skipIf(!hasPostgres)('a PostgreSQL of its own', () => {
  let postgres: TestPostgres;
  let service: TestService;
  let own: Env;

  beforeAll(async () => {
    if (onItsOwn !== test) return;
    postgres = (await startPostgres()) as TestPostgres;
    const port = String(await freePort());
    own = { ...env, TOOLGATE_DATABASE_URL: await postgres.createDatabase(), TOOLGATE_PORT: port };
    service = await startService({
      dataDir,
      databaseUrl: own['TOOLGATE_DATABASE_URL'] as string,
      env: { TOOLGATE_PORT: port },
    });
  });
  afterAll(async () => {
    await service?.kill();
    await postgres?.close();
  });

  onItsOwn('that works is good for the service too', async () => {
    const { body } = await service.admin('GET', '/doctor');
    expect([body.ok, faultsOf(body)]).toEqual([true, []]);
  });

  onItsOwn('that hangs, and that is stopped, is the one fault', async () => {
    postgres.pause();
    const hung = await doctor(dataDir, own);
    postgres.resume();
    expect([hung.code, faultsOf(hung)]).toEqual([1, ['bad store']]);
    await postgres.stop('immediate');
    const stopped = await doctor(dataDir, own);
    expect([stopped.code, faultsOf(stopped)]).toEqual([1, ['bad store']]);
    expect(messageOf(stopped, 'store')).toMatch(
      /cannot be reached: .*Is TOOLGATE_DATABASE_URL right, and the server up/,
    );
    const { body } = await service.admin('GET', '/doctor');
    expect([body.ok, faultsOf(body)]).toEqual([false, ['bad store']]);
  });

  onItsOwn('that is a standby', async () => {
    writeFileSync(join(postgres.dataDir, 'standby.signal'), '');
    await postgres.start();
    const found = await doctor(dataDir, own);
    expect([found.code, faultsOf(found)]).toEqual([1, ['bad durability']]);
    expect(messageOf(found, 'durability')).toContain('let TOOLGATE_DATABASE_URL name the primary');
  });
});
