// The real Codex, with the settings that `toolgate connect` writes, told what to do by a model of ours.

import { afterAll, describe, expect, test } from 'bun:test';
import { RecordingUpstream } from '../support/mcp.ts';
import { type Broken, testBrokenHook } from './broken-hook.ts';
import { codex, trustHooks } from './codex.ts';
import { expectUnknown } from './offered.ts';
import { pageOf, said } from './page.ts';
import { type Tools, testScenario, testServiceAway } from './scenario.ts';
import { Switches } from './switches.ts';
import { hasAgent } from './workplace.ts';

const CONFIG = '.codex/config.toml';

const patch = (path: string, text: string) => ({
  name: 'apply_patch',
  args: { input: `*** Begin Patch\n*** Add File: ${path}\n+${text}\n*** End Patch` },
});

const TOOLS: Tools = {
  shellName: 'codex__shell',
  shell: cmd => ({ name: 'exec_command', args: { cmd } }),
  write: patch,
  forged: (path, workdir) => ({ name: 'exec_command', args: { cmd: `touch ${path}`, workdir } }),
  settings: ['.codex/hooks.json', CONFIG, `projects/app/${CONFIG}`],
};

const NOTE = { name: 'add-note.v2', inputSchema: { type: 'object' } };

const BROKEN: Broken = { file: '.codex/hooks.json', second: 1, changed: trustHooks };
const PAGE = pageOf('Codex');

describe.skipIf(!hasAgent('codex'))('Codex', () => {
  const notes = new RecordingUpstream({ tools: [NOTE] });
  afterAll(() => notes.stop());
  const shared = testScenario(codex, TOOLS, {
    rules: '  - { tool: my-notes__*, action: deny }\n',
    async prepare(place) {
      place.write(CONFIG, `${place.read(CONFIG)}\n[mcp_servers.my-notes]\nurl = "${notes.url}"\n`);
      await trustHooks(place);
    },
  });
  const call = (name: string, args: Record<string, unknown>) => shared.run.call({ name, args });

  test('other tools of its own ask, too', async () => {
    const { entries } = await call('view_image', { path: `${shared.place.home}/.ssh/photo.png` });
    expect(entries).toMatchObject([{ name: 'codex__view_image' }]);
    expect(entries[0]?.decision).not.toBe('allow');
    expect((await call('get_goal', {})).entries).toMatchObject([
      { name: 'codex__get_goal', decision: 'allow' },
    ]);
  });

  test('a tool of an MCP server asks by the name that Codex gives it, and is denied by its own', async () => {
    const made = { namespace: 'mcp__my_notes', name: 'add_note_v2', args: {} };
    const { entries } = await shared.run.call(made);
    expect(entries).toMatchObject([{ name: 'my_notes__add_note_v2', decision: 'deny' }]);
    expect(notes.calls).toEqual([]);
  });

  test('a folder that the model names for a command is the one that is judged', async () => {
    const { entries } = await call('exec_command', { cmd: 'ls', workdir: '/etc' });
    expect(entries).toMatchObject([{ name: 'codex__shell', decision: 'pending' }]);
  });

  test('input for a command that runs starts no hook', async () => {
    const shell = { cmd: 'bash', tty: true, yield_time_ms: 500 };
    const { entries } = await call('exec_command', shell);
    expect(entries).toMatchObject([{ decision: 'pending' }]);
    await shared.place.approve(entries[0]?.reference ?? '');
    const { result } = await call('exec_command', shell);
    const session_id = Number(/session ID (\d+)/.exec(result)?.[1]);
    const typed = await call('write_stdin', { session_id, chars: 'cat .env; exit\n', yield_time_ms: 2000 });
    expect(typed.entries).toEqual([]);
    const line = 'the model sends input to a command that runs';
    expect(said(typed.result.includes('PASSWORD=canary'))).toBe(PAGE(line));
  });

  test('the table of tools knows all that it offers its model, but for these', () => {
    expectUnknown('codex', shared.run, [
      'list_mcp_resource_templates',
      'list_mcp_resources',
      'read_mcp_resource',
      'web_search',
      'write_stdin',
    ]);
  });

  testServiceAway(shared, TOOLS, PAGE);

  test('a hook that fails', () => testBrokenHook(shared.place, TOOLS, BROKEN, PAGE));

  test('what turns hooks off', async () => {
    const { place } = shared;
    const switches = new Switches(place, TOOLS, PAGE);
    const trusted = place.read(CONFIG);
    place.write(CONFIG, trusted.slice(0, trusted.indexOf('[hooks.state')));
    await switches.test('nobody has trusted the hook');
    place.write(CONFIG, trusted);
    const option = { args: ['--disable', 'hooks'] };
    await switches.test('an option turns hooks off', option);
    const off = { files: { [CONFIG]: '[features]\nhooks = false\n' } };
    await switches.test('a project that is not trusted turns hooks off', off);
    const fromTrusted = { ...off, args: ['--trust'] };
    await switches.test('a project turns hooks off', fromTrusted);
    await switches.testManaged([fromTrusted, option]);
  });
});
