// Machines that cannot confine all that a sandbox says, or nothing: a filter of system calls makes this one such a machine,
// as containers do. The command is refused with what is missing, or started with `bestEffort`, and then it is said what
// is not enforced.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { type Confined, confine } from '../../../src/mcp/sandbox/confine.ts';
import { ownProgram } from '../../../src/mcp/sandbox/features.ts';
import { judge, missing } from '../../../src/mcp/sandbox/judge.ts';
import { type Features, TALK } from '../../../src/mcp/sandbox/plan.ts';
import { connect, LegacyClient, startWithStdio, stdioScript, text } from '../../support/mcp.ts';
import { need } from '../../support/need.ts';
import { ROOT } from '../../support/service.ts';
import { UNLIMITED } from './confined.ts';
import { COMPILES, CONFINES, compile, folder, removeFolder } from './escapes.ts';

const WITHOUT = join(folder, 'without');
const LANDLOCK = '444,445,446';
const ERROR = { EPERM: 1, EBUSY: 16, ENOSYS: 38, EOPNOTSUPP: 95 };
const isX64 = process.arch === 'x64';
const CAPSET = isX64 ? '126' : '91';
const SECCOMP = isX64 ? '317' : '277';
const NOBODY = 65534;
const IS_ROOT = need(process.getuid?.() === 0, 'root, to become another user');

beforeAll(() => {
  if (!CONFINES || !COMPILES) return;
  compile('without.c', WITHOUT);
  chmodSync(folder, 0o755);
});
afterAll(removeFolder);

function probed(error: number, calls: string, ...as: string[]): Features {
  const { stdout } = Bun.spawnSync([WITHOUT, String(error), calls, ...as, ...ownProgram(), 'probe'], {
    env: {},
  });
  return JSON.parse(stdout.toString());
}

describe.skipIf(!CONFINES || !COMPILES)('what the probe finds', () => {
  test('without Landlock, it says why there is none', () => {
    const whys = [ERROR.ENOSYS, ERROR.EOPNOTSUPP, ERROR.EPERM].map(error => probed(error, LANDLOCK));
    for (const found of whys) expect(found).toMatchObject({ landlock: 0, filter: true, asks: true });
    expect(whys.map(({ noLandlock }) => noLandlock)).toEqual([
      'this kernel has no Landlock, or a container forbids it',
      'Landlock is turned off on this machine',
      'Landlock is forbidden here',
    ]);
  });

  test('Landlock that says its version and then restricts nothing is none', () => {
    expect(probed(ERROR.EPERM, '446')).toMatchObject({
      landlock: 0,
      noLandlock: 'Landlock is forbidden here',
    });
  });

  test('without seccomp, or where another program already asks, processes are not counted', () => {
    expect(probed(ERROR.EPERM, SECCOMP)).toMatchObject({ filter: false, asks: false });
    expect(probed(ERROR.EBUSY, 'listener')).toMatchObject({ filter: true, asks: false });
  });

  test.skipIf(!IS_ROOT)('a user without capabilities need not be allowed to give them up', () => {
    const found = probed(ERROR.EPERM, CAPSET, 'as', String(NOBODY));
    expect(found).toMatchObject({ filter: true, asks: true });
    expect(found.landlock).toBeGreaterThan(0);
  });
});

/** The numbers of this machine's system calls, by their names. */
const HEADERS = '/usr/include/x86_64-linux-gnu/asm/unistd_64.h';
const numbers = existsSync(HEADERS)
  ? new Map(
      [...readFileSync(HEADERS, 'utf8').matchAll(/__NR_(\w+) (\d+)/g)].map(([, name, number]) => [
        name,
        number,
      ]),
    )
  : new Map();
const ANALYZES =
  isX64 &&
  need(
    Bun.which('systemd-analyze') !== null && numbers.size > 0,
    'systemd, whose lists of system calls our unit names, and the kernel’s headers for x86-64',
  );

/** What our unit forbids, by number. */
function forbiddenByUnit(): string {
  const unit = readFileSync(join(ROOT, 'deploy/toolgate.service'), 'utf8');
  const allowed = new Set<string>();
  for (const [, not, words = ''] of unit.matchAll(/^SystemCallFilter=(~?)(.*)$/gm))
    for (const name of words.split(' ').flatMap(namesOf))
      if (not) allowed.delete(name);
      else allowed.add(name);
  return [...numbers].flatMap(([name, number]) => (allowed.has(name) ? [] : [number])).join(',');
}

/** Of a group such as `@process`, what it and the groups in it list. */
function namesOf(word: string): string[] {
  if (!word.startsWith('@')) return [word];
  const lines = Bun.spawnSync(['systemd-analyze', 'syscall-filter', word])
    .stdout.toString()
    .split('\n')
    .slice(1);
  return lines.flatMap(line => (/^\s+(@?\w[\w-]*|@[\w-]+)\s*$/.test(line) ? namesOf(line.trim()) : []));
}

describe.skipIf(!CONFINES || !COMPILES || !ANALYZES || !IS_ROOT)('the unit of systemd', () => {
  test('lets commands be confined', () => {
    const found = probed(ERROR.EPERM, forbiddenByUnit(), 'as', String(NOBODY));
    expect(found).toMatchObject({ filter: true, asks: true });
    expect(found.landlock).toBeGreaterThan(0);
  });

  test('lets a confined command run', async () => {
    const { argv, plan } = (await confine(
      {
        command: '/bin/echo',
        args: ['runs'],
        env: {},
        sandbox: { ...UNLIMITED, read: ['runtime'], write: [], processes: 0 },
      },
      {},
    )) as Confined;
    const child = spawn(WITHOUT, [String(ERROR.EPERM), forbiddenByUnit(), 'as', String(NOBODY), ...argv], {
      env: {},
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    });
    (child.stdio[TALK] as Writable).write(plan);
    expect(await new Response(child.stdout as never).text()).toBe('runs\n');
  });
});

const ALL = { ...UNLIMITED, read: [], write: [], network: false, memory: 1, processes: 1 };
const WHOLE: Features = { supported: true, landlock: 6, noLandlock: '', filter: true, asks: true };
const JUDGED: [what: string, features: Partial<Features>, notEnforced: string[], part: string][] = [
  ['a kernel that has it all', {}, [], ''],
  ['Linux 6.7', { landlock: 4 }, ['isolation'], 'Linux 6.12 can'],
  ['Linux 5.13', { landlock: 1 }, ['write', 'isolation'], 'Linux 6.2 can'],
  ['a kernel without Landlock', { landlock: 0, noLandlock: 'none' }, ['read', 'write', 'isolation'], 'none'],
  [
    'a machine without seccomp',
    { filter: false, asks: false },
    ['network', 'processes', 'isolation'],
    'seccomp',
  ],
  ['a filter that cannot ask', { asks: false }, ['processes'], 'Linux 5.5'],
];

test.each(JUDGED)('%s', (_, features, notEnforced, part) => {
  const judged = judge(ALL, { ...WHOLE, ...features });
  expect(judged.notEnforced.map(({ what }) => what)).toEqual(notEnforced);
  expect(missing(judged) ?? '').toContain(part);
});

test('another system than Linux enforces nothing', () => {
  const judged = judge(ALL, { ...WHOLE, supported: false });
  expect([judged.enforced, judged.notEnforced.length]).toEqual([[], 6]);
});

describe.skipIf(!CONFINES || !COMPILES)('a service on a machine without Landlock', () => {
  const sandbox = { read: ['runtime'], write: [], network: false };
  const script = (more: object) => ({
    ...stdioScript('good', '/dev/null'),
    sandbox: { ...sandbox, ...more },
  });
  const servers = { strict: script({}), lenient: script({ bestEffort: true }) };

  test('refuses the command and says what is missing, or starts it and says what is not enforced', async () => {
    const wrap = [WITHOUT, String(ERROR.ENOSYS), LANDLOCK];
    const { service, end } = await startWithStdio(servers, { wrap });
    try {
      const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }]);
      for (const name of ['strict', 'lenient'])
        await connect(service, keyId, name, { transport: 'stdio', server: name });
      const client = await LegacyClient.open(service, key);
      expect(text(await client.call('lenient__echo', { n: 1 }))).toBe('{"n":1}');
      expect((await client.tools()).map(({ name }) => name)).not.toContain('strict__echo');

      const lacks = 'this kernel has no Landlock, or a container forbids it';
      const notEnforced = ['read', 'write', 'isolation'].map(what => ({ what, why: lacks }));
      const confinement = { enforced: ['network'], notEnforced };
      const { stdioServers } = (await service.admin('GET', '/server-file')).body;
      expect(stdioServers).toMatchObject([{ confinement }, { confinement }]);
      const tools = (await service.admin('GET', `/keys/${keyId}/connected-tools`)).body.connectedTools;
      for (const each of tools) expect(each.sandbox).toEqual(confinement);
      const strict = tools.find(({ name }: { name: string }) => name === 'strict');
      expect(strict.health.error).toContain(`sandbox.read cannot be enforced here: ${lacks}`);

      const { checks } = (await service.admin('GET', '/doctor')).body;
      const lines = checks.filter(({ name }: { name: string }) => name.startsWith('sandbox'));
      expect(lines).toMatchObject([
        {
          name: 'sandbox of strict',
          state: 'bad',
          message: expect.stringContaining('sandbox.bestEffort: true'),
        },
        { name: 'sandbox of lenient', state: 'warning', message: expect.stringContaining(`read (${lacks})`) },
      ]);
    } finally {
      await end();
    }
  });
});
