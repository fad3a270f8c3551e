// Proves that a copy of the SQLite store can be used: opens it, migrates a copy of that copy, and verifies it. For
// `backup --verify` and `restore`. Without the master key it cannot verify what was signed with it, and says so.

import { existsSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { verifierKey } from '../core/log/checkpoint.ts';
import { knownFingerprint, wrongMasterKey } from '../guard/first-start.ts';
import { logName } from '../guard/log/sealed-log.ts';
import { Vault } from '../guard/secrets.ts';
import { masterKeyIn, masterKeyPath } from '../process/data-dir.ts';
import type { Config } from '../settings/config.ts';
import type { Db } from '../store/engine/db.ts';
import { type FileLock, lockDescriptor } from '../store/engine/file-lock.ts';
import { MIGRATIONS, migrate, schemaVersion } from '../store/engine/migrate.ts';
import { openSqlite } from '../store/engine/sqlite.ts';
import {
  type Counts,
  copyBytes,
  countsOf,
  isDiskFault,
  requireSoundStore,
  requireWholeCopy,
} from '../store/engine/sqlite-copy.ts';
import { CliError, EXIT } from './exit.ts';
import { type IO, say } from './io.ts';
import { openStoreLog } from './sealed-source.ts';
import { type Verification, verify } from './verify.ts';

export interface CopyReport extends Omit<Counts, 'newestAt'> {
  /** The schema that the copy has; the service migrates it when it starts on it. */
  schemaVersion: number;
  newestAt: string | null;
  /** Null if the master key is not at hand: then nothing says which key the log is signed with. */
  log: Pick<Verification, 'sealed' | 'covered' | 'unsealed' | 'checkpoints'> | null;
}

type Settings = Pick<Config, 'dataDir' | 'masterKey'>;

/** `shown` is the name in messages. Throws a CliError that says what is wrong with the copy. */
export async function verifyCopy(
  io: IO,
  settings: Settings,
  file: string,
  shown: string,
): Promise<CopyReport> {
  if (io.stderr.isTTY) say(io, 'Verifying…');
  const folder = scratchBeside(file, shown);
  const inUse = lockIn(folder, 'wx');
  try {
    const scratch = join(folder, 'toolgate.db');
    copyBytes(file, scratch, requireWholeCopy(file));
    requireSoundStore(scratch);
    return await examine(io, settings, scratch);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw unusable(shown, error as Error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    inUse?.release();
  }
}

/** Why a backup was not restored: because of itself, or because of the disk. */
export function unusable(shown: string, error: Error): CliError {
  if (isDiskFault(error)) return diskFault(error);
  return new CliError(EXIT.failed, `${shown} cannot be restored: ${error.message}`, { cause: error });
}

export function diskFault(error: Error): CliError {
  return new CliError(
    EXIT.noAnswer,
    `A copy cannot be written there (${error.message}), so nothing was replaced. Is the disk full? Verifying needs room ` +
      'for one more copy, and a restore also for the store that is there and for the new one.',
    { cause: error },
  );
}

/** On the disk of the copy, since a disk for temporary files may be too small, and may be read by others. */
function scratchBeside(file: string, shown: string): string {
  try {
    removeAbandoned(dirname(file));
    return mkdtempSync(join(dirname(file), SCRATCH));
  } catch (error) {
    throw new CliError(
      EXIT.noAnswer,
      `${shown} cannot be verified in its folder: ${(error as Error).message}. A second copy is made there for a while.`,
      { cause: error },
    );
  }
}

const SCRATCH = '.toolgate-verify-';

/** A process that is killed leaves its copy of the store behind, but no longer holds the lock in that folder. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent).filter(each => each.startsWith(SCRATCH))) {
    const folder = join(parent, name);
    const lock = lockIn(folder, 'r+');
    if (lock === null) continue;
    rmSync(folder, { recursive: true, force: true });
    lock.release();
  }
}

/** Null if another process has the lock, or if there is none to be had. */
function lockIn(folder: string, flags: 'wx' | 'r+'): FileLock | null {
  try {
    const lock = lockDescriptor(openSync(join(folder, 'in-use'), flags, 0o600));
    return lock === 'taken' ? null : lock;
  } catch {
    return null;
  }
}

async function examine(io: IO, settings: Settings, scratch: string): Promise<CopyReport> {
  let failed: Error | null = null;
  const db = openSqlite(scratch, error => {
    failed = error;
  });
  try {
    const found = await schemaVersion(db);
    const vault = await vaultOf(settings, db);
    await migrate(db, Date.now());
    const { newestAt, ...counts } = await countsOf(db);
    const log = vault && (await verifyLog(io, vault, db, scratch));
    if (failed !== null) throw failed;
    return {
      schemaVersion: found,
      ...counts,
      newestAt: newestAt === null ? null : new Date(newestAt).toISOString(),
      log,
    };
  } finally {
    await db.close();
  }
}

/** Null if the master key is not at hand. */
async function vaultOf({ dataDir, masterKey }: Settings, db: Db): Promise<Vault | null> {
  const path = masterKeyPath(dataDir);
  if (masterKey === null && !existsSync(path)) return null;
  const vault = new Vault(masterKey ?? masterKeyIn(dataDir, false));
  const known = await knownFingerprint(db);
  if (known === null || known === vault.fingerprint) return vault;
  throw wrongMasterKey(masterKey === null ? path : 'TOOLGATE_MASTER_KEY');
}

/** Compares the log with the checkpoints in the copy. Those kept elsewhere are for `toolgate audit verify`. */
async function verifyLog(io: IO, vault: Vault, db: Db, scratch: string): Promise<CopyReport['log']> {
  const key = verifierKey(await logName(db), vault.checkpointPublicKey);
  const source = await openStoreLog(`sqlite:${scratch}`);
  try {
    const found = await verify(io, source, { key, files: [], retention: null, unsigned: true });
    const { sealed, covered, unsealed, checkpoints, findings } = found;
    const [first] = findings;
    if (first === undefined) return { sealed, covered, unsealed, checkpoints };
    throw new Error(
      `its audit log is not as it was signed (${findings.length} findings; the first: ${first.message}) ` +
        'Use another backup, and find out who could write to the store.',
    );
  } finally {
    await source.close();
  }
}

/** One sentence about what was verified. */
export function summaryOf({ entries, newestAt, schemaVersion, policies, keys, log }: CopyReport): string {
  const upTo = newestAt === null ? '' : ` up to ${newestAt.replace(/\.\d+Z$/, 'Z')}`;
  const newest = MIGRATIONS.at(-1)?.version ?? 0;
  const older =
    schemaVersion < newest ? `, and its schema was migrated from version ${schemaVersion} to ${newest}` : '';
  const signed =
    log === null
      ? 'The master key is not at hand, so it was not verified that it belongs to the copy, nor that the audit log is as it was signed.'
      : `The master key belongs to it. ${log.sealed} entries are sealed, ${log.covered} of them signed, and all are as they were sealed.`;
  return `it is sound${older}. ${entries} audit entries${upTo}, policies: ${policies}, keys: ${keys}. ${signed}`;
}
