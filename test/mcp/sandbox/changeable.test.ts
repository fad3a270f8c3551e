// Links and programs in folders that the command may write: what it puts there grants it nothing at its next start.

import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isChangeable } from '../../../src/mcp/sandbox/changeable.ts';
import { confine, confinementFault } from '../../../src/mcp/sandbox/confine.ts';
import type { Plan } from '../../../src/mcp/sandbox/plan.ts';
import type { Sandbox } from '../../../src/settings/sandbox.ts';
import { run, UNLIMITED } from './confined.ts';
import { CONFINES } from './escapes.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolgate-changeable-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string) => join(folder, name);
const [work, secret] = [at('work'), at('secret')];
const PATH = process.env['PATH'] ?? '';

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  for (const each of [work, join(work, 'docs'), secret, at('operator')]) mkdirSync(each, { recursive: true });
  writeFileSync(join(secret, 'file'), 'secret');
});

const server = (limits: Partial<Sandbox>, command = '/bin/cat') => ({
  command,
  args: [join(secret, 'file')],
  env: {},
  sandbox: { ...UNLIMITED, ...limits },
});
const planOf = async (limits: Partial<Sandbox>, command?: string): Promise<Plan> =>
  JSON.parse((await confine(server(limits, command), { PATH }))?.plan ?? '{}');

test('a path is changeable below what is written, however it gets there', () => {
  symlinkSync(work, at('to-work'));
  symlinkSync('../secret', at('operator/link'));
  const cases: [path: string, is: boolean][] = [
    [work, false],
    [join(work, 'docs'), true],
    [at('to-work/docs'), true],
    [at('to-work'), false],
    [at('operator/link'), false],
    [`${folder}/operator/../work/docs/..`, true],
    [at('working'), false],
    ['/', false],
  ];
  for (const [path, is] of cases) expect([path, isChangeable(path, [work])]).toEqual([path, is]);
});

test('a circle of links counts as changeable', () => {
  symlinkSync(at('b'), at('a'));
  symlinkSync(at('a'), at('b'));
  expect(isChangeable(at('a'), [])).toBe(true);
});

describe.skipIf(!CONFINES)('a command', () => {
  test('is granted a folder within one that it may write along with that one', async () => {
    const limits = { read: [join(work, 'docs')], write: [work, join(work, 'docs')] };
    expect(await confinementFault(server(limits))).toBeNull();
    expect(await planOf(limits)).toMatchObject({ read: [work, '/dev/null'], write: [work, '/dev/null'] });
  });

  test('is not granted what a link there leads to, and not started', async () => {
    rmSync(join(work, 'docs'), { recursive: true });
    symlinkSync(secret, join(work, 'docs'));
    const limits = { read: ['runtime', join(work, 'docs')], write: [work] };
    expect(await confinementFault(server(limits))).toContain('by a symbolic link');
    // Nor if the link is put there after somebody looked.
    expect((await planOf(limits)).read).not.toContain(join(work, 'docs'));
    expect((await planOf({ write: [work, join(work, 'docs')] })).write).toEqual([work, '/dev/null']);
  });

  test('follows the links of others', async () => {
    symlinkSync(secret, at('operator/link'));
    const { args, sandbox } = server({
      read: ['runtime', '/bin', '/usr/bin', at('operator/link')],
      write: [work],
    });
    expect((await run(sandbox, ['/bin/cat', ...args])).out).toBe('secret');
  });

  test('is granted no `runtime` of a program that it may change', async () => {
    const program = join(work, 'program');
    copyFileSync('/bin/cat', program);
    const limits = { read: ['runtime'], write: [work] };
    expect(await confinementFault(server(limits, program))).toContain('change its own program');
    expect(await confinementFault(server({ ...limits, write: [] }, program))).toBeNull();
    // A script outside names an interpreter inside, which names the secret.
    const script = at('operator/script');
    writeFileSync(script, `#!${join(work, 'interpreter')}\n`);
    writeFileSync(join(work, 'interpreter'), `#!${join(secret, 'file')}\n`);
    for (const each of [script, join(work, 'interpreter')]) chmodSync(each, 0o755);
    const { read } = await planOf(limits, script);
    expect(read).toContain(script);
    expect(read?.filter(each => each.startsWith(secret))).toEqual([]);
    expect(existsSync('/lib') ? read : ['/lib']).toContain('/lib');
  });
});
