// Zero downtime: a newer program migrates the store while an older one serves on it, also while a dump holds the
// tables; then both serve side by side and see each other's changes at once. The mutant waits for the dump with
// every check behind it.

import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { SQL } from 'bun';
import { inTime, newDataDir, until } from '../support/faults.ts';
import { mutant, type Patch } from '../support/mutant.ts';
import { failToStart, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';

/** What the rules of migrations allow: add tables, columns that may be empty, indexes on what is small. */
const NEXT = `ALTER TABLE audit_entries ADD COLUMN note text; ALTER TABLE keys ADD COLUMN owner text;
CREATE TABLE next_things (id text NOT NULL PRIMARY KEY, at bigint NOT NULL); CREATE INDEX next_at ON next_things (at);`;
const NEWER: Patch = {
  file: 'src/store/engine/migrate.ts',
  find: 'migrations = MIGRATIONS,',
  replace: `migrations = [...MIGRATIONS, { version: 999, name: 'next', sql: \`${NEXT}\` }],`,
};
/** Checks that pass while the newer program tries and tries again. */
const ANSWERED_MEANWHILE = 20;
const PATIENT: Patch = {
  file: 'src/store/engine/postgres-connection.ts',
  find: 'const EXCLUSIVE_LOCK_MS = 300;',
  replace: 'const EXCLUSIVE_LOCK_MS = 0;',
};

const onPostgres = (await enginesWhenChanged('src/store/**', 'src/guard/**')).includes('postgres');

describe.if(onPostgres)('an upgrade', () => {
  test('loses no check, waits for a dump, and leaves old and new side by side', async () => {
    const found = await inTime(() => upgrade([NEWER]));
    expect(found.failed).toEqual([]);
    expect(found.together).toEqual({
      keyOnOld: 200,
      sessionOnNew: 200,
      afterRevocation: [401, 401],
      ready: [200, 200],
      entries: true,
    });
    expect(found.restartOfOld).toContain('The store has schema version 999');
  });

  whenChanged(PATIENT)('a mutant that waits for the dump without end is found out', async () => {
    const found = await upgrade([NEWER, PATIENT]);
    expect(found.failed.length).toBeGreaterThan(0);
  });
});

async function upgrade(patches: Patch[]) {
  const old = await startService({ engine: 'postgres' });
  const { key } = await old.newKey([{ tool: '*', action: 'allow' }]);
  const newer = mutant(...patches);
  const dataDir = newDataDir();
  const load = startChecks(old, key);
  const dump = await holdTables(old.databaseUrl);
  const starting = startService({ databaseUrl: old.databaseUrl, dataDir, root: newer.root });
  // It may fail before anybody waits for it; whatever happens, it is stopped in the end.
  const started = starting.catch(() => null);
  try {
    await until('the newer program waits for the tables', () => migrationWaits(old.databaseUrl));
    const before = load.answered;
    await Bun.sleep(1500);
    const enough = () => load.failed.length > 0 || load.answered - before > ANSWERED_MEANWHILE;
    await until('checks are answered while the tables are held', enough);
    await dump.release();
    const next = await starting;
    const together = await sideBySide(old, next);
    await load.stop();
    await next.close();
    await old.kill('SIGTERM');
    const restartOfOld = await failToStart({ databaseUrl: old.databaseUrl, dataDir });
    return { failed: load.failed, late: load.failed.length, together, restartOfOld };
  } finally {
    await dump.release();
    await load.stop();
    await (await started)?.close();
    await old.close();
    newer.remove();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Four callers who never pause; any answer but an allow is a failure. */
function startChecks(service: TestService, key: string) {
  const load = { answered: 0, failed: [] as string[], stop: async () => {} };
  let going = true;
  const callers = Array.from({ length: 4 }, async () => {
    while (going) {
      const reply = await service
        .check(key, 'github', 'get_issue')
        .catch(error => ({ status: 0, text: `${error}` }));
      load.answered++;
      if (reply.status !== 200) load.failed.push(`${reply.status} ${reply.text}`);
    }
  });
  load.stop = async () => {
    going = false;
    await Promise.all(callers);
  };
  return load;
}

/** As a dump does: reads in one long transaction. */
async function holdTables(databaseUrl: string) {
  const server = new SQL(databaseUrl, { max: 1 });
  const connection = await server.reserve();
  await connection`BEGIN`;
  await connection.unsafe('LOCK TABLE audit_entries, keys IN ACCESS SHARE MODE');
  let held = true;
  const release = async () => {
    if (!held) return;
    held = false;
    await connection`COMMIT`;
    connection.release();
    await server.close();
  };
  return { release };
}

async function migrationWaits(databaseUrl: string): Promise<boolean> {
  const server = new SQL(databaseUrl, { max: 1 });
  try {
    const rows = await server`SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    return rows.length > 0;
  } finally {
    await server.close();
  }
}

async function sideBySide(old: TestService, next: TestService) {
  const { key, keyId } = await next.newKey([{ tool: '*', action: 'allow' }]);
  const onOld = await old.check(key, 'github', 'from_old');
  const session = (await old.json('POST', '/v1/sessions', key)).body.token;
  const onNew = await next.check(session, 'github', 'from_new');
  const { entries } = (await old.admin('GET', `/audit?keyId=${keyId}`)).body;
  await old.admin('DELETE', `/keys/${keyId}`);
  const ready = await Promise.all([old, next].map(each => each.request('GET', '/readyz')));
  const late = [await next.check(session, 'a', 'b'), await old.check(key, 'a', 'b')];
  return {
    keyOnOld: onOld.status,
    sessionOnNew: onNew.status,
    afterRevocation: late.map(each => each.status),
    ready: ready.map(each => each.status),
    entries: [onOld, onNew].every(each =>
      entries.some((entry: { id: string }) => entry.id === each.body.toolCallId),
    ),
  };
}
