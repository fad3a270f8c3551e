// Migrations: once, whole, by one starter at a time; never backwards.

import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { isNewStore, MIGRATIONS, migrate, schemaVersion } from '../../../src/store/engine/migrate.ts';
import { until } from '../../support/faults.ts';
import { refusal } from '../../support/refusal.ts';
import { engines, failToStart, startService } from '../../support/service.ts';
import { NOW, newStore, openStore } from '../stores.ts';

const NEWEST = MIGRATIONS.at(-1)?.version ?? 0;
/**
 * When each statement was sent that now waits for the table, in milliseconds. PostgreSQL reads sessions a moment after
 * locks: one whose wait has just ended is at another statement by then.
 */
const WAITING = `SELECT (extract(epoch FROM query_start) * 1000)::bigint AS at FROM pg_stat_activity
  JOIN pg_locks USING (pid) WHERE relation = 'settings'::regclass AND NOT granted AND datname = current_database()
  AND query LIKE 'ALTER TABLE settings%'`;

for (const engine of await engines()) {
  describe(engine, () => {
    test('running them again changes nothing', async () => {
      const store = await newStore(engine);
      expect(await isNewStore(store.db)).toBe(true);
      expect(await migrate(store.db, NOW)).toBe(NEWEST);
      expect(await isNewStore(store.db)).toBe(false);
      const before = await store.db.all('SELECT * FROM migrations ORDER BY version');
      expect(before).toHaveLength(MIGRATIONS.length);
      expect(await migrate(store.db, NOW + 1)).toBe(NEWEST);
      expect(await store.db.all('SELECT * FROM migrations ORDER BY version')).toEqual(before);
      await store.close();
    });

    test('a schema newer than the program is refused with the remedy', async () => {
      const store = await openStore(engine);
      await store.db.run('INSERT INTO migrations VALUES ($1, $2, $3)', [NEWEST + 1, 'future', NOW]);
      expect(String(await refusal(migrate(store.db, NOW)))).toContain(
        `The store has schema version ${NEWEST + 1}, this program knows ${NEWEST}. It was written by a newer Toolgate: ` +
          'run that version, or restore a backup made before the upgrade.',
      );
      await store.close();
    });

    test('one that fails midway leaves the store at the version before', async () => {
      const store = await openStore(engine);
      const broken = {
        version: NEWEST + 1,
        name: 'broken',
        sql: "CREATE TABLE halfway (id text NOT NULL PRIMARY KEY);\nINSERT INTO settings VALUES ('half', 'x');\nINSERT INTO nowhere VALUES (1);",
      };
      expect(await refusal(migrate(store.db, NOW, [...MIGRATIONS, broken]))).toBeInstanceOf(Error);
      expect(await schemaVersion(store.db)).toBe(NEWEST);
      expect(await refusal(store.db.all('SELECT * FROM halfway'))).toBeInstanceOf(Error);
      expect(await store.db.all("SELECT * FROM settings WHERE name = 'half'")).toEqual([]);

      const mended = { ...broken, sql: broken.sql.replace('INSERT INTO nowhere VALUES (1);', '') };
      expect(await migrate(store.db, NOW, [...MIGRATIONS, mended])).toBe(NEWEST + 1);
      expect(await store.db.all('SELECT * FROM halfway')).toEqual([]);
      await store.close();
    });

    test('the service refuses to start on a newer schema', async () => {
      const service = await startService({ engine });
      const { databaseUrl, dataDir } = service;
      await service.kill('SIGTERM');
      const newer = `INSERT INTO migrations VALUES (${NEWEST + 1}, 'future', 0)`;
      if (engine === 'postgres') await new Bun.SQL(databaseUrl, { max: 1 }).unsafe(newer);
      else new (await import('bun:sqlite')).Database(join(dataDir, 'toolgate.db')).run(newer);
      const output = await failToStart({ databaseUrl, dataDir });
      expect(output).toContain(`The store has schema version ${NEWEST + 1}`);
      await service.close();
    });
  });
}

describe.skipIf(!(await engines()).includes('postgres'))('postgres', () => {
  test('of two starters at once, one migrates and both go on, ten times', async () => {
    for (let round = 0; round < 10; round++) {
      const store = await newStore('postgres');
      const other = await store.again();
      expect(await Promise.all([migrate(store.db, NOW), migrate(other, NOW + 1)])).toEqual([NEWEST, NEWEST]);
      expect(await store.db.all('SELECT version FROM migrations')).toHaveLength(MIGRATIONS.length);
      await Promise.all([other.close(), store.close()]);
    }
  });

  test('who has to wait for another is told, and which migrations follow', async () => {
    const store = await newStore('postgres');
    const server = new SQL(store.url, { max: 1 });
    const other = await server.reserve();
    await other.unsafe("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('toolgate migrations', 0))");
    const told: string[] = [];
    const waiting = Promise.withResolvers<void>();
    const migrated = migrate(store.db, NOW, undefined, {
      waits: () => {
        told.push('waits');
        waiting.resolve();
      },
      applies: ({ name }) => told.push(name),
    });
    await waiting.promise;
    await other.unsafe('COMMIT');
    await migrated;
    expect(told).toEqual(['waits', ...MIGRATIONS.map(each => each.name)]);
    other.release();
    await Promise.all([server.close(), store.close()]);
  });

  test('one that a long transaction blocks is tried until that has ended, with time for others between', async () => {
    const store = await openStore('postgres');
    const server = new SQL(store.url, { max: 1 });
    const dump = await server.reserve();
    await dump.unsafe('BEGIN; LOCK TABLE settings IN ACCESS SHARE MODE');
    const next = {
      version: NEWEST + 1,
      name: 'next',
      sql: 'ALTER TABLE settings ADD COLUMN note text;',
    };
    const migrated = migrate(store.db, NOW, [...MIGRATIONS, next]).catch(String);
    const tries = new Set<number>();
    await until('it was tried twice', async () => {
      for (const { at } of await store.db.all<{ at: number }>(WAITING)) tries.add(at);
      return tries.size > 1;
    });
    const [first, second] = [...tries] as [number, number];
    expect(second - first).toBeGreaterThan(1000);
    await dump.unsafe('COMMIT');
    expect(await migrated).toBe(NEWEST + 1);
    expect(await store.db.all('SELECT note FROM settings')).toEqual([]);
    await server.close({ timeout: 0 });
    await store.close();
  });
});
