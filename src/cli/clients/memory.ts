// What `toolgate connect` keeps for itself, in our folder of the user's configuration: clients.json has the address and
// the key of each client, for its hooks; connected.json says what was written where, so that it can be taken back.
// Both hold keys, so nobody else may read them.

import { chmodSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientId, Scope } from '../../core/clients/client.ts';
import { CliError, EXIT } from '../exit.ts';
import type { Edit } from './editor.ts';
import { makeFolders, type ReadFile, readConfig, removeFolders, writeConfig } from './files.ts';

export interface Credential {
  baseUrl: string;
  key: string;
}

export interface WrittenFile {
  client: ClientId;
  scope: Scope | 'managed';
  edits: Edit[];
  /** Whether we made the file; `folders` are those that we made for it. */
  created: boolean;
  folders: string[];
  /** The permissions that it had before the key was in it, if they were wider. */
  mode?: number | null;
}

export interface Memory {
  clients: Partial<Record<ClientId, Credential>>;
  files: Record<string, WrittenFile>;
  /** The keys that were made here, and not given. */
  keys: Partial<Record<ClientId, { id: string; name: string }>>;
  /** The folders that had to be made for these files. */
  folders: string[];
}

const CLIENTS = 'clients.json';
const CONNECTED = 'connected.json';

export function readMemory(folder: string): Memory {
  const connected = readConfig(join(folder, CONNECTED));
  const { files = {}, keys = {}, folders = [] } = objectIn(connected) as Partial<Memory>;
  return { clients: objectIn(readConfig(join(folder, CLIENTS))), files, keys, folders };
}

function objectIn({ path, text }: ReadFile): Record<string, never> {
  if (text === '') return {};
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The error is thrown below.
  }
  throw new CliError(EXIT.noAnswer, `${path} is not a JSON object. Correct it, or move it away.`);
}

/** Changes what is kept. It is read anew for that, because the same command may run for another client. */
export function updateMemory(folder: string, change: (memory: Memory) => void): Memory {
  const made = lock(folder);
  let memory: Memory;
  try {
    memory = readMemory(folder);
    memory.folders.push(...made);
    change(memory);
    writeMemory(folder, memory);
  } finally {
    rmSync(join(folder, LOCK), { recursive: true, force: true });
  }
  if (isEmpty(memory)) removeFolders(memory.folders);
  return memory;
}

const LOCK = 'lock';
const LOCK_MS = 10_000;

/** Only one process at a time goes on from here. Returns the folders that had to be made. */
function lock(folder: string): string[] {
  const path = join(folder, LOCK);
  const end = Date.now() + 3 * LOCK_MS;
  for (;;) {
    try {
      const made = makeFolders(folder, 0o700);
      mkdirSync(path);
      return made;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // ENOENT: another process has just removed the folder.
      if ((code !== 'EEXIST' && code !== 'ENOENT') || Date.now() > end)
        throw new CliError(EXIT.noAnswer, `${folder} cannot be written.`, { cause: error });
    }
    if (isLeft(path)) removeLeft(path);
    else Bun.sleepSync(10);
  }
}

/** Whether the process that made it was ended before it could remove it. */
function isLeft(path: string): boolean {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > LOCK_MS;
}

/** Only one process at a time looks and removes: another one would remove the lock that the first has taken by then. */
function removeLeft(path: string): void {
  const removing = `${path}.left`;
  try {
    mkdirSync(removing);
  } catch {
    if (isLeft(removing)) rmSync(removing, { recursive: true, force: true });
    return;
  }
  if (isLeft(path)) rmSync(path, { recursive: true, force: true });
  rmSync(removing, { recursive: true, force: true });
}

function isEmpty({ clients, files, keys }: Memory): boolean {
  return [clients, files, keys].every(each => Object.keys(each).length === 0);
}

function writeMemory(folder: string, memory: Memory): void {
  const { clients, files, keys, folders } = memory;
  if (isEmpty(memory)) {
    for (const name of [CLIENTS, CONNECTED]) rmSync(join(folder, name), { force: true });
    return;
  }
  writeObject(join(folder, CLIENTS), clients);
  writeObject(join(folder, CONNECTED), { files, keys, folders });
}

function writeObject(path: string, value: object): void {
  const read = readConfig(path);
  const text = `${JSON.stringify(value, null, 2)}\n`;
  if (read.text !== text) writeConfig(read, text, true);
  chmodSync(read.path, 0o600);
}
