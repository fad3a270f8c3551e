// A lock on an open file itself, whatever its name is (on Linux: an open file description lock). It covers one byte far
// behind the end of the file, which no lock of SQLite touches, so readers such as a backup are not affected. On other
// systems no such lock is taken.

import { dlopen, ptr } from 'bun:ffi';
import { closeSync } from 'node:fs';

const LIBRARIES = ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`];
const F_OFD_GETLK = 36;
const F_OFD_SETLK = 37;
const F_WRLCK = 1;
const F_UNLCK = 2;
/** The locked byte; SQLite's own locks are at 1 GiB. */
const AT = 1n << 62n;
const ATTEMPTS = 3;

export interface FileLock {
  release(): void;
}

/** Takes ownership of the descriptor: `release` closes it, or this function does if it takes no lock. */
export function lockDescriptor(descriptor: number): FileLock | 'taken' | null {
  const fcntl = systemCall();
  // The other process may release the lock between the two calls.
  for (let left = ATTEMPTS; fcntl !== null && left > 0; left--) {
    const lock = wanted();
    if (fcntl(descriptor, F_OFD_SETLK, ptr(lock)) === 0) return { release: () => closeSync(descriptor) };
    if (fcntl(descriptor, F_OFD_GETLK, ptr(lock)) !== 0) break;
    if (lock[0] !== F_UNLCK) {
      closeSync(descriptor);
      return 'taken';
    }
  }
  closeSync(descriptor);
  return null;
}

type Fcntl = (descriptor: number, command: number, lock: ReturnType<typeof ptr>) => number;

function systemCall(): Fcntl | null {
  if (process.platform !== 'linux') return null;
  for (const library of LIBRARIES) {
    try {
      return dlopen(library, { fcntl: { args: ['int', 'int', 'ptr'], returns: 'int' } }).symbols.fcntl;
    } catch {
      // The system may have the other C library.
    }
  }
  return null;
}

/** `struct flock` on 64-bit Linux: type, whence (0: from the start), start, length, process id. */
function wanted(): Uint8Array {
  const lock = new DataView(new ArrayBuffer(32));
  lock.setInt16(0, F_WRLCK, true);
  lock.setBigInt64(8, AT, true);
  lock.setBigInt64(16, 1n, true);
  return new Uint8Array(lock.buffer);
}
