// The folder for temporary files that each confined command has for itself. It is removed when the command has ended.
// Its supervisor holds a lock on it, so that others can tell those that a crash has left behind.

import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { libc } from './libc.ts';

const PREFIX = 'toolgate-confined-';
const ATTEMPTS = 5;
const LOCK_EX = 2;
const LOCK_NB = 4;

/** Makes one in this folder, with mode 0700. Null if it cannot be made. */
export function makePrivateFolder(within: string): string | null {
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const folder = mkdtempSync(join(within, PREFIX));
      // Somebody who looked for abandoned ones may have removed it before it was locked.
      if (isLocked(folder)) return folder;
      removeFolder(folder);
    }
  } catch {
    // The folder does not exist, cannot be written, or is full.
  }
  return null;
}

/** The lock is held until this process ends. */
function isLocked(folder: string): boolean {
  try {
    const descriptor = openFolder(folder);
    return (
      libc.flock(descriptor, LOCK_EX | LOCK_NB) === 0 && fstatSync(descriptor).ino === lstatSync(folder).ino
    );
  } catch {
    return false;
  }
}

/** Removes those that nobody holds any more. That may take long, so no command should have to wait for it. */
export function removeAbandoned(within: string): void {
  for (const name of readdirSync(within)) {
    if (!name.startsWith(PREFIX)) continue;
    try {
      const descriptor = openFolder(join(within, name));
      const { uid } = fstatSync(descriptor);
      if (uid === process.getuid?.() && libc.flock(descriptor, LOCK_EX | LOCK_NB) === 0)
        removeFolder(join(within, name));
      closeSync(descriptor);
    } catch {
      // Somebody else removes it, or it belongs to another user.
    }
  }
}

function openFolder(folder: string): number {
  return openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/** A command may have left folders in it that not even their owner may list. */
export function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    openUpAndRemove(folder);
  }
}

function openUpAndRemove(folder: string): void {
  try {
    openUp(folder);
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // What cannot be removed stays until the next command ends.
  }
}

function openUp(folder: string): void {
  chmodSync(folder, 0o700);
  for (const each of readdirSync(folder, { withFileTypes: true }))
    if (each.isDirectory()) openUp(join(folder, each.name));
}
