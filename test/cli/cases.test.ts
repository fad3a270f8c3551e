// The shared decision cases through the commands that work offline.

import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { type Case, type CaseFile, caseFiles, caseTitle, sessionOf } from '../support/cases.ts';
import { ROOT } from '../support/service.ts';
import { captured } from './captured.ts';
import { Shell } from './shell.ts';

const shell = new Shell();
afterAll(() => shell.close());

test('toolgate test finds every case as wanted', async () => {
  const files = caseFiles();
  const paths = files.map(({ file }) => join(ROOT, 'test/cases', file)).join(' ');
  const { stdout, code } = await shell.run(`toolgate test --json ${paths}`);
  const calls = files.reduce((sum, file) => sum + file.calls.length, 0);
  expect([JSON.parse(stdout), code]).toEqual([{ ok: true, calls, failures: [] }, 0]);
});

const EXIT = { allow: 0, deny: 1, pending: 2 } as const;
const unscoped = caseFiles().filter(({ session }) => !session?.scopeTools);

test.each(unscoped.map(file => [file.file, file] as const))('simulate: %s', async (name, file) => {
  shell.file(name, JSON.stringify(file.policy));
  for (const call of file.calls) {
    const io = captured(shell.folder);
    const words = ['--json', '--exit-code', ...optionsFor(file, call)];
    await run(['simulate', ...words, '--', name, `${call.server}__${call.tool}`], io);
    const what = caseTitle(call);
    expect([what, io.err, io.code]).toEqual([what, '', EXIT[call.want.decision]]);
    const got = JSON.parse(io.out);
    expect(got).toMatchObject(call.want);
    expect(Object.keys(got)).toEqual(['decision', 'ruleIndex', 'reason', 'trace']);
    for (const { ruleName, ...step } of got.trace) {
      expect(ruleName).toBe(file.policy.rules[step.ruleIndex]?.name);
      expect(Object.keys(step)).toEqual(['ruleIndex', 'applies', 'conditions', 'why']);
    }
  }
});

function optionsFor(file: CaseFile, call: Case): string[] {
  const { args, at, keyName, person, used = {} } = call;
  const given = { at, 'key-name': keyName, person, session: sessionOf(file, call)?.label };
  return [
    ...Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`])),
    ...Object.entries(used).map(([name, amount]) => `--used=${name}=${amount}`),
    ...(args === undefined ? [] : [`--args=${JSON.stringify(args)}`]),
  ];
}

test.each([
  ['a bare name is matched by patterns for bare names', 'deploy', 'deploy', 'allow'],
  ['and by those that any server’s full name would match', '*__deploy', 'deploy', 'allow'],
  ['but by none that names a server', 'prod__*', 'deploy', 'deny'],
  ['nor by one that only a nameless server would match', '_*', 'deploy', 'deny'],
  ['what begins with __ is a bare name', '*__init__', '__init__', 'allow'],
  ['which no pattern matches that names a server, also an empty one', '__init__', '__init__', 'deny'],
  ['a name with __ in it is a full one', 'github__get_*', 'github__get_secrets', 'allow'],
  ['of the server before the first __', 'github__get_*', 'evil__github__get_secrets', 'deny'],
])('simulate: %s', async (_, pattern, tool, decision) => {
  shell.file('bare.json', JSON.stringify([{ tool: pattern, action: 'allow' }]));
  const io = captured(shell.folder);
  await run(['simulate', 'bare.json', tool, '--json'], io);
  expect(JSON.parse(io.out)).toMatchObject({ decision, reason: expect.stringContaining(` ${tool}`) });
});

test('what a coding agent’s tool would do depends on the folder, of the call or of the file', async () => {
  const rule = 'path.within(agent.folder, "/srv") && agent.writes.all(p, path.within(p, "/srv/project"))';
  const policy = {
    name: 'agents',
    rules: [{ tool: '*', action: 'allow', when: `${rule} && surface == tool.server` }],
  };
  const call = (decision: string, path: string, folder?: string) => ({
    server: 'claude-code',
    tool: 'Write',
    args: { file_path: path, content: '' },
    ...(folder !== undefined && { folder }),
    want: { decision },
  });
  const calls = [
    call('allow', 'a.ts'),
    call('deny', '../a.ts'),
    call('deny', 'a.ts', '/srv/other'),
    call('deny', 'a.ts', '/home/ann/project'),
  ];
  shell.file('agents.yaml', JSON.stringify(policy));
  shell.file('agents.cases.yaml', JSON.stringify({ policy, folder: '/srv/project', calls }));
  expect(await shell.run('toolgate test agents.cases.yaml')).toMatchObject({
    stderr: '4 calls, all as wanted\n',
  });
  const words = `agents.yaml claude-code__Write --args '{"file_path":"a.ts","content":""}' --exit-code`;
  expect((await shell.run(`toolgate simulate ${words} --folder /srv/project`)).code).toBe(0);
  expect((await shell.run(`toolgate simulate ${words}`)).code).toBe(1);
});
