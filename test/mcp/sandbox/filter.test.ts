// The filter of system calls: its program is run by a small interpreter of its own, so that calls are tried which this
// machine could not make, such as those by 32-bit numbers. The numbers are compared with the kernel's headers.

import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { type Filtered, filterOf } from '../../../src/mcp/sandbox/filter.ts';
import { type CallName, NUMBERS, numberOf } from '../../../src/mcp/sandbox/system-calls.ts';
import { need } from '../../support/need.ts';

const HEADERS = [
  '/usr/include/x86_64-linux-gnu/asm/unistd_64.h',
  '/usr/include/asm-generic/unistd.h',
] as const;
/** Linux 6.1 has no later ones, nor have its headers. */
const NEWEST = 451;
const HAS_HEADERS =
  process.arch === 'x64' && need(HEADERS.every(existsSync), 'the headers of the Linux kernel, for x86-64');

describe.skipIf(!HAS_HEADERS)('the numbers of calls are the kernel’s', () => {
  test.each(['x86-64', 'arm64'] as const)('%s', architecture => {
    const column = architecture === 'x86-64' ? 0 : 1;
    const text = readFileSync(HEADERS[column], 'utf8');
    const theirs = new Map(
      [...text.matchAll(/#define __NR(?:3264)?_(\w+)\s+(\d+)/g)].map(([, name, number]) => [
        name,
        Number(number),
      ]),
    );
    const wrong = Object.entries(NUMBERS).filter(
      // Headers may be older than the newest calls.
      ([name, ours]) => (theirs.get(name) ?? null) !== ours[column] && (ours[column] ?? 0) < NEWEST,
    );
    expect(wrong).toEqual([]);
  });
});

interface Call {
  number: number;
  arch?: number;
  args?: number[];
}

const OWN_ARCH = process.arch === 'arm64' ? 0xc00000b7 : 0xc000003e;
const I386 = 0x40000003;
const X32_BIT = 0x40000000;

/** What the kernel does with this call: `allow`, `ask`, or the number of an error. */
function verdict(filtered: Partial<Filtered>, { number, arch = OWN_ARCH, args = [] }: Call): string | number {
  const program = filterOf({ network: true, write: null, memory: null, asks: true, ...filtered });
  const code = new DataView(program.buffer);
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, arch, true);
  for (const [index, value] of args.entries())
    data.setBigUint64(16 + 8 * index, BigInt.asUintN(64, BigInt(value)), true);
  let loaded = 0;
  for (let at = 0; at < program.length; at += 8) {
    const value = code.getUint32(at + 4, true);
    const jump = (is: boolean) => 8 * code.getUint8(at + (is ? 2 : 3));
    switch (code.getUint16(at, true)) {
      case 0x20:
        loaded = data.getUint32(value, true);
        break;
      case 0x54:
        loaded = (loaded & value) >>> 0;
        break;
      case 0x15:
        at += jump(loaded === value);
        break;
      case 0x35:
        at += jump(loaded >= value);
        break;
      case 0x06:
        if (value === 0x7fff0000) return 'allow';
        return value === 0x7fc00000 ? 'ask' : value & 0xffff;
      default:
        throw new Error('an instruction that the filter does not use');
    }
  }
  throw new Error('the program has no end');
}

const by = (name: CallName, ...args: number[]): Call => ({ number: numberOf(name) ?? -1, args });
const [EPERM, EACCES, ENOSYS, EOPNOTSUPP] = [1, 13, 38, 95];
const GETPID = process.arch === 'arm64' ? 172 : 39;
const NEWUSER = 0x10000000;
const THREAD = 0x3d0f00;
const SIGCHLD = 17;

const VERDICTS: [what: string, filtered: Partial<Filtered>, call: Call, expected: string | number][] = [
  ['a harmless call', {}, { number: GETPID }, 'allow'],
  ['the same by its 32-bit number', {}, { number: 20, arch: I386 }, ENOSYS],
  ['the same by the convention x32', {}, { number: GETPID | X32_BIT }, ENOSYS],
  ['a call of -1, which some kernels skip', {}, { number: 0xffffffff }, ENOSYS],
  ['a process', {}, by('clone', SIGCHLD), 'ask'],
  ['a thread', {}, by('clone', THREAD), 'ask'],
  ['a process, where nobody can be asked', { asks: false }, by('clone', SIGCHLD), 'allow'],
  ['a process in a namespace', {}, by('clone', NEWUSER | SIGCHLD), EPERM],
  ['the same, where nobody can be asked', { asks: false }, by('clone', NEWUSER), EPERM],
  ['a call whose flags lie in memory', {}, by('clone3'), ENOSYS],
  ['a trace', {}, by('ptrace', 16, 1), EPERM],
  ['a limit of its own', {}, by('prlimit64', 0, 7), 'allow'],
  ['a limit of another process', {}, by('prlimit64', 1, 7), EPERM],
  ['the same, with higher bits', {}, by('prlimit64', 2 ** 32 + 1, 7), EPERM],
  ['a key typed into a terminal', {}, by('ioctl', 0, 0x5412), EPERM],
  ['the same, with higher bits', {}, by('ioctl', 0, 2 ** 32 + 0x5412), EPERM],
  ['a socket', {}, by('socket', 2, 1, 0), 'allow'],
  ['a socket without the network', { network: false }, by('socket', 2, 1, 0), EACCES],
  ['a pair of streams without the network', { network: false }, by('socketpair', 1, 1), 'allow'],
  ['such a pair, closed on exec', { network: false }, by('socketpair', 1, 1 | 0x80000), 'allow'],
  ['a pair of datagram sockets', { network: false }, by('socketpair', 1, 2), EACCES],
  ['a pair of another family', { network: false }, by('socketpair', 40, 1), EACCES],
  ['an owner', {}, by('chown'), 'allow'],
  ['an owner, where it may not write', { write: [] }, by('fchownat'), EPERM],
  ['an attribute, where it may not write', { write: [] }, by('setxattr'), EOPNOTSUPP],
  ['private memory', { memory: 1 }, by('mmap', 0, 1, 3, 0x22), 'allow'],
  ['a file in memory', { memory: 1 }, by('mmap', 0, 1, 3, 0x01), 'allow'],
  ['shared memory', { memory: 1 }, by('mmap', 0, 1, 3, 0x21), EPERM],
  ['shared memory, with validated flags', { memory: 1 }, by('mmap', 0, 1, 3, 0x23), EPERM],
  ['memory that grows downwards', { memory: 1 }, by('mmap', 0, 1, 3, 0x122), EPERM],
  ['shared memory without a limit', {}, by('mmap', 0, 1, 3, 0x21), 'allow'],
  ['a segment of shared memory', {}, by('shmat', 1), ENOSYS],
];

test.each(VERDICTS)('%s', (_, filtered, call, expected) => {
  expect(verdict(filtered, call)).toBe(expected);
});

test('every call that is named is refused, or asked about, in some way', () => {
  const filtered = { network: false, write: [], memory: 1 };
  const odd = { args: [2 ** 31 - 1, 0x5412, 0, 0x21] };
  const allowed = (Object.keys(NUMBERS) as CallName[])
    .filter(name => numberOf(name) !== null)
    .filter(name => verdict(filtered, { ...by(name), ...odd }) === 'allow');
  expect(allowed).toEqual([]);
});
