// Migrates a store to the schema of this program, one migration per transaction, so that a killed process leaves a
// complete version behind. Programs that start at the same time wait for each other. A schema that is newer than the
// program is refused.

import guard from '../migrations/0001_guard.sql' with { type: 'text' };
import mcp from '../migrations/0002_mcp.sql' with { type: 'text' };
import operators from '../migrations/0003_operators.sql' with { type: 'text' };
import rollups from '../migrations/0004_rollups.sql' with { type: 'text' };
import seals from '../migrations/0005_seals.sql' with { type: 'text' };
import singleSignOn from '../migrations/0006_single_sign_on.sql' with { type: 'text' };
import requestCounts from '../migrations/0007_request_counts.sql' with { type: 'text' };
import boundApprovals from '../migrations/0008_bound_approvals.sql' with { type: 'text' };
import connections from '../migrations/0011_connections.sql' with { type: 'text' };
import rules from '../migrations/0013_rules.sql' with { type: 'text' };
import limits from '../migrations/0014_limits.sql' with { type: 'text' };
import informedApprovals from '../migrations/0015_informed_approvals.sql' with { type: 'text' };
import people from '../migrations/0016_people.sql' with { type: 'text' };
import foresight from '../migrations/0017_foresight.sql' with { type: 'text' };
import watch from '../migrations/0018_watch.sql' with { type: 'text' };
import trust from '../migrations/0019_trust.sql' with { type: 'text' };
import signOns from '../migrations/0020_sign_ons.sql' with { type: 'text' };
import sessions from '../migrations/0021_sessions.sql' with { type: 'text' };
import endedApprovals from '../migrations/0022_ended_approvals.sql' with { type: 'text' };
import flows from '../migrations/0023_flows.sql' with { type: 'text' };
import results from '../migrations/0024_results.sql' with { type: 'text' };
import knownOfKeys from '../migrations/0025_known_of_keys.sql' with { type: 'text' };
import toolServers from '../migrations/0026_tool_servers.sql' with { type: 'text' };
import firstLook from '../migrations/0027_first_look.sql' with { type: 'text' };
import lookedAt from '../migrations/0028_looked_at.sql' with { type: 'text' };
import tasks from '../migrations/0029_tasks.sql' with { type: 'text' };
import { Blocked, type Db, type Lane, type Queries } from './db.ts';

interface Migration {
  version: number;
  name: string;
  sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'guard', sql: guard },
  { version: 2, name: 'mcp', sql: mcp },
  { version: 3, name: 'operators', sql: operators },
  { version: 4, name: 'rollups', sql: rollups },
  { version: 5, name: 'seals', sql: seals },
  { version: 6, name: 'single sign-on', sql: singleSignOn },
  { version: 7, name: 'request counts', sql: requestCounts },
  { version: 8, name: 'bound approvals', sql: boundApprovals },
  { version: 11, name: 'connections', sql: connections },
  { version: 13, name: 'rules', sql: rules },
  { version: 14, name: 'limits', sql: limits },
  { version: 15, name: 'informed approvals', sql: informedApprovals },
  { version: 16, name: 'people', sql: people },
  { version: 17, name: 'foresight', sql: foresight },
  { version: 18, name: 'watch', sql: watch },
  { version: 19, name: 'trust', sql: trust },
  { version: 20, name: 'sign-ons', sql: signOns },
  { version: 21, name: 'sessions', sql: sessions },
  { version: 22, name: 'ended approvals', sql: endedApprovals },
  { version: 23, name: 'flows', sql: flows },
  { version: 24, name: 'results', sql: results },
  { version: 25, name: 'known of keys', sql: knownOfKeys },
  { version: 26, name: 'tool servers', sql: toolServers },
  { version: 27, name: 'first look', sql: firstLook },
  { version: 28, name: 'looked at', sql: lookedAt },
  { version: 29, name: 'tasks', sql: tasks },
];

const RETRY_MS = 1000;
const MOST_WAITING_MS = 10 * 60_000;
const BLOCKED =
  'a long transaction, such as a dump, uses a table that has to be changed. Nothing is lost: end it, or wait, and start again.';

/** What a start that takes long tells about itself. */
export interface Progress {
  /** Another process migrates the store, or shows the first key. */
  waits(): void;
  applies(migration: Pick<Migration, 'version' | 'name'>): void;
}

export async function migrate(
  db: Db,
  now: number,
  migrations = MIGRATIONS,
  progress?: Progress,
): Promise<number> {
  return db.exclusively(async lane => {
    const at = await versionFound(lane);
    const newest = migrations.at(-1)?.version ?? 0;
    if (at > newest) {
      throw new Error(
        `The store has schema version ${at}, this program knows ${newest}. It was written by a newer Toolgate: ` +
          'run that version, or restore a backup made before the upgrade.',
      );
    }
    for (const migration of migrations) {
      if (migration.version <= at) continue;
      progress?.applies(migration);
      await apply(lane, migration, now);
    }
    return newest;
  }, progress?.waits);
}

/** Whether no migration was ever applied. */
export function isNewStore(db: Db, progress?: Progress): Promise<boolean> {
  return db.exclusively(async lane => (await versionFound(lane)) === 0, progress?.waits);
}

async function versionFound(lane: Lane): Promise<number> {
  await lane.run(
    'CREATE TABLE IF NOT EXISTS migrations (version bigint NOT NULL PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)',
  );
  return schemaVersion(lane);
}

/** The version of the store's schema; 0 for a new one. */
export async function schemaVersion(db: Queries): Promise<number> {
  const [row] = await db.all<{ version: number | null }>('SELECT max(version) AS version FROM migrations');
  return row?.version ?? 0;
}

/** The same, for a store of which it is not known whether it was ever migrated. It only reads. */
export async function versionOfAny(db: Queries): Promise<number> {
  try {
    return await schemaVersion(db);
  } catch (error) {
    if (/no such table|relation "migrations" does not exist/.test((error as Error).message)) return 0;
    throw error;
  }
}

/**
 * Applies a migration. It waits for a dump or another long transaction in short attempts, so that checks of other
 * replicas run in between.
 */
async function apply(lane: Lane, migration: Migration, now: number): Promise<void> {
  const end = performance.now() + MOST_WAITING_MS;
  for (;;) {
    try {
      return await attempt(lane, migration, now);
    } catch (error) {
      if (!(error instanceof Blocked)) throw error;
      if (performance.now() > end)
        throw new Error(`Migration ${migration.version}: ${BLOCKED}`, { cause: error });
      await Bun.sleep(RETRY_MS);
    }
  }
}

async function attempt(lane: Lane, migration: Migration, now: number): Promise<void> {
  await lane.transaction({}, async tx => {
    await tx.script(migration.sql);
    await tx.run('INSERT INTO migrations (version, name, applied_at) VALUES ($1, $2, $3)', [
      migration.version,
      migration.name,
      now,
    ]);
  });
}
