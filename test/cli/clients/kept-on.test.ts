// `toolgate connect` says where hooks are turned off, keeps them on where it may, and shows and takes nothing that is
// somebody else's.

import { describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from '../../../src/cli/program.ts';
import { captured } from '../captured.ts';
import { Home, withKey } from './home.ts';

const SWITCHES: [client: string, file: string, text: string, key: string][] = [
  ['claude-code', '.claude/settings.json', '{ "disableAllHooks": true }', 'disableAllHooks'],
  ['claude-code', '.claude/settings.local.json', '{ "disableAllHooks": true, // x\n}', 'disableAllHooks'],
  ['gemini-cli', '.gemini/settings.json', '{ "hooksConfig": { "enabled": false } }', 'hooksConfig.enabled'],
  [
    'gemini-cli',
    '.gemini/settings.json',
    '{"hooksConfig":{"disabled":["toolgate"]}}',
    'hooksConfig.disabled',
  ],
  ['codex', '.codex/config.toml', '[features]\nhooks = false\n', 'features.hooks'],
  ['codex', '.codex/config.toml', 'features.codex_hooks = false\n', 'features.codex_hooks'],
];

describe.each(SWITCHES)('%s with %s: %s', (client, file, text, key) => {
  const judged = /call is judged, its own|calls for which Codex runs hooks are judged/;

  test('of the project is named, here and in folders below its root, by connect, --list and doctor', async () => {
    const home = new Home({ [`project/${file}`]: text, 'project/.git/HEAD': '' });
    const deep = join(home.project, 'a/b');
    mkdirSync(deep, { recursive: true });
    for (const cwd of [home.project, deep]) {
      const off = `NO CALL IS JUDGED: ${join(home.project, file)} turns hooks off, by "${key}".`;
      const runs = [
        ['connect', client, '--yes'],
        ['connect', client, '--yes'],
        ['connect', '--list'],
      ];
      for (const words of runs) {
        const io = captured(cwd, { HOME: home.folder, PATH: '', ...withKey });
        await run(words, io);
        expect(io.err).toContain(off);
        expect(io.err).not.toMatch(judged);
      }
      const doctor = captured(cwd, {
        HOME: home.folder,
        PATH: '',
        TOOLGATE_DATA_DIR: join(home.folder, 'no'),
      });
      await run(['doctor', '--json'], doctor);
      expect(doctor.out).toContain(`${join(home.project, file)} turns hooks off`);
    }
    expect((await home.connect(`${client} --remove --yes`)).err).not.toContain('NO CALL');
  });
});

test.each(SWITCHES.filter(([, file]) => !file.includes('.local.')))(
  '%s with %s of the person, %s: nothing is written',
  async (client, file, text, key) => {
    const home = new Home({ [file]: text });
    const before = home.all();
    const { err } = await home.connect(`${client} --yes`, 1, withKey);
    expect(err).toContain(`${join(home.folder, file)} turns hooks off, by "${key}"`);
    expect(err).toContain('Nothing was changed.');
    expect(home.all()).toEqual(before);
  },
);

test('a switch of the machine is named; a folder above the repository does not count', async () => {
  const home = new Home({
    'machine/etc/claude-code/managed-settings.json': '{ "allowManagedHooksOnly": true }',
    'machine/etc/codex/requirements.toml': 'allow_managed_hooks_only = true\n',
    '.gemini-x/settings.json': '{ "hooksConfig": { "enabled": false } }',
  });
  expect((await home.connect('claude-code --yes', 1, withKey)).err).toContain('"allowManagedHooksOnly"');
  expect((await home.connect('codex --yes', 1, withKey)).err).toContain('"allow_managed_hooks_only"');
  const variable = { GEMINI_CLI_SYSTEM_SETTINGS_PATH: join(home.folder, '.gemini-x/settings.json') };
  expect((await home.connect('gemini-cli --yes', 1, { ...withKey, ...variable })).err).toContain('.gemini-x');
  const { clients } = JSON.parse((await home.connect('--list --json')).out);
  expect(clients[0].turnedOff[0].key).toBe('allowManagedHooksOnly');
});

describe.each([
  ['claude-code', 'etc/claude-code/managed-settings.json', '{\n  "model": "x"\n}\n', SWITCHES[0]],
  ['codex', 'etc/codex/requirements.toml', '# ours\n[features]\nx = true\n\n[a]\nhooks = 1\n', SWITCHES[4]],
  ['gemini-cli', 'etc/gemini-cli/settings.json', '{}\n', SWITCHES[2]],
] as const)('%s --managed', (client, file, text, [, switchFile = '', switchText = ''] = ['', '', '', '']) => {
  test.each([{}, { [`machine/${file}`]: text }])(
    'keeps the hook on, and goes back to the byte',
    async files => {
      const home = new Home({ [`project/${switchFile}`]: switchText, 'machine/x': '', ...files });
      const before = home.all();
      expect((await home.connect(`${client} --managed --dry-run`)).out).toContain('+++ ');
      await home.connect(`${client} --managed --yes`);
      expect(home.mode(`machine/${file}`) & 0o444).toBe(0o444);
      expect((await home.connect(`${client} --managed --yes`)).err).toContain('keeps the hook on already');
      expect((await home.connect(`${client} --yes`, null, withKey)).err).not.toMatch(/NO CALL|Still open/);
      expect((await home.connect('--list')).err).toBe('');
      await home.connect(`${client} --remove --yes`);
      await home.connect(`${client} --managed --remove --yes`);
      expect(home.all()).toEqual(before);
    },
  );

  test('does not count while others can write the file', async () => {
    const home = new Home({ [`project/${switchFile}`]: switchText, 'machine/x': '' });
    await home.connect(`${client} --managed --yes`);
    chmodSync(join(home.folder, 'machine', file), 0o664);
    expect((await home.connect(`${client} --yes`, null, withKey)).err).toMatch(
      /NO CALL IS JUDGED[\s\S]*Still open/,
    );
    chmodSync(join(home.folder, 'machine', file), 0o644);
    chmodSync(join(home.folder, 'machine/etc'), 0o777);
    expect((await home.connect(`${client} --pending ask --yes`, null, withKey)).err).toContain(
      'NO CALL IS JUDGED',
    );
  });

  test('says what stays open without it, and how to do it', async () => {
    const { err } = await new Home().connect(`${client} --yes`, null, withKey);
    expect(err).toMatch(
      new RegExp(`Still open: .*To prevent it: sudo .*toolgate connect ${client} --managed`),
    );
  });
});

test('a setting of the administrator stays, and others have no such file', async () => {
  const home = new Home({ 'machine/etc/codex/requirements.toml': '[features]\nhooks = false\n' });
  const { err } = await home.connect('codex --managed --yes', 3);
  expect(err).toContain('"features.hooks" was not written by Toolgate');
  await home.connect('cursor --managed --yes', 64);
  await home.connect('codex --managed --project --yes', 64);
});

test.each([
  [
    '.claude/settings.json',
    '{ "env": { "TOOLGATE_BASE_URL": "http://127.0.0.1:1" } }',
    'env.TOOLGATE_BASE_URL',
  ],
  ['.claude/settings.local.json', '{ "env": { "X": "", "BUN_OPTIONS": "--preload x" } }', 'env.BUN_OPTIONS'],
])(
  'variables of a project that lead the hook elsewhere are named, also with --managed: %s',
  async (file, text, key) => {
    const home = new Home({ [`project/${file}`]: text, 'machine/x': '', '.claude/settings.json': text });
    await home.connect('claude-code --managed --yes');
    const { err } = await home.connect('claude-code --yes', null, withKey);
    expect(err).toContain(`NO CALL IS JUDGED: ${join(home.project, file)} turns hooks off, by "${key}".`);
  },
);

test.each([
  ['claude-code', '.claude/settings.json', Buffer.from('{ "x": "\xff", "disableAllHooks": true }', 'latin1')],
  [
    'claude-code',
    '.claude/settings.json',
    `{"x":${'['.repeat(300)}${']'.repeat(300)},"disableAllHooks":true}`,
  ],
  ['codex', '.codex/config.toml', 'features = { hooks = false'],
])(
  '%s: a file of the project that only the agent may be able to read is named',
  async (client, file, text) => {
    const home = new Home({ 'project/.git/HEAD': '' });
    const path = join(home.project, file);
    mkdirSync(dirname(path));
    writeFileSync(path, text);
    const maybe = `PERHAPS NO CALL IS JUDGED: ${path} cannot be read, and may turn hooks off.`;
    const connected = await home.connect(`${client} --yes`, null, withKey);
    expect(connected.err).toContain(maybe);
    expect(connected.err).toContain('may not run in this project');
    expect((await home.connect('--list')).err).toContain(maybe);
    const env = { HOME: home.folder, PATH: '', TOOLGATE_DATA_DIR: join(home.folder, 'no') };
    const doctor = captured(home.project, env);
    await run(['doctor', '--json'], doctor);
    expect(doctor.out).toContain(`${path} cannot be read, and may turn the hook`);
  },
);

const SECRETS: Record<string, string> = {
  '.claude.json':
    '{"mcpServers":{"other":{"command":"SECRET1","args":["--token","SECRET2"],"env":{"K":"SECRET3"}}},"pin":SECRET4x}',
  '.cursor/mcp.json':
    '{\n  "mcpServers": {\n    "other": {\n      "headers": { "Authorization": "Bearer SECRET5" } // SECRET6\n    }\n  }\n}\n',
  '.codex/config.toml':
    'a = """\nSECRET7\n"""\n# SECRET8\n[mcp_servers.other]\nhttp_headers = { X = \'SECRET9\' }\nenv = ["SECRET10"]',
  '.config/goose/config.yaml':
    'GOOSE_KEY: SECRET11\nnote: |\n  SECRET16: 1\n  "SECRET17":\nextensions:\n  other:\n    envs: {A: SECRET12}\n    args:\n      - SECRET13\n',
  '.config/Claude/claude_desktop_config.json':
    '{\n  "mcpServers": {\n    "o": { "url": "https://x.example/?key=SECRET14" }\n  }\n}',
  '.gemini/settings.json': '{ "mcpServers": { "o": { "env": { "T": "SECRET15" } } }, "hooks": {} }',
};

test.each(['claude-code', 'cursor', 'codex', 'goose', 'claude-desktop', 'gemini-cli'])(
  'the change of %s shows names of others, and none of their values',
  async client => {
    const home = new Home({
      ...SECRETS,
      '.claude.json': (SECRETS['.claude.json'] ?? '').replace('SECRET4x', '1'),
    });
    for (const words of [
      `${client} --dry-run --yes`,
      `${client} --yes`,
      `${client} --remove --dry-run --yes`,
    ]) {
      const { out, err } = await home.connect(words, null, withKey);
      expect(out).toMatch(/mcp_?[sS]ervers|extensions/);
      expect(out + err).not.toMatch(/SECRET\d/);
    }
    const { out } = await home.connect(`${client} --remove --dry-run --yes --json`);
    expect(out).not.toMatch(/SECRET\d/);
  },
);

test('a server of the same name that somebody else wrote stays, and is not replaced', async () => {
  const theirs = '{\n  "mcpServers": { "toolgate": { "command": "mine" } }\n}\n';
  const home = new Home({ '.cursor/mcp.json': theirs });
  const { err } = await home.connect('cursor --yes', 3, withKey);
  expect(err).toContain('"mcpServers.toolgate" was not written by Toolgate, and stays as it is');
  await home.connect('cursor --hooks-only --yes', null, withKey);
  await home.connect('cursor --remove --yes');
  expect(home.read('.cursor/mcp.json')).toBe(theirs);
});

test.each(['', ' --project'])('what Codex wrote about our hook goes with it%s', async scope => {
  const theirs = '\n[hooks.state."/x/hooks.json:pre_tool_use:0:0"]\ntrusted_hash = "sha256:1"\n';
  const home = new Home({ '.codex/config.toml': `model = "x"\n${theirs}` });
  chmodSync(join(home.folder, '.codex/config.toml'), 0o600);
  const before = home.all();
  await home.connect(`codex${scope} --yes`, null, withKey);
  const file = join(scope === '' ? home.folder : home.project, '.codex/hooks.json');
  const state = `\n[hooks.state."${file}:pre_tool_use:0:0"]\ntrusted_hash = "sha256:2"\nenabled = true\n`;
  home.write('.codex/config.toml', `${home.read('.codex/config.toml')}${state}`);
  await home.connect(`codex${scope} --remove --yes`);
  expect(home.all()).toEqual(before);
});
