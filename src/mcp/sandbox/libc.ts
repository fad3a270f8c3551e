// The functions of the C library that confining a command takes, and raw system calls. Only the processes that start and
// watch a confined command load this file; the service itself does not.

import { dlopen, type Library, ptr, read } from 'bun:ffi';

const LIBRARIES = ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`];

const FUNCTIONS = {
  // On both architectures a variadic function takes whole numbers as any other function does.
  syscall: { args: ['i64', 'i64', 'i64', 'i64', 'i64', 'i64'], returns: 'i64' },
  prctl: { args: ['int', 'i64', 'i64', 'i64', 'i64'], returns: 'int' },
  ioctl: { args: ['int', 'u64', 'ptr'], returns: 'int' },
  open: { args: ['ptr', 'int', 'int'], returns: 'int' },
  close: { args: ['int'], returns: 'int' },
  flock: { args: ['int', 'int'], returns: 'int' },
  poll: { args: ['ptr', 'u64', 'int'], returns: 'int' },
  waitpid: { args: ['int', 'ptr', 'int'], returns: 'int' },
  signal: { args: ['int', 'i64'], returns: 'i64' },
  setsid: { args: [], returns: 'int' },
  setrlimit: { args: ['int', 'ptr'], returns: 'int' },
  execve: { args: ['ptr', 'ptr', 'ptr'], returns: 'int' },
  socketpair: { args: ['int', 'int', 'int', 'ptr'], returns: 'int' },
  sendmsg: { args: ['int', 'ptr', 'int'], returns: 'i64' },
  recvmsg: { args: ['int', 'ptr', 'int'], returns: 'i64' },
  posix_spawn_file_actions_init: { args: ['ptr'], returns: 'int' },
  posix_spawn_file_actions_adddup2: { args: ['ptr', 'int', 'int'], returns: 'int' },
  posix_spawn: { args: ['ptr', 'ptr', 'ptr', 'ptr', 'ptr', 'ptr'], returns: 'int' },
  __errno_location: { args: [], returns: 'ptr' },
} as const;

export const libc = load();

function load(): Library<typeof FUNCTIONS>['symbols'] {
  for (const library of LIBRARIES) {
    try {
      return dlopen<typeof FUNCTIONS>(library, FUNCTIONS).symbols;
    } catch {
      // The system may have the other C library.
    }
  }
  throw new Error('no C library was found');
}

export function errno(): number {
  const place = libc.__errno_location();
  return place === null ? 0 : read.i32(place);
}

/** A system call by its number. Returns what it returned, or the negative number of its error. */
export function systemCall(number: number, ...args: number[]): number {
  const [a = 0, b = 0, c = 0, d = 0, e = 0] = args;
  const result = Number(libc.syscall(number, a, b, c, d, e));
  return result < 0 ? -errno() : result;
}

export function addressOf(bytes: NodeJS.TypedArray): number {
  return Number(ptr(bytes));
}

/** A text as C reads it. */
export function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}

/** The addresses that were given to the C library point into these, so they are kept. */
const KEPT: Buffer[] = [];

/** Texts as execve reads them. */
export function cStrings(texts: readonly string[]): BigUint64Array {
  const strings = texts.map(cString);
  KEPT.push(...strings);
  return new BigUint64Array([...strings.map(each => BigInt(addressOf(each))), 0n]);
}
