// A folder in memory for a store that a test opens itself. Such a test proves nothing about disks, and waits for their
// syncs make up most of its time: on a disk with syncs of 2 ms, test/cli/audit-given-up.test.ts took five times as long
// on SQLite. Services that tests start keep their stores on the disk.

import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Containers often have 64 MiB there, which a few stores would fill. */
const ROOM = 1024 ** 3;

const made: string[] = [];
// Nobody else tidies up there before the machine stops.
process.on('exit', () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

/** In the usual place for such folders where memory has too little room, or none. */
export function memoryFolder(prefix: string): string {
  const folder = mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), prefix));
  made.push(folder);
  return folder;
}

function hasRoom(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > ROOM;
  } catch {
    return false;
  }
}
