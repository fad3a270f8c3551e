// What `toolgate connect` keeps for itself, in our folder of the user's configuration: clients.json has the address and
// the key of each client, for its hooks; connected.json says what was written where, so that it can be taken back.
// Both hold keys, so nobody else may read them.

import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientId, Scope } from '../../core/clients/client.ts';
import { CliError, EXIT } from '../exit.ts';
import type { Edit } from './editor.ts';
import { ChangedMeanwhile, type ReadFile, readConfig, removeFolders, writeConfig } from './files.ts';

export interface Credential {
  baseUrl: string;
  key: string;
}

export interface WrittenFile {
  client: ClientId;
  scope: Scope;
  edits: Edit[];
  /** The file did not exist, nor did these folders. */
  created: boolean;
  folders: string[];
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
  return memoryIn(readFiles(folder));
}

/**
 * Changes what is kept. It is read anew for that, because the same command may have run for another client since; if
 * that happens even now, once more.
 */
export function updateMemory(folder: string, change: (memory: Memory) => void): Memory {
  for (let tries = 1; ; tries++) {
    const files = readFiles(folder);
    const memory = memoryIn(files);
    change(memory);
    try {
      writeMemory(folder, files, memory);
      return memory;
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile) || tries === MOST_TRIES) throw error;
    }
  }
}

const MOST_TRIES = 100;

interface Files {
  clients: ReadFile;
  connected: ReadFile;
}

function readFiles(folder: string): Files {
  return { clients: readConfig(join(folder, CLIENTS)), connected: readConfig(join(folder, CONNECTED)) };
}

function memoryIn(read: Files): Memory {
  const { files = {}, keys = {}, folders = [] } = objectIn(read.connected) as Partial<Memory>;
  return { clients: objectIn(read.clients), files, keys, folders };
}

function objectIn({ path, text }: ReadFile): Record<string, never> {
  if (text === '') return {};
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // It is said below.
  }
  throw new CliError(EXIT.noAnswer, `${path} is not a JSON object. Correct it, or move it away.`);
}

function writeMemory(folder: string, read: Files, memory: Memory): void {
  const { clients, files, keys } = memory;
  const isEmpty = [clients, files, keys].every(each => Object.keys(each).length === 0);
  if (isEmpty) {
    for (const name of [CLIENTS, CONNECTED]) rmSync(join(folder, name), { force: true });
    removeFolders(memory.folders);
    return;
  }
  memory.folders.push(...writeObject(read.clients, clients));
  writeObject(read.connected, { files, keys, folders: memory.folders });
}

/** Returns the folders that had to be made. */
function writeObject(read: ReadFile, value: object): string[] {
  const text = `${JSON.stringify(value, null, 2)}\n`;
  const folders = read.text === text ? [] : writeConfig(read, text, true);
  chmodSync(read.path, 0o600);
  return folders;
}
