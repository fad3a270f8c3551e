// What a confined command must not be able to do, however it tries. Each attempt is also made without the sandbox, where
// it succeeds: otherwise its failure would prove nothing.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plan } from '../../../src/mcp/sandbox/plan.ts';
import type { Sandbox } from '../../../src/settings/sandbox.ts';
import { need } from '../../support/need.ts';
import { run } from './confined.ts';
import {
  COMPILES,
  CONFINES,
  compileEscapes,
  folder,
  LIBRARIES,
  many,
  PROGRAM,
  removeFolder,
  results,
} from './escapes.ts';

const inside = join(folder, 'inside');
const outside = join(folder, 'outside');
const secret = join(outside, 'secret');
const SOCKETS = { stream: join(outside, 'stream'), datagrams: join(outside, 'datagrams') };
const abstract = `toolgate-test-${process.pid}`;
const queue = `/${abstract}`;
const NOBODY = 65534;
const ROOT_ONLY = need(process.getuid?.() === 0, 'root, who alone may make some of the attempts at all');

let victim: ReturnType<typeof Bun.spawn>;
let address = '';
let segment = '';
let listener: Bun.TCPSocketListener;

/** The files as they are before the attempts. */
function setUp(): void {
  rmSync(inside, { recursive: true, force: true });
  for (const each of [inside, join(outside, 'folder')]) mkdirSync(each, { recursive: true });
  for (const name of ['secret', 'kept', 'moved', 'doomed']) writeFileSync(join(outside, name), name);
  for (const name of ['created', 'linked', 'made', 'moved-in'])
    rmSync(join(outside, name), { recursive: true, force: true });
  writeFileSync(join(inside, 'own'), 'own');
  if (!ROOT_ONLY || !existsSync(PROGRAM)) return;
  copyFileSync(PROGRAM, join(inside, 'as-nobody'));
  chownSync(join(inside, 'as-nobody'), NOBODY, NOBODY);
  chmodSync(join(inside, 'as-nobody'), 0o4755);
}

beforeAll(async () => {
  if (!CONFINES || !COMPILES) return;
  setUp();
  compileEscapes();
  listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const serve = [PROGRAM, 'serve', SOCKETS.stream, SOCKETS.datagrams, abstract, queue];
  const started = Bun.spawn(serve, { env: { SECRET: 'of the service' }, stdout: 'pipe' });
  victim = started;
  const { value } = await started.stdout.getReader().read();
  [address = '', segment = ''] = new TextDecoder().decode(value).trim().split(' ');
});
afterAll(async () => {
  victim?.kill('SIGTERM');
  await victim?.exited;
  listener?.stop(true);
  removeFolder();
});

/** A function, because some of it is known only when the tests run. */
type Attempt = () => string[];
const of = (path: string) => `/proc/${victim.pid}/${path}`;

const FILES: Record<string, Attempt> = {
  'reads a file outside': () => ['read', secret],
  'lists a folder outside': () => ['list', outside],
  'reads it through /proc/self/root': () => ['read', `/proc/self/root${secret}`],
  'reads it by way of its own folder': () => ['read', join(inside, '../outside/secret')],
  'reads it through a symbolic link': () => ['symlink-read', secret, join(inside, 'link')],
  'runs a program outside': () => ['exec', Bun.which('true') ?? ''],
  'writes a file outside': () => ['write', secret],
  'truncates a file outside': () => ['truncate', join(outside, 'kept')],
  'truncates a file outside as it opens it': () => ['truncate-open', join(outside, 'kept')],
  'creates a file outside': () => ['create', join(outside, 'created')],
  'makes a folder outside': () => ['mkdir', join(outside, 'made')],
  'removes a file outside': () => ['unlink', join(outside, 'doomed')],
  'moves a file out': () => ['rename', join(inside, 'own'), join(outside, 'moved-in')],
  'moves a file in': () => ['rename', join(outside, 'moved'), join(inside, 'moved')],
  'links a file in': () => ['link', secret, join(inside, 'hard-link')],
  'changes the owner of a file outside': () => ['chown', secret],
  'gives a file outside an attribute': () => ['attribute', secret],
  'runs itself from memory, and reads a file outside': () => ['from-memory', PROGRAM, secret],
  'writes through /proc/self/root': () => ['write', `/proc/self/root${secret}`],
};

const NETWORK: Record<string, Attempt> = {
  'connects by TCP': () => ['tcp', String(listener.port)],
  'listens by TCP': () => ['tcp-bind'],
  'sends by UDP': () => ['udp', '9'],
  'sends with the first packet of TCP': () => ['fast-open', String(listener.port)],
  'opens a netlink socket': () => ['netlink'],
  'connects to a Unix socket': () => ['unix', SOCKETS.stream],
  'connects to an abstract Unix socket': () => ['unix-abstract', abstract],
  'turns a pair of datagram sockets to another address': () => ['pair-datagram', SOCKETS.datagrams],
  'sends from such a pair to another address': () => ['pair-sends', SOCKETS.datagrams],
  'does so with a raw pair': () => ['pair-raw', SOCKETS.datagrams],
};

const OTHERS: Record<string, Attempt> = {
  'reads a file through the root of the service': () => ['read', of(`root${secret}`)],
  'reads the folder in which it was started': () => ['open', of('cwd')],
  'sends a signal to the service': () => ['signal', String(victim.pid), '0'],
  'sends one to a thread of it': () => ['signal-thread', String(victim.pid)],
  'sends one by a descriptor of it': () => ['signal-pidfd', String(victim.pid)],
  'shares memory with it': () => ['segment', segment],
  'opens a queue of its messages': () => ['queue', queue],
  'adds a key to those of its user': () => ['key'],
  'reads its environment': () => ['read', of('environ')],
  'opens what it has open': () => ['open', of('fd/0')],
  'opens its memory': () => ['open', of('mem')],
  'reads its memory by a call': () => ['vm-read', String(victim.pid), address],
  'traces it': () => ['ptrace', String(victim.pid)],
  'takes a descriptor of it': () => ['pidfd-getfd', String(victim.pid)],
  'changes its limits': () => ['limit', String(victim.pid)],
  'changes its priority': () => ['priority', String(victim.pid)],
  'makes a namespace': () => ['unshare'],
  'makes a process in a namespace': () => ['clone-namespace'],
  'calls clone3, whose flags no filter can read': () => ['clone3'],
  'uses io_uring, which no filter sees': () => ['io-uring'],
  'calls by 32-bit numbers': () => ['call32'],
  'types into a terminal': () => ['type-ahead'],
};

const OF_ROOT: Record<string, Attempt> = {
  'opens a raw socket': () => ['raw'],
  'opens a packet socket': () => ['packet'],
  'mounts something': () => ['mount', inside],
  'runs a program with the rights of its owner': () => ['exec-as', join(inside, 'as-nobody'), String(NOBODY)],
  'makes a device': () => ['mknod', join(inside, 'disk')],
  'restarts the machine': () => ['reboot'],
};

/** Not every kernel has these at all. */
const OF_SOME_KERNELS: Record<string, Attempt> = {
  'opens a socket of MPTCP': () => ['mptcp'],
  'opens a socket of SCTP': () => ['sctp'],
};

/** What refused system calls return. */
const REFUSALS = { EPERM: 1, EBADF: 9, EACCES: 13, EXDEV: 18, ENOSYS: 38, EOPNOTSUPP: 95 };

/** It may read all of /proc, so that what is in it is not kept from it by its path. */
const WHOLE = (): Partial<Sandbox> => ({
  read: [...LIBRARIES, PROGRAM, inside, '/proc'],
  write: [inside],
  network: false,
});

function namesOf(
  attempts: Record<string, Attempt>,
  codes: number[],
  fits: (code: number) => boolean,
): string[] {
  return Object.keys(attempts).filter((_, index) => fits(codes[index] ?? 0));
}

/** The attempts that succeed. */
async function succeeding(
  limits: Partial<Sandbox> | null,
  attempts: Record<string, Attempt>,
  as: Partial<Plan> = {},
): Promise<string[]> {
  setUp();
  const words = many(Object.values(attempts).map(each => each()));
  const out =
    limits === null ? Bun.spawnSync(words).stdout.toString() : (await run(limits, words, {}, as)).out;
  const codes = results(out);
  expect(codes).toHaveLength(words.filter(each => each === '--').length + 1);
  const odd = namesOf(attempts, codes, code => code !== 0 && !Object.values(REFUSALS).includes(code));
  expect({ odd, codes: odd.length > 0 ? codes : [] }).toEqual({ odd: [], codes: [] });
  return namesOf(attempts, codes, code => code === 0);
}

describe.skipIf(!CONFINES || !COMPILES)('a confined command', () => {
  const all = { ...FILES, ...NETWORK, ...OTHERS, ...(ROOT_ONLY ? OF_ROOT : {}) };

  test('escapes by none of these ways, each of which works without a sandbox', async () => {
    expect(await succeeding(null, all)).toEqual(Object.keys(all));
    expect(await succeeding(WHOLE(), { ...all, ...OF_SOME_KERNELS })).toEqual([]);
  });

  test('sends no signal by way of the kernel', async () => {
    const aim = async (wrapped: (words: string[]) => unknown) => {
      const target = Bun.spawn(['sleep', '300']);
      await wrapped([PROGRAM, 'signal-by-file', String(target.pid)]);
      // It is a signal that ends whoever gets it; what was sent before this one comes first.
      target.kill('SIGTERM');
      await target.exited;
      return target.signalCode;
    };
    expect(await aim(words => Bun.spawnSync(words))).toBe('SIGIO');
    expect(await aim(words => run(WHOLE(), words))).toBe('SIGTERM');
  });

  test('may do within its folder what it may not do outside', async () => {
    const work = {
      reads: () => ['read', join(inside, 'own')],
      creates: () => ['create', join(inside, 'new')],
      truncates: () => ['truncate', join(inside, 'own')],
      'makes a folder': () => ['mkdir', join(inside, 'folder')],
      moves: () => ['rename', join(inside, 'own'), join(inside, 'folder/own')],
      links: () => ['link', join(inside, 'folder/own'), join(inside, 'linked')],
      removes: () => ['unlink', join(inside, 'linked')],
      'writes to /dev/null': () => ['write', '/dev/null'],
      'has sockets between its own processes': () => ['pair-works'],
    };
    expect(await succeeding(WHOLE(), work)).toEqual(Object.keys(work));
  });

  test('is limited in nothing by fields that are absent', async () => {
    const free = { ...FILES, ...NETWORK };
    expect(await succeeding({}, free)).toEqual(Object.keys(free));
    expect(await succeeding({}, OTHERS)).toEqual([]);
    const { read, write } = WHOLE();
    expect(await succeeding({ read: read ?? [], write: write ?? [] }, NETWORK)).toEqual(Object.keys(NETWORK));
    expect(await succeeding({ network: false }, FILES)).toEqual(Object.keys(FILES));
  });

  test('with `read` alone writes where it likes, and with `write` alone reads where it likes', async () => {
    const reads = { reads: () => ['read', secret], lists: () => ['list', outside] };
    const writes = {
      writes: () => ['write', secret],
      creates: () => ['create', join(outside, 'created')],
      removes: () => ['unlink', join(outside, 'doomed')],
    };
    const both = { ...reads, ...writes };
    expect(await succeeding({ read: WHOLE().read ?? [] }, both)).toEqual(Object.keys(writes));
    expect(await succeeding({ write: [inside] }, both)).toEqual(Object.keys(reads));
    // Nor does it get at a secret by moving it to where it may read.
    const tricks = {
      'moves it in': () => ['rename', secret, join(inside, 'secret')],
      'links it in': () => ['link', join(outside, 'kept'), join(inside, 'kept')],
    };
    expect(await succeeding({ read: WHOLE().read ?? [] }, tricks)).toEqual([]);
  });

  test('gets no descriptor but its input, its output and its standard error', async () => {
    const { report } = await run(WHOLE(), [PROGRAM, 'descriptors']);
    expect(report).toEqual({ kind: 'ended', code: REFUSALS.EBADF, why: null });
  });

  test('cannot lower the priority of everything its user runs, or turn the clock', async () => {
    const attempts = { lowers: () => ['priority-user'], turns: () => ['clock'] };
    expect(await succeeding({}, attempts)).toEqual([]);
  });

  test('is limited as far as an older Landlock can, with what it cannot', async () => {
    const { 'truncates a file outside': _, ...others } = FILES;
    // Before version 2, nothing could be moved between folders at all.
    for (const landlock of [1, 2]) expect(await succeeding(WHOLE(), others, { landlock })).toEqual([]);
    for (const landlock of [3, 4, 5])
      expect(await succeeding(WHOLE(), { ...FILES, ...NETWORK }, { landlock })).toEqual([]);
  });
});
