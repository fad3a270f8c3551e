// Engines that speak PostgreSQL's protocol and do not keep its promises are refused at the start. A schema that is
// searched before PostgreSQL's own stands for them: its functions behave as such an engine documents its own.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '../../../src/store/engine/postgres.ts';
import { sql } from '../../support/faults.ts';
import { PATIENCE } from '../../support/fresh-store.ts';
import { need } from '../../support/need.ts';
import { sharedPostgres } from '../../support/postgres.ts';
import { refusal } from '../../support/refusal.ts';
import { failToStart } from '../../support/service.ts';

const postgres = await sharedPostgres();
const able = need(postgres !== null, 'PostgreSQL (npm package, system binaries or TOOLGATE_TEST_PG_URL)');

const returns = (call: string, type: string, value: string) =>
  `CREATE OR REPLACE FUNCTION relative.${call} RETURNS ${type} LANGUAGE sql AS $$ ${value} $$`;
/** As CockroachDB documents its functions for compatibility: they are accepted and do nothing. */
const noLock = (name: string) => returns(`${name}(bigint)`, 'void', '');
const alwaysTaken = (name: string) => returns(`${name}(bigint)`, 'boolean', 'SELECT true');

const NO_EXCLUSIVE = [noLock('pg_advisory_xact_lock'), alwaysTaken('pg_try_advisory_xact_lock')];
const NO_SHARED = [noLock('pg_advisory_xact_lock_shared'), alwaysTaken('pg_try_advisory_xact_lock_shared')];
const NAMED = returns('version()', 'text', `SELECT 'OtherDB CCL v23.2.1 (x86_64-pc-linux-gnu)'`);
const NEVER_SHARES = returns('pg_try_advisory_xact_lock_shared(bigint)', 'boolean', 'SELECT false');
const SNAPSHOT = returns('current_setting(text, boolean)', 'text', `SELECT 'repeatable read'`);
const UNSUPPORTED = `CREATE FUNCTION relative.pg_advisory_xact_lock(bigint) RETURNS void LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'advisory locks are not yet implemented' USING ERRCODE = '0A000'; END $$`;

const ENGINES: [what: string, functions: string[], reason: string][] = [
  [
    'locks that do nothing',
    [...NO_EXCLUSIVE, ...NO_SHARED, NAMED],
    'OtherDB CCL v23.2.1, accepts advisory locks',
  ],
  ['exclusive locks that do nothing', NO_EXCLUSIVE, 'they do not exclude as those of PostgreSQL do'],
  ['shared locks that do nothing', NO_SHARED, 'they do not exclude as those of PostgreSQL do'],
  ['shared locks that exclude each other', [NEVER_SHARES], 'they do not exclude as those of PostgreSQL do'],
  ['snapshots in place of READ COMMITTED', [SNAPSHOT], 'runs transactions as repeatable read'],
  ['no advisory locks', [UNSUPPORTED], 'lacks what the store needs: advisory locks are not yet implemented'],
];

describe.if(able)('an engine with', () => {
  let url: string;
  const open = () => openPostgres(url, 2, { patience: PATIENCE });
  beforeAll(async () => {
    url = (await postgres?.createDatabase()) ?? '';
    const name = new URL(url).pathname.slice(1);
    await sql(url, `ALTER DATABASE ${name} SET search_path = relative, pg_catalog, public`);
  });
  afterAll(() => sql(url, 'DROP SCHEMA IF EXISTS relative CASCADE'));

  for (const [what, functions, reason] of ENGINES) {
    test(`${what} is refused`, async () => {
      await sql(url, 'DROP SCHEMA IF EXISTS relative CASCADE', 'CREATE SCHEMA relative', ...functions);
      expect(String(await refusal(open()))).toContain(reason);
    });
  }

  test('functions that do nothing keeps the service from starting, and writes nothing', async () => {
    const broken = [...NO_EXCLUSIVE, ...NO_SHARED, NAMED];
    await sql(url, 'DROP SCHEMA IF EXISTS relative CASCADE', 'CREATE SCHEMA relative', ...broken);
    expect(await failToStart({ databaseUrl: url })).toContain(
      'docs/operating.md says which engines can be used.',
    );
    const tables = await sql(url, `SELECT 1 FROM pg_tables WHERE schemaname IN ('public', 'relative')`);
    expect(tables).toEqual([]);
  });

  test('PostgreSQL’s own functions is used', async () => {
    await sql(url, 'DROP SCHEMA IF EXISTS relative CASCADE');
    await (await open()).close();
  });

  test('one connection in its pool is used, and replicas that open it together do not meet', async () => {
    const all = await Promise.all(
      Array.from({ length: 8 }, () => openPostgres(url, 1, { patience: PATIENCE })),
    );
    await Promise.all(all.map(db => db.close()));
  });
});
