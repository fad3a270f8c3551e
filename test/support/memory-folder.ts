// A folder in memory for a store that a test opens itself, and for the PostgreSQL that tests share. They prove nothing
// about disks, and waits for their syncs make up most of their time: on a disk with syncs of 2 ms,
// test/cli/audit-given-up.test.ts took five times as long on SQLite. Services that tests start on SQLite keep their
// stores on the disk.

import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const GIB = 1024 ** 3;

const made: string[] = [];
// Nobody else tidies up there before the machine stops.
process.on('exit', () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

export function memoryFolder(prefix: string): string {
  const folder = mkdtempSync(join(memory(GIB), prefix));
  made.push(folder);
  return folder;
}

/**
 * Where such folders are made: the usual place where memory has less room than that. Containers often have 64 MiB
 * there, which a few stores would fill.
 */
export const memory = (room: number): string => (hasRoom(room) ? MEMORY : tmpdir());

function hasRoom(room: number): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > room;
  } catch {
    return false;
  }
}
