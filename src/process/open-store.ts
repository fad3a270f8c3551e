// Opens the configured store: the engine, its master key and its migrations, and makes the Deps that all operations
// use. guard/first-start.ts makes what a new store needs.

import { HeldDetails } from '../guard/approvals/details.ts';
import type { Deps } from '../guard/deps.ts';
import { claimStore, knownFingerprint, wrongMasterKey } from '../guard/first-start.ts';
import { newId } from '../guard/ids.ts';
import { Vault } from '../guard/secrets.ts';
import { HeldResults } from '../guard/tasks/held-results.ts';
import { isKnownCall } from '../guard/tasks/known-calls.ts';
import { type Config, embeddedPath } from '../settings/config.ts';
import type { Db } from '../store/engine/db.ts';
import { migrate, type Progress } from '../store/engine/migrate.ts';
import { openSqlite } from '../store/engine/sqlite.ts';
import type { ChannelKind } from '../store/notifications.ts';
import { masterKeyIn, masterKeyPath } from './data-dir.ts';

/** Whether the store is SQLite, which this process has for itself. */
export function isEmbedded(config: Config): boolean {
  return embeddedPath(config) !== null;
}

/** An engine is loaded only if it is used. */
export async function openStore(
  config: Config,
  onFatal: (error: Error) => void,
  onMoving?: (failure: unknown) => void,
): Promise<Db> {
  const path = embeddedPath(config);
  if (path !== null) return openFile(path, onFatal, onMoving);
  const { openPostgres } = await import('../store/engine/postgres.ts');
  return openPostgres(config.databaseUrl ?? '', config.databasePool, { pooling: config.databasePooling });
}

/** The system's error says what failed but not which setting names the file, so the message adds that. */
function openFile(path: string, onFatal: (error: Error) => void, onMoving?: (failure: unknown) => void): Db {
  try {
    return openSqlite(path, onFatal, onMoving);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Error(
      `The store ${path} cannot be opened: ${message}. TOOLGATE_DATABASE_URL or TOOLGATE_DATA_DIR says where it is.`,
      { cause: error },
    );
  }
}

/** Migrates the store and verifies that the master key belongs to it. A store whose key is missing is not changed. */
export async function openDeps(
  config: Config,
  db: Db,
  now: () => number,
  progress?: Progress,
): Promise<Deps> {
  const known = await knownFingerprint(db, progress);
  const vault = new Vault(config.masterKey ?? masterKeyIn(config.dataDir, known === null));
  const from = config.masterKey === null ? masterKeyPath(config.dataDir) : 'TOOLGATE_MASTER_KEY';
  if (known !== null && known !== vault.fingerprint) throw wrongMasterKey(from);
  await migrate(db, now(), undefined, progress);
  const settings = { ...config, defaultChannels: defaultChannels(config) };
  const details = new HeldDetails({ db, vault, now }, config.detailsMemory);
  const mayGive = (toolCallId: string) => isKnownCall(db, toolCallId, now());
  const results = new HeldResults({ db, vault, now, mayGive }, config.tasksMemory);
  const deps: Deps = { processId: newId(), executing: new Set(), db, vault, now, settings, details, results };
  await claimStore(deps, from);
  return deps;
}

/** What the channel `default` consists of. */
function defaultChannels(config: Config): ChannelKind[] {
  const found: ChannelKind[] = [];
  if (config.smtpUrl !== null && config.approverEmails.length > 0) found.push('email');
  if (config.slackWebhookUrl !== null) found.push('slack');
  if (config.notifyUrl !== null) found.push('http');
  return found.length > 0 ? found : ['terminal'];
}
