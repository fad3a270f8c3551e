// The files in the data folder besides the SQLite store, readable by their owner only: the secrets made at the first
// start (master key, admin token), and the signed checkpoints of the audit log.

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { mintToken } from '../guard/secrets.ts';

const MASTER_KEY = 'master.key';
const ADMIN_TOKEN = 'admin.token';
const CHECKPOINTS = 'checkpoints.txt';
const CHECKPOINT_KEY = 'checkpoints.pub';

const NOT_OURS = ['EACCES', 'EPERM', 'EROFS'];

/**
 * Explains what to do if the folder cannot be written, instead of only EACCES at the first file: a folder mounted into
 * a container often belongs to root.
 */
export function makeDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (!NOT_OURS.includes((error as NodeJS.ErrnoException).code ?? '')) {
      throw new Error(
        `The data folder ${dataDir} cannot be made: ${(error as Error).message}. TOOLGATE_DATA_DIR names it.`,
        { cause: error },
      );
    }
    throw new Error(
      `The data folder ${dataDir} cannot be written by user ${process.getuid?.()}: give it to that user, or name another folder with TOOLGATE_DATA_DIR.`,
      { cause: error },
    );
  }
}

/**
 * `makes` says whether a new key may be made. With a new key, the existing secrets of a store could never be decrypted.
 */
export function masterKeyIn(dataDir: string, makes: boolean): Uint8Array {
  if (!makes && !existsSync(masterKeyPath(dataDir))) throw masterKeyMissing(dataDir);
  const text = keep(dataDir, MASTER_KEY, () =>
    Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64'),
  );
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== 32) {
    throw new Error(
      `${masterKeyPath(dataDir)} does not hold base64 of 32 bytes. Put the file back as it was, or set TOOLGATE_MASTER_KEY.`,
    );
  }
  return new Uint8Array(bytes);
}

export function masterKeyPath(dataDir: string): string {
  return join(dataDir, MASTER_KEY);
}

function masterKeyMissing(dataDir: string): Error {
  return new Error(
    `${masterKeyPath(dataDir)} is missing, and TOOLGATE_MASTER_KEY is not set: what is encrypted in this store can be read only ` +
      'with the master key it was made with. Put the file back from where you keep it (it is no part of a backup of ' +
      'the store), or set TOOLGATE_MASTER_KEY to what it holds; every replica needs the same. Nothing was changed.',
  );
}

export function adminTokenIn(dataDir: string): string {
  return keep(dataDir, ADMIN_TOKEN, () => mintToken('admin').token);
}

export function adminTokenPath(dataDir: string): string {
  return join(dataDir, ADMIN_TOKEN);
}

/** Lets `toolgate audit verify` find the public key on this machine; auditors should keep their own copy of it. */
export function writeCheckpointKey(dataDir: string, text: string): void {
  writeFileSync(join(dataDir, CHECKPOINT_KEY), `${text}\n`, { mode: 0o600 });
}

/** Appends a note and syncs the file. Empty lines around a note separate it from one that a crash cut short. */
export async function appendCheckpoint(dataDir: string, note: string): Promise<void> {
  const file = await open(join(dataDir, CHECKPOINTS), 'a', 0o600);
  try {
    await file.write(`\n${note}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * The text of a file that is made once and never replaced. The file appears complete or not at all, even if the process
 * is killed: the text is first synced under another name, and if two processes start at once, the first one's file
 * stays. That other name is random, because two containers that share the folder may have the same process id.
 */
function keep(dataDir: string, name: string, make: () => string): string {
  const path = join(dataDir, name);
  if (!existsSync(path)) {
    const draft = `${path}.${crypto.randomUUID()}`;
    writeDurably(draft, `${make()}\n`);
    try {
      linkSync(draft, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    unlinkSync(draft);
    syncFolder(dataDir);
  }
  const text = readFileSync(path, 'utf8').trim();
  if (text === '')
    throw new Error(`${path} is empty. Restore it from a backup, or remove it if the store is new.`);
  return text;
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
