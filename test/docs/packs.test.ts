// The policies in packs/: their cases, and the first ideas of packs/naive.cases.yaml, none of whose calls they allow.

import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { run } from '../../src/cli/program.ts';
import { simulate } from '../../src/core/decision/simulate.ts';
import { compilePolicy } from '../../src/core/policy/compiled-policy.ts';
import { captured } from '../cli/captured.ts';
import type { Case } from '../support/cases.ts';
import { ROOT } from '../support/service.ts';

const FOLDER = join(ROOT, 'packs');
const read = (name: string) => parse(readFileSync(join(FOLDER, name), 'utf8'));
const coding = compilePolicy({ id: 'p', version: 1, ...read('coding.yaml') });

test('the coding pack is read in a minute', () => {
  const text = readFileSync(join(FOLDER, 'coding.yaml'), 'utf8');
  const lines = text.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(60);
  expect(lines.filter(line => line.length > 130)).toEqual([]);
  const patterns = Array.from(text.matchAll(/matches\(r?"([^"]*)"\)/g), ([, pattern = '']) => pattern);
  expect(patterns.filter(pattern => pattern.length > 80)).toEqual([]);
  expect(parse(text).rules.filter((rule: { name?: string }) => rule.name === undefined)).toEqual([]);
  expect(text).not.toMatch(/claude|codex|cursor|gemini|(?<!c\.)args\b/);
});

test('lint finds nothing', async () => {
  const io = captured(FOLDER);
  await run(['lint', '--strict', 'coding.yaml'], io);
  expect([io.err, io.code ?? 0]).toEqual(['coding.yaml: no problems\n', 0]);
});

test('every call gets the decision that its case wants', async () => {
  const io = captured(FOLDER);
  await run(['test', '--json', 'coding.cases.yaml', 'naive.cases.yaml'], io);
  const { calls, failures } = JSON.parse(io.out);
  expect(failures).toEqual([]);
  expect(calls).toBeGreaterThan(300);
});

test('what the first idea lets through is not allowed', () => {
  for (const { server, tool, args } of read('naive.cases.yaml').calls as Case[]) {
    const { decision } = simulate(
      coding,
      { serverName: server, toolName: tool },
      { at: 0, args, folder: '/srv/project' },
    );
    expect([args, decision]).not.toEqual([args, 'allow']);
  }
});

test('no condition is so costly that a long command is not judged', () => {
  const decided = (command: string) =>
    simulate(
      coding,
      { serverName: 'claude-code', toolName: 'Bash' },
      { at: 0, args: { command }, folder: '/srv/project' },
    ).decision;
  expect(decided(Array.from({ length: 60 }, (_, n) => `cat src/a${n}.ts`).join(' && '))).toBe('allow');
  expect(decided(`cat ${Array.from({ length: 120 }, (_, n) => `src/a${n}.ts`).join(' ')}`)).toBe('allow');
});

test('the shell of every agent is known by its name, with the folder that its event brings', () => {
  const text = readFileSync(join(FOLDER, 'coding.yaml'), 'utf8').replaceAll(
    '/srv/project',
    '/home/ann/project',
  );
  const policy = compilePolicy({ id: 'p', version: 1, ...parse(text) });
  const hooks = join(ROOT, 'test/vectors/hooks');
  const found: string[] = [];
  for (const agent of [
    'claude-code',
    'codex',
    'copilot',
    'cursor',
    'gemini-cli',
    'goose',
    'vscode',
    'windsurf',
  ]) {
    for (const name of readdirSync(join(hooks, agent)).filter(each => /^(shell.*|own)\.json$/.test(each))) {
      const { call } = JSON.parse(readFileSync(join(hooks, agent, name), 'utf8'));
      if (call === null) continue;
      const { cwd: _, command: __, ...args } = call.args;
      const field = agent === 'windsurf' ? 'command_line' : 'command';
      const decided = (command: string) =>
        simulate(policy, call, { at: 0, args: { ...args, [field]: command }, folder: '/home/ann/project' })
          .decision;
      expect([agent, name, decided('git status'), decided('git push'), decided('cat .env')]).toEqual([
        agent,
        name,
        'allow',
        'pending',
        'deny',
      ]);
      found.push(agent);
    }
  }
  expect(new Set(found).size).toBe(8);
});
