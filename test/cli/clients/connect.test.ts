// `toolgate connect` on a temporary home, with a real service that makes and revokes keys.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../src/cli/program.ts';
import { CLIENT_IDS } from '../../../src/core/clients/clients.ts';
import { ADMIN_TOKEN, programOf, startService, type TestService } from '../../support/service.ts';
import { captured } from '../captured.ts';
import { Home, KEY, withKey } from './home.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const asAdmin = () => ({ TOOLGATE_BASE_URL: service.url, TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN });

/** Files as people have them, with what must not be lost. */
const FULL: Record<string, string> = {
  '.claude/settings.json':
    '{\n  // mine\n  "model": "x",\n  "hooks": {\n    "PreToolUse": [\n      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "theirs" }] }, // keep\n    ]\n  }\n}\n',
  '.claude.json': '{"numStartups":12,"mcpServers":{"other":{"command":"x"}},"projects":{}}',
  '.codex/hooks.json': '{\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t}\r\n}\r\n',
  '.codex/config.toml': '# mine\nmodel = "x"   # keep\n\n[mcp_servers.other]\ncommand = "y"',
  '.cursor/hooks.json': '\ufeff{\n    "version": 1,\n    "hooks": { "stop": [{ "command": "theirs" }] }\n}',
  '.cursor/mcp.json': '{ "mcpServers": {} }\n',
  '.config/Code/User/mcp.json': '{\n\t"servers": {\n\t\t/* none */\n\t},\n}\n',
  '.copilot/hooks/toolgate.json': '',
  '.gemini/settings.json': '{\n  "theme": "dark"\n}\n',
  '.config/Claude/claude_desktop_config.json': '{}',
  '.codeium/windsurf/mcp_config.json': '{\n  "mcpServers": {\n    "other": {}\n  }\n}\n',
  '.config/goose/config.yaml':
    '# mine\nGOOSE_MODE: "auto"\nextensions:\n  # built in\n  developer:\n    enabled: true\n',
};
const IN_PROJECT = ['claude-code', 'codex', 'cursor', 'vscode', 'gemini-cli'];

describe.each([...CLIENT_IDS])('%s', id => {
  test.each([
    ['an empty home', {}],
    ['files with other things', FULL],
  ])('is connected twice and taken back, in %s', async (_, files) => {
    const home = new Home(files);
    const before = home.all();
    expect((await home.connect(`${id} --dry-run --yes`, null, withKey)).out).toContain('\n+');
    expect(home.all()).toEqual(before);

    await home.connect(`${id} --yes`, null, withKey);
    const after = home.all();
    expect(after).not.toEqual(before);
    expect((await home.connect(`${id} --yes`, null, withKey)).err).toContain('is connected already');
    // Also without the variable: the key is known now.
    expect((await home.connect(`${id} --yes`)).err).toContain('is connected already');
    expect(home.all()).toEqual(after);
    const { clients } = JSON.parse((await home.connect('--list --json')).out);
    const listed = clients.find(({ client }: { client: string }) => client === id);
    expect(listed.user).toEqual(IN_PROJECT.includes(id) ? ['hooks', 'prompts', 'results', 'mcp'] : ['mcp']);

    await home.connect(`${id} --remove --yes`);
    expect(home.all()).toEqual(before);
    expect((await home.connect(`${id} --remove --yes`)).err).toContain('is not connected.');
  });
});

test.each(IN_PROJECT)('%s in a project: no file of the project holds the key', async id => {
  const home = new Home();
  const before = home.all();
  await home.connect(`${id} --project --yes`, null, withKey);
  const holding = Object.entries(home.all()).filter(([, text]) => text.includes(KEY));
  expect(holding.map(([path]) => path)).toEqual(['.config/toolgate/clients.json']);
  expect(JSON.stringify(home.all())).toContain('project/');
  await home.connect(`${id} --project --remove --yes`);
  expect(home.all()).toEqual(before);
});

test('what is written is for the user alone, and a file that now holds the key becomes so', async () => {
  const home = new Home({ '.claude.json': '{}\n', '.config/toolgate/clients.json': '{}\n' });
  chmodSync(join(home.folder, '.config/toolgate'), 0o700);
  const readable = join(home.folder, '.claude.json');
  chmodSync(readable, 0o640);
  const warning = `Other users of this machine could read ${readable} (mode 640). It holds the key now, so its mode is 600.`;
  expect((await home.connect('claude-code --yes', null, withKey)).err).toContain(warning);
  expect((await home.connect('cursor --project --yes', null, withKey)).err).not.toContain('Other users');
  const modes = [
    '.claude',
    '.claude/settings.json',
    '.claude.json',
    '.config/toolgate',
    '.config/toolgate/clients.json',
    '.config/toolgate/connected.json',
  ];
  expect(modes.map(path => home.mode(path))).toEqual([0o700, 0o600, 0o600, 0o700, 0o600, 0o600]);
  expect(home.mode('project/.cursor/mcp.json')).toBe(0o666 & ~process.umask());
  expect(JSON.parse(home.read('.config/toolgate/clients.json'))).toEqual({
    'claude-code': { baseUrl: 'http://127.0.0.1:8787', key: KEY },
    cursor: { baseUrl: 'http://127.0.0.1:8787', key: KEY },
  });
  await home.connect('claude-code --remove --yes');
  expect(home.mode('.claude.json')).toBe(0o640);
});

describe('nothing is changed', () => {
  test('without a terminal and without --yes', async () => {
    const home = new Home(FULL);
    const before = home.all();
    const { out, err } = await home.connect('claude-code', 1, withKey);
    expect(out).toContain('+++ ');
    expect(err).toContain('give --yes to make this change.\nNothing was changed.\n');
    expect(JSON.parse((await home.connect('claude-code --json', 1, withKey)).out).changed).toBe(false);
    expect(home.all()).toEqual(before);
  });

  test('when the answer is no, and it is when it is yes', async () => {
    const home = new Home(FULL);
    const before = home.all();
    for (const answer of ['n', '', 'no'])
      expect((await home.connect('claude-code', 1, withKey, answer)).err).toContain(
        'Make this change? [y/N] ',
      );
    expect(home.all()).toEqual(before);
    expect((await home.connect('claude-code', null, withKey, 'y')).err).toContain(
      'Claude Code is connected.',
    );
  });

  test('when another program writes the file before the answer', async () => {
    const home = new Home(FULL);
    const io = captured(home.project, { HOME: home.folder, ...withKey });
    Object.assign(io.stderr, { isTTY: true });
    const line = async () => {
      home.write('.codeium/windsurf/mcp_config.json', '{ "theirs": 1 }');
      return 'y';
    };
    Object.assign(io.stdin, { isTTY: true, line });
    await run(['connect', 'windsurf'], io);
    expect([io.code, io.err]).toEqual([
      1,
      expect.stringContaining('was changed by another program just now.'),
    ]);
    expect(home.read('.codeium/windsurf/mcp_config.json')).toBe('{ "theirs": 1 }');
  });

  test.each([
    [
      'claude-code',
      '.claude.json',
      '{\n  "a": 1\n  "b": 2\n}',
      'line 3, column 3: a comma or } should be here',
    ],
    ['codex', '.codex/config.toml', 'a = 1\nb = \n', 'line 2, column 1: '],
    ['goose', '.config/goose/config.yaml', 'a: 1\nb: "c\n', 'line '],
    ['cursor', '.cursor/hooks.json', '{ "hooks": 3 }', 'line 1, column 12: "hooks" is not an object'],
    ['cursor', '.cursor/mcp.json', '{}\u0000\ud800', 'unexpected text'],
  ])('if %s has a broken %s', async (id, path, text, why) => {
    const home = new Home({ [path]: text });
    const before = home.all();
    const { err } = await home.connect(`${id} --yes`, 3, withKey);
    expect(err).toContain(`${path}, `);
    expect(err).toContain(why);
    expect(err).toEndWith(' Nothing was changed.\n');
    expect(home.all()).toEqual(before);
    const { err: listed, out } = await home.connect('--list');
    // The list does not look at what is beside our entries.
    if (!why.includes('is not an object')) expect(listed).toContain(why);
    expect(out).toMatch(new RegExp(`^${id} .* no `, 'm'));
  });

  test('if a file is read-only, not text, or a folder', async () => {
    const home = new Home({ '.claude.json': '{}' });
    chmodSync(join(home.folder, '.claude.json'), 0o444);
    const before = home.all();
    expect((await home.connect('claude-code --yes', 3, withKey)).err).toContain('.claude.json is read-only.');
    expect(home.all()).toEqual(before);
    writeFileSync(join(home.folder, 'bytes'), Buffer.from([0x7b, 0xff, 0x7d]));
    for (const [target, why] of [
      ['bytes', 'it is not UTF-8 text'],
      ['project', 'it is a folder'],
    ] as const) {
      rmSync(join(home.folder, '.claude.json'), { force: true });
      symlinkSync(target, join(home.folder, '.claude.json'));
      expect((await home.connect('claude-code --yes', 3, withKey)).err).toContain(why);
    }
  });

  test('if a file is a pipe or a device, which might never end', async () => {
    const home = new Home();
    Bun.spawnSync(['mkfifo', join(home.folder, 'pipe')]);
    for (const target of ['../pipe', '/dev/zero']) {
      symlinkSync(target, join(home.project, '.mcp.json'));
      const { err } = await home.connect('claude-code --project --yes', 3, withKey);
      expect(err).toContain('.mcp.json is not a file. Nothing was changed.');
      expect((await home.connect('--list')).err).toContain('.mcp.json is not a file.');
      rmSync(join(home.project, '.mcp.json'));
    }
  });

  test('for words that make no sense', async () => {
    const home = new Home();
    const wrong: [string, string][] = [
      ['emacs', "'emacs' is invalid for argument 'client'. Allowed choices are claude-code, codex,"],
      ['--yes', 'Name a client, or give --list. Clients: claude-code, codex,'],
      ['goose --project', 'Goose reads no configuration of a project.'],
      ['goose --hooks-only', 'Goose is connected by MCP only.'],
      ['cursor --user --project', 'not both'],
      ['cursor --hooks-only --mcp-only', 'not both'],
      ['goose --pending ask', 'Goose is connected by MCP only.'],
      ['cursor --pending ask --mcp-only', '--pending is for the hook'],
      ['cursor --key tg_key_x --policy p', '--policy and --folder are for a new key'],
      ['cursor --revoke', '--revoke needs --remove.'],
      ['cursor --remove --mcp-only', '--remove takes back everything.'],
      ['cursor --yes --policy x', 'No admin token'],
      ['cursor --yes --key tg_adm_0123456789', 'The key that is given is an admin token.'],
    ];
    const before = home.all();
    for (const [words, why] of wrong) expect((await home.connect(words, 64)).err).toContain(why);
    expect(home.all()).toEqual(before);
  });
});

test('links stay links, also one to a file that does not exist', async () => {
  const home = new Home({ 'dotfiles/mcp.json': '{ "mcpServers": { "a": {} } }', 'dotfiles/x': '' });
  mkdirSync(join(home.folder, '.cursor'));
  symlinkSync('../dotfiles/mcp.json', join(home.folder, '.cursor/mcp.json'));
  symlinkSync('../dotfiles/hooks.json', join(home.folder, '.cursor/hooks.json'));
  const before = home.all();
  const { err } = await home.connect('cursor --yes', null, withKey);
  expect(err).toContain(`.cursor/mcp.json is a link to ${join(home.folder, 'dotfiles/mcp.json')}.`);
  expect(home.all()).toMatchObject({ '.cursor/mcp.json': '-> ../dotfiles/mcp.json' });
  expect(JSON.parse(home.read('dotfiles/mcp.json')).mcpServers.toolgate.headers.Authorization).toBe(
    `Bearer ${KEY}`,
  );
  expect(JSON.parse(home.read('dotfiles/hooks.json')).version).toBe(1);
  await home.connect('cursor --remove --yes');
  expect(home.all()).toEqual(before);
});

test('the same command for another client meanwhile loses nothing', async () => {
  const home = new Home();
  const io = captured(home.project, { HOME: home.folder, PATH: '', ...withKey });
  const line = async () => {
    await home.connect('cursor --yes', null, withKey);
    return 'y';
  };
  Object.assign(io.stdin, { isTTY: true, line });
  Object.assign(io.stderr, { isTTY: true });
  await run(['connect', 'codex'], io);
  const { codex, cursor } = JSON.parse(home.read('.config/toolgate/clients.json'));
  expect([codex.key, cursor.key]).toEqual([KEY, KEY]);
  for (const id of ['cursor', 'codex']) await home.connect(`${id} --remove --yes`);
  expect(home.all()).toEqual(new Home().all());
});

test('nor do several at once, or one that was ended halfway', async () => {
  const home = new Home();
  const lock = join(home.folder, '.config/toolgate/lock');
  mkdirSync(lock, { recursive: true });
  utimesSync(lock, 0, 0);
  const ids = ['codex', 'cursor', 'gemini-cli', 'vscode', 'windsurf'];
  const started = ids.map(id => {
    const env = { HOME: home.folder, PATH: '', ...withKey };
    const argv = [...programOf(), 'connect', id, '--yes'];
    return Bun.spawn(argv, { cwd: home.project, env, stdout: 'ignore', stderr: 'ignore' }).exited;
  });
  expect(await Promise.all(started)).toEqual(ids.map(() => 0));
  expect(Object.keys(JSON.parse(home.read('.config/toolgate/clients.json'))).sort()).toEqual(ids);
  for (const id of ids) await home.connect(`${id} --remove --yes`);
  expect(readdirSync(join(home.folder, '.config/toolgate'))).toEqual([]);
});

test.skipIf(process.getuid?.() !== 0)('root leaves the files of somebody else theirs', async () => {
  const home = new Home({ '.claude.json': '{}' });
  const uid = 4711;
  for (const path of ['', '.claude.json']) chownSync(join(home.folder, path), uid, uid);
  await home.connect('claude-code --yes', null, withKey);
  const paths = ['.claude.json', '.claude', '.claude/settings.json', '.config/toolgate/clients.json'];
  for (const path of paths) expect([path, lstatSync(join(home.folder, path)).uid]).toEqual([path, uid]);
});

test('the name of a folder cannot write on the terminal', async () => {
  const home = new Home();
  const project = join(home.folder, 'a\u001b[2Jb');
  mkdirSync(project);
  writeFileSync(join(project, '.mcp.json'), '{');
  for (const words of [['--list'], ['claude-code', '--project', '--dry-run']]) {
    const io = captured(project, { HOME: home.folder, PATH: '', ...withKey });
    await run(['connect', ...words], io);
    expect(io.err).toContain('[2Jb');
    expect(io.out + io.err).not.toContain('\u001b');
  }
});

test('what others changed meanwhile stays, also what they deleted', async () => {
  const home = new Home(FULL);
  await home.connect('claude-code --yes', null, withKey);
  const changed = (text: string) => text.replace('"model": "x"', '"model": "y", "new": [ 1 ]');
  home.write('.claude/settings.json', changed(home.read('.claude/settings.json')));
  home.write('.claude.json', home.read('.claude.json').replace('12', '13'));
  await home.connect('claude-code --remove --yes');
  expect(home.read('.claude/settings.json')).toBe(changed(FULL['.claude/settings.json'] ?? ''));
  expect(home.read('.claude.json')).toBe((FULL['.claude.json'] ?? '').replace('12', '13'));

  await home.connect('windsurf --yes', null, withKey);
  rmSync(join(home.folder, '.codeium/windsurf/mcp_config.json'));
  await home.connect('windsurf --yes');
  await home.connect('windsurf --remove --yes');
  expect(readdirSync(join(home.folder, '.codeium/windsurf'))).toEqual([]);
});

test('the MCP server of a project needs no key', async () => {
  const home = new Home();
  const before = home.all();
  await home.connect('vscode --project --mcp-only --yes');
  expect(JSON.parse(home.read('project/.vscode/mcp.json')).inputs).toHaveLength(1);
  expect(home.all()['.config/toolgate/clients.json']).toBe('600 {}\n');
  expect((await home.connect('vscode --project --mcp-only --yes')).err).toContain('already');
  await home.connect('vscode --project --remove --yes');
  expect(home.all()).toEqual(before);
});

test('the hook is told what becomes of calls that wait, also later, and goes back to the byte', async () => {
  const home = new Home(FULL);
  const before = home.all();
  const hooks = () => home.read('.claude/settings.json');
  await home.connect('claude-code --yes', null, withKey);
  expect(hooks()).toContain('hook claude-code || {');
  await home.connect('claude-code --pending ask --yes', null, withKey);
  expect(hooks()).toContain('hook claude-code --pending ask || {');
  expect(hooks()).not.toContain('hook claude-code || {');
  await home.connect('claude-code --remove --yes');
  expect(home.all()).toEqual(before);
});

test('hooks only, then both, then back; and another address', async () => {
  const home = new Home(FULL);
  const before = home.all();
  await home.connect('gemini-cli --hooks-only --yes', null, withKey);
  expect(JSON.parse(home.read('.gemini/settings.json')).mcpServers).toBeUndefined();
  await home.connect('gemini-cli --yes', null, withKey);
  const other = { ...withKey, TOOLGATE_BASE_URL: 'https://gate.example/' };
  await home.connect('gemini-cli --yes', null, other);
  expect(JSON.parse(home.read('.gemini/settings.json')).mcpServers.toolgate.httpUrl).toBe(
    'https://gate.example/mcp',
  );
  await home.connect('gemini-cli --remove --yes');
  expect(home.all()).toEqual(before);
});

test('files are found where variables have moved them', async () => {
  const home = new Home();
  const moved = { CODEX_HOME: join(home.folder, 'c'), XDG_CONFIG_HOME: join(home.folder, 'x') };
  await home.connect('codex --yes', null, { ...withKey, ...moved });
  await home.connect('goose --yes', null, { ...withKey, ...moved });
  const paths = Object.entries(home.all()).filter(([, text]) => text.includes(' '));
  expect(paths.map(([path]) => path)).toEqual([
    'c/config.toml',
    'c/hooks.json',
    'x/goose/config.yaml',
    'x/toolgate/clients.json',
    'x/toolgate/connected.json',
  ]);
});

describe('the key', () => {
  async function keysOf(
    name: RegExp,
  ): Promise<{ id: string; name: string; policyId: string; revokedAt: string | null }[]> {
    const { body } = await service.admin('GET', '/keys?limit=1000');
    return (
      body as { keys: { id: string; name: string; policyId: string; revokedAt: string | null }[] }
    ).keys.filter(key => name.test(key.name));
  }

  test('is made by the service, once, and revoked if that is asked for', async () => {
    const home = new Home();
    const before = home.all();
    const dry = await home.connect('codex --dry-run --policy default', null, asAdmin());
    expect(dry.err).toMatch(
      /The change includes a new key "Codex on .+" with the policy "default"\.\nWith that policy nearly every call/,
    );
    expect(await keysOf(/^Codex on /)).toEqual([]);

    await home.connect('codex --yes --policy default', null, asAdmin());
    expect((await home.connect('codex --yes', null, asAdmin())).err).toContain('already');
    const [key, ...others] = await keysOf(/^Codex on /);
    expect([others, key?.revokedAt]).toEqual([[], null]);
    const stored = JSON.parse(home.read('.config/toolgate/clients.json')).codex;
    expect(stored).toEqual({ baseUrl: service.url, key: expect.stringMatching(/^tg_key_/) });
    expect(home.read('.codex/config.toml')).toContain(`Authorization = "Bearer ${stored.key}"`);

    await home.connect('codex --project --yes', null, asAdmin());
    expect((await home.connect('codex --remove --yes')).err).toContain('Its key stays, because ');
    const { err } = await home.connect('codex --project --remove --yes');
    expect(err).toContain(`was not revoked. To revoke it: toolgate keys revoke ${key?.id}`);
    expect(home.all()).toEqual(before);

    // A key of another service is of no use.
    await home.connect('codex --yes', null, withKey);
    await home.connect('codex --yes --policy default', null, asAdmin());
    const { TOOLGATE_ADMIN_TOKEN } = asAdmin();
    expect((await home.connect('codex --remove --revoke --yes', null, { TOOLGATE_ADMIN_TOKEN })).err).toMatch(
      /The key "Codex on .+" is revoked\./,
    );
    expect((await keysOf(/^Codex on /)).map(({ revokedAt }) => revokedAt === null).sort()).toEqual([
      false,
      true,
    ]);
    expect(home.all()).toEqual(before);
  });

  test('has the policy that is named; without the service, or with a wrong name, nothing is written', async () => {
    const home = new Home();
    const before = home.all();
    const { err } = await home.connect('windsurf --yes --policy none', 1, asAdmin());
    expect(err).toContain('There is no policy named "none"');
    const away = { ...asAdmin(), TOOLGATE_BASE_URL: 'http://127.0.0.1:9' };
    expect((await home.connect('windsurf --yes', 3, away)).err).toContain('cannot be reached');
    expect(home.all()).toEqual(before);
    const full = new Home({ '.config': 'no folder' });
    expect((await full.connect('windsurf --yes', 3, asAdmin())).err).toContain('cannot be written');
    expect(await keysOf(/^Windsurf on /)).toEqual([]);
    // A key that is in the environment has another policy.
    const there = { ...asAdmin(), ...withKey };
    const named = await home.connect('windsurf --dry-run --policy default', null, there);
    expect(named.err).toContain('The change includes a new key');
    expect((await home.connect('windsurf --dry-run', null, there)).err).toContain('in TOOLGATE_API_KEY.');
  });
});

describe('the policy of a coding agent', () => {
  async function policies(): Promise<Record<string, { id: string; text: string }>> {
    const { body } = await service.admin('GET', '/policies?limit=100');
    const { policies: all } = body as { policies: { id: string; name: string }[] };
    const whole = await Promise.all(
      all.map(async each => (await service.admin('GET', `/policies/${each.id}`)).body),
    );
    return Object.fromEntries(whole.map(each => [(each as { name: string }).name, each])) as never;
  }

  test('is made for a folder, which has to be named where nobody can be asked', async () => {
    const home = new Home({ 'project/.git/HEAD': '', 'other/x': '', "it's/x": '' });
    for (const words of ['codex --yes', 'codex', 'codex --json --yes']) {
      const { err } = await home.connect(words, 64, asAdmin());
      expect(err).toContain('Give --folder, with the folder that the agent may work in');
    }
    for (const folder of ['/', 'nowhere', "../it's", ''])
      await home.connect(`gemini-cli --yes --folder ${folder}`, 64, asAdmin());
    await home.connect('codex --yes --folder . --policy default', 64, asAdmin());
    expect(Object.keys(await policies())).toEqual(['default']);

    const { err } = await home.connect('codex --yes --folder .', null, asAdmin());
    expect(err).toContain(`a policy from the pack "coding" for ${home.project}.`);
    const { coding } = await policies();
    expect(coding?.text).toContain(`"${home.project}"`);
    expect(coding?.text).not.toContain('/srv/project');
    // The same folder for another client is the same policy; another folder is another one.
    await home.connect('claude-code --yes --folder .', null, asAdmin());
    await home.connect('cursor --yes --folder ../other', null, asAdmin());
    expect(Object.keys(await policies()).sort()).toEqual(['coding', 'coding-other', 'default']);
    for (const client of ['codex', 'claude-code', 'cursor'])
      await home.connect(`${client} --remove --revoke --yes`, null, asAdmin());
  });

  test('is asked for: the project at hand is the default', async () => {
    const home = new Home({ 'project/.git/HEAD': '', 'project/src/x': '' });
    const io = captured(join(home.project, 'src'), { HOME: home.folder, PATH: '', ...asAdmin() });
    const answers = ['', 'y'];
    Object.assign(io.stdin, { isTTY: true, line: async () => answers.shift() ?? '' });
    Object.assign(io.stderr, { isTTY: true });
    await run(['connect', 'vscode'], io);
    expect(io.err).toContain(`Which folder? [${home.project}] `);
    expect(io.err).toContain('VS Code is connected.');
    expect((await policies())['coding-project']?.text).toContain(`"${home.project}"`);
  });
});

test('a command for another machine, with a policy that is there or one for a folder there', async () => {
  const home = new Home();
  const before = home.all();
  await home.connect('codex --for-other-machine', 64, asAdmin());
  await home.connect('codex --for-other-machine --folder src', 64, asAdmin());
  const named = await home.connect('codex --for-other-machine --policy default', null, asAdmin());
  expect(named.out).toMatch(
    /^curl -fsS 'http:\/\/127\.0\.0\.1:\d+\/connect\.sh\?token=tg_con_[\w-]+' \| sh\n$/,
  );
  expect(named.err).toContain('It works once, and makes a key with the policy "default".');
  expect(named.err).toContain('Set TOOLGATE_PUBLIC_URL for the service');
  const { out } = await home.connect(
    'codex --for-other-machine --json --folder /home/ann/there',
    null,
    asAdmin(),
  );
  expect(JSON.parse(out)).toEqual({
    command: expect.stringContaining('/connect.sh?token='),
    expiresAt: expect.any(String),
    platform: programOf().length === 1 ? expect.any(String) : null,
  });
  expect(home.all()).toEqual(before);
});

describe('where the policy lets the agent change its guard', () => {
  const broad = (folder: string) =>
    `name: broad\nrules:\n  - { tool: "*", action: allow, when: 'size(agent.writes) > 0 && agent.writes.all(p, path.within(p, "${folder}"))' }\n`;

  test.each([
    [
      'its program',
      (_: Home) => join(import.meta.dir, '../../..'),
      /bin\/toolgate, the program that judges its calls/,
    ],
    ['its key', (home: Home) => join(home.folder, '.config'), /clients\.json, the file with its key/],
    [
      'its settings',
      (home: Home) => join(home.folder, '.claude'),
      /settings\.json, its settings, which start the hook/,
    ],
    ['the data', (home: Home) => join(home.project, 'data'), /admin\.token, the admin token of the service/],
  ])('%s: nothing is written, unless it is said explicitly', async (_, folder, why) => {
    const home = new Home({ 'project/data/admin.token': 'x' });
    const before = home.all();
    const name = `broad-${crypto.randomUUID()}`;
    const text = broad(folder(home)).replace('broad', name);
    await service.admin('POST', '/policies', { text });
    const { err } = await home.connect(`claude-code --yes --policy ${name}`, 1, asAdmin());
    expect(err).toMatch(why);
    expect(err).toContain('Nothing was changed. Move Toolgate and its data folder out of the folders');
    expect(home.all()).toEqual(before);
    await home.connect(`claude-code --yes --policy ${name} --unsafe-location`, null, asAdmin());
    // The key that is known now has the same policy.
    const again = await home.connect('claude-code --yes --pending ask', 1, asAdmin());
    expect(again.err).toMatch(why);
    await home.connect('claude-code --remove --revoke --yes', null, asAdmin());
  });

  test('a narrow policy connects; without an admin token it is said that nothing was looked at', async () => {
    const home = new Home({ 'project/data/admin.token': 'x' });
    const name = `narrow-${crypto.randomUUID()}`;
    await service.admin('POST', '/policies', {
      text: broad(join(home.project, 'src')).replace('broad', name),
    });
    await home.connect(`claude-code --yes --policy ${name}`, null, asAdmin());
    const { err } = await home.connect('cursor --yes', null, {
      ...withKey,
      TOOLGATE_BASE_URL: 'http://127.0.0.1:9',
    });
    expect(err).toContain('was not looked at, because there is no admin token');
  });
});

test('the list, for a new user', async () => {
  const home = new Home({ '.claude/x': '', 'bin/goose': '' });
  await home.connect('cursor --project --yes', null, withKey);
  const { out } = await home.connect('--list', null, { PATH: join(home.folder, 'bin') });
  expect(out).toBe(`CLIENT          FOUND  USER  THIS PROJECT                  FAILS
claude-code     yes    no    no                            closed
codex           no     no    no                            open
cursor          no     no    hooks, prompts, results, MCP  closed
vscode          no     no    no                            open
gemini-cli      no     no    no                            open
claude-desktop  no     no    -                             closed
windsurf        no     no    -                             closed
goose           yes    no    -                             closed
`);
});

const HOOKS: Record<string, string> = {
  'claude-code': '.claude/settings.json',
  codex: '.codex/hooks.json',
  cursor: '.cursor/hooks.json',
  vscode: '.copilot/hooks/toolgate.json',
  'gemini-cli': '.gemini/settings.json',
};

/** Makes the hooks those of an earlier version, which knew of calls alone. */
function makeOlder(home: Home, id: string): void {
  const memory = JSON.parse(home.read('.config/toolgate/connected.json'));
  const path = join(home.folder, HOOKS[id] as string);
  const { edits } = memory.files[path] as { edits: { inserted: string; removed: string }[] };
  const isTelling = ({ inserted }: { inserted: string }) => inserted.includes('|| exit 0');
  let text = home.read(HOOKS[id] as string);
  for (const { inserted, removed } of edits.toReversed().filter(isTelling))
    text = text.replace(inserted, () => removed);
  expect(text).not.toContain('|| exit 0');
  expect(text).toContain('exit 2');
  home.write(HOOKS[id] as string, text);
  memory.files[path].edits = edits.filter(edit => !isTelling(edit));
  home.write('.config/toolgate/connected.json', JSON.stringify(memory));
}

describe.each(IN_PROJECT)('hooks of an earlier version: %s', id => {
  test.each([
    ['an empty home', {}],
    ['files with other things', FULL],
  ])('are noticed, updated by connecting again, and taken back, in %s', async (_, files) => {
    const home = new Home(files);
    const before = home.all();
    await home.connect(`${id} --yes`, null, withKey);
    const after = home.read(HOOKS[id] as string);
    makeOlder(home, id);
    const older = await home.connect('--list');
    expect(older.out).toMatch(new RegExp(`^${id} .*  hooks, MCP  `, 'm'));
    expect(older.err).toContain('do not tell prompts and results');
    expect(older.err).toContain(`Run: toolgate connect ${id}\n`);
    expect((await home.connect(`${id} --yes`)).out).toContain('\n+');
    expect(home.read(HOOKS[id] as string)).toBe(after);
    const now = await home.connect('--list');
    expect(now.out).toMatch(new RegExp(`^${id} .*  hooks, prompts, results, MCP  `, 'm'));
    expect(now.err).not.toContain('earlier version');
    await home.connect(`${id} --remove --yes`);
    expect(home.all()).toEqual(before);
  });
});
