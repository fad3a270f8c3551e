// The real Gemini CLI, with the settings that `toolgate connect` writes, told what to do by a model of ours.

import { describe, expect, test } from 'bun:test';
import { type Broken, testBrokenHook } from './broken-hook.ts';
import { geminiCli, startAcp } from './gemini-cli.ts';
import { expectUnknown } from './offered.ts';
import { pageOf, said } from './page.ts';
import { type Tools, testScenario, testServiceAway } from './scenario.ts';
import { Switches } from './switches.ts';
import { hasAgent } from './workplace.ts';

const TOOLS: Tools = {
  shellName: 'gemini-cli__run_shell_command',
  shell: command => ({ name: 'run_shell_command', args: { command } }),
  write: (file_path, content) => ({ name: 'write_file', args: { file_path, content } }),
  forged: (file_path, cwd) => ({ name: 'write_file', args: { file_path, content: 'forged', cwd } }),
  settings: ['.gemini/settings.json', 'projects/app/.gemini/settings.json'],
};

const BROKEN: Broken = { file: '.gemini/settings.json', second: 1000 };
const PAGE = pageOf('Gemini CLI');

describe.skipIf(!hasAgent('gemini'))('Gemini CLI', () => {
  const shared = testScenario(geminiCli, TOOLS, {
    async prepare(place) {
      place.write('elsewhere/a.txt', 'a needle elsewhere\n');
    },
    prompt: 'Look at @notes.txt',
    args: place => ['--include-directories', `${place.home}/elsewhere`],
  });

  test('a file that a person mentions with @ is read without a hook', async () => {
    const isRead = JSON.stringify(shared.run.model.first).includes('a note');
    expect(said(isRead)).toBe(PAGE('a person mentions a file with `@`'));
  });

  test('a search without a folder would look into all folders of the workspace, so it is held', async () => {
    for (const name of ['grep_search', 'glob']) {
      const { result, entries } = await shared.run.call({ name, args: { pattern: 'needle*' } });
      expect(entries).toMatchObject([{ name: `gemini-cli__${name}`, decision: 'pending' }]);
      expect(result).not.toContain('elsewhere');
    }
    const here = { pattern: 'note', dir_path: '.' };
    const { entries } = await shared.run.call({ name: 'grep_search', args: here });
    expect(entries).toMatchObject([{ decision: 'allow' }]);
  });

  test('the table of tools knows all that it offers its model, but for these', () => {
    expectUnknown('gemini-cli', shared.run, ['activate_skill', 'google_web_search', 'web_fetch']);
  });

  testServiceAway(shared, TOOLS, PAGE);

  test('a hook that fails', () => testBrokenHook(shared.place, TOOLS, BROKEN, PAGE));

  test('what turns hooks off', async () => {
    const switches = new Switches(shared.place, TOOLS, PAGE);
    const off = (hooksConfig: object) => ({
      files: { '.gemini/settings.json': JSON.stringify({ hooksConfig }) },
    });
    await switches.test('a project turns hooks off', off({ enabled: false }));
    await switches.testManaged([off({ enabled: false, disabled: ['toolgate'] })]);
  });

  test('with --acp, as editors start it, it runs no hook', async () => {
    const { place } = shared;
    const run = await startAcp(place);
    expect((await run.call(TOOLS.shell('touch made'))).entries).toEqual([]);
    expect(said(place.has('projects/app/made'))).toBe(PAGE('an editor starts it (`--acp`)'));
    await run.kill();
  });
});
