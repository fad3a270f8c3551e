// The configuration of every client, against the files in test/vectors/clients and the blocks in docs/mcp.md. With
// TOOLGATE_TEST_RECORD=1 the files are written anew.

import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { PENDING } from '../../../src/core/agents.ts';
import type { Client, ConfigFile, Scope } from '../../../src/core/clients/client.ts';
import { CLIENTS } from '../../../src/core/clients/clients.ts';
import { hookCommand, hookMark, tellingCommand } from '../../../src/core/clients/command.ts';
import { configurationOf, entriesAsValue } from '../../../src/core/clients/written.ts';

const VECTORS = join(import.meta.dir, '../../vectors/clients');
const KEY = 'tg_key_example';

function setupOf(client: Client) {
  const program = ['/opt/tool gate/bin/toolgate'];
  return {
    baseUrl: 'http://127.0.0.1:8787',
    key: KEY,
    command: hookCommand(program, client.id, 'sh'),
    telling: tellingCommand(program, client.id, 'sh'),
  };
}

function parsed(file: ConfigFile, text: string): unknown {
  if (file.format === 'json') return JSON.parse(text);
  return file.format === 'yaml' ? parse(text) : Bun.TOML.parse(text);
}

test('the clients in their order, with the names that people know them by', () => {
  expect(CLIENTS.map(({ id, name }) => [id, name])).toEqual([
    ['claude-code', 'Claude Code'],
    ['codex', 'Codex'],
    ['cursor', 'Cursor'],
    ['vscode', 'VS Code'],
    ['gemini-cli', 'Gemini CLI'],
    ['claude-desktop', 'Claude Desktop'],
    ['windsurf', 'Windsurf'],
    ['goose', 'Goose'],
  ]);
});

describe.each(CLIENTS.map(client => [client.id, client] as const))('%s', (id, client) => {
  const parts = Object.entries({ hooks: client.hooks, mcp: client.mcp });
  const cases = parts.flatMap(([part, file]) =>
    file === null
      ? []
      : (['user', 'project'] as const)
          .filter(scope => scope === 'user' || file.project !== null)
          .map((scope): [string, Scope, ConfigFile] => [part, scope, file]),
  );

  test.each(cases)('%s of the %s are as recorded, and read back', (part, scope, file) => {
    const text = configurationOf(file, setupOf(client), scope);
    const vector = join(VECTORS, `${id}.${part}.${scope}.${file.format}`);
    if (process.env['TOOLGATE_TEST_RECORD'] === '1') writeFileSync(vector, text);
    expect(text).toBe(readFileSync(vector, 'utf8'));
    expect(parsed(file, text)).toEqual(entriesAsValue(file.entries(setupOf(client), scope)));
    if (scope === 'project') expect(text).not.toContain(KEY);
  });
});

test('docs/mcp.md has the same', () => {
  const page = readFileSync(join(import.meta.dir, '../../../docs/mcp.md'), 'utf8');
  const blocks = [...page.matchAll(/<!-- file: (\S+) -->\n```json\n([\s\S]*?)```/g)];
  const documented: [file: string, client: string, scope: Scope, key: string][] = [
    ['.mcp.json', 'claude-code', 'project', KEY],
    ['claude_desktop_config.json', 'claude-desktop', 'user', 'tg_key_…'],
    ['.cursor/mcp.json', 'cursor', 'project', KEY],
    ['.vscode/mcp.json', 'vscode', 'project', KEY],
  ];
  for (const [file, id, scope, key] of documented) {
    const client = CLIENTS.find(each => each.id === id) as Client;
    const block = blocks.find(([, name]) => name === file)?.[2] ?? '';
    const ours = entriesAsValue(client.mcp.entries({ ...setupOf(client), key }, scope));
    expect([file, JSON.parse(block)]).toEqual([file, ours]);
  }
});

describe('the command of a hook', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-clients-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(["it's a $HOME", 'plain', 'a "b" `c`; d & e'])('runs a program in the folder %p', name => {
    const program = join(folder, name, 'toolgate');
    mkdirSync(join(folder, name));
    writeFileSync(program, '#!/bin/sh\necho "$@"; exit "$CODE"\n');
    chmodSync(program, 0o755);
    const command = hookCommand([program], 'codex', 'sh');
    const run = (code: string) => Bun.spawnSync(['sh', '-c', command], { env: { CODE: code } });
    expect(run('0').stdout.toString()).toBe('hook codex\n');
    expect(['0', '1', '2', '3'].map(code => run(code).exitCode)).toEqual([0, 2, 2, 2]);
    // Codex and Gemini CLI take a code without a word for a hook that failed, and make the call.
    const words = ['0', '1', '2', '3'].map(code => run(code).stderr.toString());
    expect(words).toEqual(['', ...Array(3).fill('Toolgate refused this call.\n')]);
    expect(command).toMatch(hookMark('codex'));
  });

  test('refuses when the program is gone', () => {
    const command = hookCommand([join(folder, 'gone/toolgate')], 'codex', 'sh');
    expect(Bun.spawnSync(['sh', '-c', command]).exitCode).toBe(2);
  });

  test('lets prompts and results go on when the program is gone, or fails', () => {
    const gone = tellingCommand([join(folder, 'gone/toolgate')], 'codex', 'sh');
    expect(Bun.spawnSync(['sh', '-c', gone])).toMatchObject({ exitCode: 0, success: true });
    const commands = (['sh', 'cmd', 'powershell'] as const).map(shell =>
      tellingCommand(['/opt/toolgate'], 'codex', shell),
    );
    expect(commands).toEqual([
      '/opt/toolgate hook codex || exit 0',
      '/opt/toolgate hook codex || exit 0',
      '& /opt/toolgate hook codex; exit 0',
    ]);
    for (const command of commands) expect(command).toMatch(hookMark('codex'));
  });

  // Recorded, not run: there is no Windows here.
  test('is quoted for the shells of Windows', () => {
    const program = ["C:\\Users\\O'Hara and Co\\toolgate.exe"];
    const commands = (['sh', 'cmd', 'powershell'] as const).map(shell =>
      hookCommand(program, 'codex', shell),
    );
    expect(commands).toEqual([
      "'C:\\Users\\O'\\''Hara and Co\\toolgate.exe' hook codex || { echo 'Toolgate refused this call.' >&2; exit 2; }",
      '"C:\\Users\\O\'Hara and Co\\toolgate.exe" hook codex || exit 2',
      "& 'C:\\Users\\O''Hara and Co\\toolgate.exe' hook codex; if ($LASTEXITCODE -ne 0) { [Console]::Error.WriteLine('Toolgate refused this call.'); exit 2 }",
    ]);
    for (const command of commands) expect(command).toMatch(hookMark('codex'));
  });

  test.each(['sh', 'cmd', 'powershell'] as const)('is known whatever the program is called, in %s', shell => {
    for (const program of [['/opt/tg'], ['/opt/tool gate'], ['/opt/toolgate-linux-x64'], ['bun', 'main.ts']])
      for (const pending of PENDING)
        expect(hookCommand(program, 'codex', shell, pending)).toMatch(hookMark('codex'));
  });

  test('is known for one agent only', () => {
    // As earlier versions wrote it.
    expect('/x/toolgate hook claude-code || exit 2').toMatch(hookMark('claude-code'));
    expect('& tg hook codex; if ($LASTEXITCODE -ne 0) { exit 2 }').toMatch(hookMark('codex'));
    expect('/x/toolgate hook claude-code-next').not.toMatch(hookMark('claude-code'));
    expect('/x/other hook claude-code').not.toMatch(hookMark('claude-code'));
  });
});
