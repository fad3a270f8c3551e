// Reads the lock file of tools, which a setting names. core/definitions/lock-file.ts knows its lines.

import { readFileSync, statSync } from 'node:fs';
import { parseLockFile, type ToolsLock } from '../core/definitions/lock-file.ts';
import { Wrong } from './setting-readers.ts';

/** Ten thousand tools take about a megabyte. */
const MOST_BYTES = 64 * 1024 * 1024;

export function toolsLock(path: string): ToolsLock {
  const lock = parseLockFile(path, textOf(path));
  if ('fault' in lock) throw new Wrong(`a lock file of tools, but its line ${lock.line} ${lock.fault}`);
  return lock;
}

function textOf(path: string): string {
  try {
    if (statSync(path).size > MOST_BYTES) throw new Error('it is larger than 64 MiB');
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    throw new Wrong(`a file that can be read (${(error as Error).message})`);
  }
}
