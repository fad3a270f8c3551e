// The real Claude Code, with the settings that `toolgate connect` writes, told what to do by a model of ours.

import { describe, expect, test } from 'bun:test';
import { type Broken, testBrokenHook } from './broken-hook.ts';
import { claudeCode } from './claude-code.ts';
import { expectUnknown } from './offered.ts';
import { pageOf, said } from './page.ts';
import { type Tools, testScenario, testServiceAway } from './scenario.ts';
import { Switches } from './switches.ts';
import { hasAgent } from './workplace.ts';

const TOOLS: Tools = {
  shellName: 'claude-code__Bash',
  shell: command => ({ name: 'Bash', args: { command } }),
  write: (file_path, content) => ({ name: 'Write', args: { file_path, content } }),
  forged: (file_path, cwd) => ({ name: 'Write', args: { file_path, content: 'forged', cwd } }),
  settings: ['.claude/settings.json', '.claude.json', 'projects/app/.claude/settings.json'],
};

const BROKEN: Broken = { file: '.claude/settings.json', second: 1 };
const PAGE = pageOf('Claude Code');

describe.skipIf(!hasAgent('claude'))('Claude Code', () => {
  const shared = testScenario(claudeCode, TOOLS, { prompt: 'Look at @.env' });

  test('a file that a person mentions with @ is read without a hook', async () => {
    const isRead = JSON.stringify(shared.run.model.first).includes('PASSWORD=canary');
    expect(said(isRead)).toBe(PAGE('a person mentions a file with `@`'));
  });

  test('the table of tools knows all that it offers its model, but for these', () => {
    expectUnknown('claude-code', shared.run, [
      'Agent(isolation)',
      'DeferredToolPlaceholder',
      'ListAgents',
      'ReportFindings',
      'ScheduleWakeup',
      'Skill',
      'Workflow',
    ]);
  });

  testServiceAway(shared, TOOLS, PAGE);

  test('a hook that fails', () => testBrokenHook(shared.place, TOOLS, BROKEN, PAGE));

  test('what turns hooks off', async () => {
    const { place } = shared;
    const switches = new Switches(place, TOOLS, PAGE);
    const off = { files: { '.claude/settings.json': '{ "disableAllHooks": true }' } };
    await switches.test('a project that is not trusted turns hooks off', off);
    const known = JSON.parse(place.read('.claude.json'));
    known.projects = { ...known.projects, [place.project]: { hasTrustDialogAccepted: true } };
    place.write('.claude.json', JSON.stringify(known));
    await switches.test('a project turns hooks off', off);
    await switches.test('an option turns hooks off', { args: ['--settings', '{ "disableAllHooks": true }'] });
    await switches.testManaged([off]);
  });
});
