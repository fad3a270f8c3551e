// P11: argument bytes never reach the disk, the logs or the database, at the most talkative log level, on
// every path a check can take, failures included; nor do the credentials. Marked arguments are searched for
// in all files and all output, in several spellings. The mutants log a body, and tell approvers too much.

import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { figures, newDataDir, sql, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG, need } from '../support/need.ts';
import { sharedPostgres, type TestPostgres } from '../support/postgres.ts';
import { type Engine, engines, onPath, startService, type TestService } from '../support/service.ts';
import { Canaries, checkedCalls, REFUSED, searchFor, send } from './canaries.ts';

const ROUNDS = LONG ? 5 : 1;
const SEARCHABLE = need(onPath('grep'), 'grep');
const postgres = await sharedPostgres();

const LOGGED: Patch = {
  file: 'src/http/check.ts',
  find: 'const call = { serverName, toolName };',
  replace: 'const call = { serverName, toolName };\n  services.log.debug(JSON.stringify(body));',
};
const TOLD: Patch = {
  file: 'src/guard/check/check.ts',
  find: 'ask(this.#deps, tx, entry, asking,',
  replace: 'ask(this.#deps, tx, { ...entry, reason: entry.reason + JSON.stringify(request.args) }, asking,',
};
const ECHOED: Patch = {
  file: 'src/http/server.ts',
  find: "log.debug(facts, 'refused');",
  replace: "log.debug({ ...facts, errors: known.errors }, 'refused');",
};

for (const engine of await engines()) {
  const searched = SEARCHABLE && (engine === 'sqlite' || postgres?.owned === true);
  const can = need(searched, 'grep, and the files of the database');

  test.skipIf(!can)(`${engine}: no argument and no credential is at rest anywhere`, async () => {
    expect(await measure(engine)).toEqual([]);
  });

  for (const [name, patch] of Object.entries({ LOGGED, TOLD, ECHOED })) {
    test.skipIf(!can)(`${engine}: a mutant (${name}) that gives arguments away is found out`, async () => {
      const found = await withMutant([patch], async root => (await measure(engine, root)).length);
      expect(found).toBeGreaterThan(0);
    });
  }
}

/** The places whose markers were found. */
async function measure(engine: Engine, root?: string): Promise<string[]> {
  const dataDir = newDataDir();
  const temp = join(dataDir, 'temp');
  mkdirSync(temp);
  const service = await startService({
    dataDir,
    ...(engine === 'postgres' && { databaseUrl: await talkativeDatabase() }),
    env: {
      TOOLGATE_LOG_LEVEL: 'trace',
      TMPDIR: temp,
      BUN_TMPDIR: temp,
      TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1000000',
    },
    ...(root && { root }),
  });
  const canaries = new Canaries();
  const found = new Set<string>();
  try {
    for (let round = 0; round < ROUNDS; round++) await everyPath(service, canaries);
    for (const place of await search(service, engine, canaries)) found.add(place);
  } finally {
    await service.kill('SIGKILL');
  }
  for (const place of await search(service, engine, canaries)) found.add(place);
  rmSync(dataDir, { recursive: true, force: true });
  const hits = [...found].sort();
  figures(`P11 ${engine}${root ? ' mutant' : ''}`, {
    operations: canaries.size,
    violations: hits.length,
  });
  return hits;
}

/** Every statement and every parameter goes to the server's log, for this database only. */
async function talkativeDatabase(): Promise<string> {
  const databaseUrl = await (postgres as TestPostgres).createDatabase();
  const name = new URL(databaseUrl).pathname.slice(1);
  await sql(
    databaseUrl,
    `ALTER DATABASE ${name} SET log_statement = 'all'`,
    `ALTER DATABASE ${name} SET log_min_duration_statement = 0`,
    `ALTER DATABASE ${name} SET log_parameter_max_length_on_error = -1`,
  );
  return databaseUrl;
}

async function everyPath(service: TestService, canaries: Canaries): Promise<void> {
  const { key } = await service.newKey([
    { tool: 'allowed', action: 'allow' },
    { tool: 'asked', action: 'require_approval' },
  ]);
  const session = (await service.json('POST', '/v1/sessions', key, { scopeTools: ['files__asked'] })).body
    .token;
  canaries.watch('a key', key);
  canaries.watch('a session token', session);
  for (const token of [key, session]) {
    for (const call of checkedCalls('recorded', 200)) await send(service, token, canaries, call);
  }
  for (const request of REFUSED) await send(service, key, canaries, request);
  await service.check(key, 'files', 'allowed', { args: {} });
  await service.request('POST', `/v1/check?args=${canaries.at('a query')}`, {
    body: canaries.at('no credential'),
  });
  await sql(service.databaseUrl, 'ALTER TABLE audit_entries RENAME TO audit_elsewhere');
  for (const call of checkedCalls('not recorded', 500)) await send(service, key, canaries, call);
  await sql(service.databaseUrl, 'ALTER TABLE audit_elsewhere RENAME TO audit_entries');
}

async function search(service: TestService, engine: Engine, canaries: Canaries): Promise<string[]> {
  if (engine === 'sqlite') return searchFor(canaries, [service.dataDir], [service.output]);
  const server = postgres as TestPostgres;
  const files = await serverFiles(server, service.databaseUrl);
  return searchFor(canaries, [service.dataDir, ...files], [service.output, server.logText()]);
}

/** The whole data folder of the server, but for the other databases in it. */
async function serverFiles({ dataDir }: TestPostgres, databaseUrl: string): Promise<string[]> {
  const [own] = await sql<{ oid: number }>(
    databaseUrl,
    'CHECKPOINT',
    'SELECT oid FROM pg_database WHERE datname = current_database()',
  );
  const shared = readdirSync(dataDir).filter(name => name !== 'base');
  return [...shared, join('base', String(own?.oid))].map(name => join(dataDir, name));
}
