// What calls of coding agents would do, by the table of agents: what is known, and what must not pass for known.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentCallOf } from '../../../src/core/agents/acts-of.ts';
import { TABLE } from '../../../src/core/agents/table.ts';
import { AGENT_NAMES, type AgentName } from '../../../src/core/agents.ts';
import type { JsonObject } from '../../../src/core/wire/json.ts';
import { knownTools } from './known-tools.ts';

const FOLDER = '/srv/project';
const NONE = { reads: [], writes: [], runs: [], fetches: [], plans: false };

const actsOf = (agent: AgentName, tool: string, args: JsonObject, folder: string | null = FOLDER) =>
  agentCallOf(agent, tool, args, folder).acts;

const KNOWN: [AgentName, string, JsonObject, object][] = [
  ['claude-code', 'Read', { file_path: 'src/a.ts', limit: 3 }, { reads: ['/srv/project/src/a.ts'] }],
  ['claude-code', 'Read', { file_path: '../../../home/ann/.bashrc' }, { reads: ['/home/ann/.bashrc'] }],
  ['claude-code', 'Edit', { file_path: '/srv/project/./.env/x/..' }, { writes: ['/srv/project/.env'] }],
  ['claude-code', 'Grep', { pattern: 'x', glob: 'src/**/*.{ts,tsx}' }, { reads: [FOLDER] }],
  ['claude-code', 'Grep', { pattern: 'x', output_mode: 'files_with_matches' }, { reads: [FOLDER] }],
  ['claude-code', 'Grep', { pattern: 'x', output_mode: 'content', glob: '*.ts' }, { reads: [FOLDER] }],
  [
    'claude-code',
    'Grep',
    { pattern: 'x', output_mode: 'content', path: 'src/a.ts' },
    { reads: ['/srv/project/src/a.ts'] },
  ],
  ['claude-code', 'Glob', { pattern: '**/*.ts', path: 'src' }, { reads: ['/srv/project/src'] }],
  ['claude-code', 'Bash', { command: 'ls; rm x', run_in_background: true }, { runs: ['ls; rm x'] }],
  [
    'claude-code',
    'WebFetch',
    { url: 'https://example.com', prompt: 'x' },
    { fetches: ['https://example.com'] },
  ],
  ['claude-code', 'TodoWrite', { todos: [] }, { plans: true }],
  ['claude-code', 'run_shell_command', { command: 'ls', directory: '.' }, { runs: ['ls'] }],
  ['copilot', 'create', { path: 'a', file_text: '' }, { writes: ['/srv/project/a'] }],
  ['grok', 'run_terminal_command', { command: 'ls' }, { runs: ['ls'] }],
  ['vscode', 'create_directory', { dirPath: '/srv/project/a' }, { writes: ['/srv/project/a'] }],
  ['codex', 'shell', { command: 'ls' }, { runs: ['ls'] }],
  ['codex', 'view_image', { path: 'a.png' }, { reads: ['/srv/project/a.png'] }],
  ['codex', 'spawn_agent', { message: 'x', agent_type: 'worker' }, { plans: true }],
  ['cursor', 'Delete', { file_path: 'a' }, { writes: ['/srv/project/a'] }],
  ['gemini-cli', 'grep_search', { pattern: 'x', dir_path: '.' }, { reads: [FOLDER] }],
  ['gemini-cli', 'run_shell_command', { command: 'ls', dir_path: '/srv/project/' }, { runs: ['ls'] }],
  ['gemini-cli', 'update_topic', { title: 'x' }, { plans: true }],
  ['windsurf', 'write_code', { file_path: '/srv/project/a', edits: [] }, { writes: ['/srv/project/a'] }],
  ['goose', 'developer__shell', { command: 'ls' }, { runs: ['ls'] }],
  [
    'goose',
    'developer__text_editor',
    { command: 'view', path: 'a' },
    { reads: ['/srv/project/a'], writes: ['/srv/project/a'] },
  ],
];

test.each(KNOWN)('%s %s %j', (agent, tool, args, acts) =>
  expect(actsOf(agent, tool, args)).toEqual({ ...NONE, ...acts }),
);

const UNKNOWN: [AgentName, string, JsonObject][] = [
  ['claude-code', 'Read', { file_path: '../../../home/ann/.bashrc', cwd: FOLDER }],
  ['claude-code', 'Read', { file_path: '~/.bashrc' }],
  ['claude-code', 'Read', { file_path: ' /etc/passwd' }],
  ['claude-code', 'Read', { file_path: 'a\0b' }],
  ['claude-code', 'Read', { file_path: ['a'] }],
  ['claude-code', 'Read', {}],
  ['claude-code', 'Bash', { command: 'ls', cwd: FOLDER }],
  ['claude-code', 'Bash', { command: 'ls', dangerouslyDisableSandbox: true }],
  ['claude-code', 'Bash', { command: 7 }],
  ['claude-code', 'Bash', { description: 'x' }],
  ['claude-code', 'PowerShell', { command: 'ls' }],
  ['claude-code', 'Grep', { pattern: 'x', output_mode: 'content' }],
  ['claude-code', 'Grep', { pattern: 'x', output_mode: 'content', path: 'src' }],
  ['claude-code', 'Grep', { pattern: 'x', glob: '.env' }],
  ['claude-code', 'Grep', { pattern: 'x', glob: '*.{ts,env}' }],
  ['claude-code', 'Grep', { pattern: 'x', glob: '*.npmrc' }],
  ['claude-code', 'Grep', { pattern: 'x', glob: 'src/*.{ts,p8}' }],
  ['claude-code', 'Grep', { pattern: 'x', glob: '*.ts .env' }],
  ['claude-code', 'Glob', { pattern: '/etc/*' }],
  ['claude-code', 'Glob', { pattern: '{a,/etc}/*' }],
  ['claude-code', 'Glob', { pattern: '../*' }],
  ['claude-code', 'Glob', { pattern: '~/*' }],
  ['claude-code', 'Agent', { prompt: 'x', isolation: 'remote' }],
  ['claude-code', 'Skill', { skill: 'x' }],
  ['claude-code', '__proto__', {}],
  ['copilot', 'bash', { command: 'ls', sessionId: 's' }],
  ['vscode', 'read_file', { filePath: 'file:///etc/passwd' }],
  ['vscode', 'grep_search', { query: 'x' }],
  ['codex', 'write_stdin', { session_id: 1, chars: 'cat .env\n' }],
  ['codex', 'shell', { command: ['ls'] }],
  ['codex', 'spawn_agent', { items: [{ type: 'local_image', path: '/etc/passwd' }] }],
  ['cursor', 'Grep', { pattern: 'x' }],
  ['gemini-cli', 'grep_search', { pattern: 'x' }],
  ['gemini-cli', 'grep_search', { pattern: 'x', dir_path: '.', no_ignore: true }],
  ['gemini-cli', 'glob', { pattern: '*' }],
  ['gemini-cli', 'replace', { file_path: 'settings.json', old_string: '', new_string: '' }],
  ['gemini-cli', 'write_file', { file_path: '@.git/hooks/pre-commit', content: '' }],
  ['gemini-cli', 'run_shell_command', { command: 'ls', dir_path: 'src' }],
  ['gemini-cli', 'web_fetch', { prompt: 'https://example.com' }],
];

test.each(UNKNOWN)('%s %s %j is not known', (agent, tool, args) =>
  expect(agentCallOf(agent, tool, args, FOLDER)).toEqual({ folder: FOLDER, acts: null }),
);

describe('without a folder', () => {
  test('an absolute path is known', () =>
    expect(actsOf('windsurf', 'read_code', { file_path: '/a' }, null)).toEqual({ ...NONE, reads: ['/a'] }));
  test.each([
    ['claude-code', 'Read', { file_path: 'a' }],
    ['claude-code', 'Grep', { pattern: 'x' }],
    ['claude-code', 'Bash', { command: 'ls' }],
  ] as const)('%s %s %j is not', (agent, tool, args) => expect(actsOf(agent, tool, args, null)).toBe(null));
  test.each(['project', 'C:\\project', '~', ''])('nothing is known in %j', folder =>
    expect(actsOf('claude-code', 'Bash', { command: 'ls' }, folder)).toBe(null),
  );
});

describe('patches', () => {
  const patchOf = (...lines: string[]) =>
    actsOf('codex', 'apply_patch', { command: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') });

  test('every file is written', () =>
    expect(
      patchOf(
        '*** Add File: a.ts',
        '+*** Update File: not.ts',
        '*** Update File: /srv/project/b.ts',
        '*** Move to: ../c.ts',
        '@@ class A',
        ' x',
        '-y',
        '',
        '*** End of File',
        '*** Delete File: .git/hooks/pre-commit',
      ),
    ).toEqual({
      ...NONE,
      writes: ['/srv/project/a.ts', '/srv/project/b.ts', '/srv/c.ts', '/srv/project/.git/hooks/pre-commit'],
    }));

  test.each([
    [[]],
    [['*** Environment ID: other', '*** Add File: a', '+x']],
    [[' *** Add File: a', '*** Add File: b']],
    [['*** Add File: b', '\u0085*** Add File: .env']],
    [['*** Add File: a ']],
    [['*** Add File: ~/a']],
    [['*** Add file: a', '*** Add File: b']],
    [['*** Add File: a', 'odd']],
  ])('%j is not understood', lines => expect(patchOf(...lines)).toBe(null));

  test.each(['', '*** Add File: a', '<<EOF\n*** Begin Patch\n*** Add File: a\n*** End Patch\nEOF'])(
    '%j is none',
    command => expect(actsOf('codex', 'apply_patch', { command })).toBe(null),
  );
});

test('an argument that the table does not know, or of another type, makes every call unknown', () => {
  for (const agent of AGENT_NAMES)
    for (const [tool, { args }] of Object.entries(TABLE[agent])) {
      expect([agent, tool, actsOf(agent, tool, { cwd: FOLDER })]).toEqual([agent, tool, null]);
      for (const [name, argument] of Object.entries(args))
        if (argument !== 'any')
          expect([agent, tool, name, actsOf(agent, tool, { [name]: [FOLDER] })]).toEqual([
            agent,
            tool,
            name,
            null,
          ]);
    }
});

test('docs/agents.md lists the tools that are known', () => {
  const page = readFileSync(join(import.meta.dir, '../../../docs/agents.md'), 'utf8');
  const rows = page.split('\n').map(line => line.split('|').map(cell => cell.trim()));
  for (const agent of AGENT_NAMES) {
    const row = rows.find(cells => cells[1] === `\`${agent}\`` && cells.length === 8);
    const listed = row?.slice(2, 7).map(cell => cell.split(', ').flatMap(name => name.match(/[^`]+/g) ?? []));
    expect([agent, listed]).toEqual([agent, Object.values(knownTools(agent))]);
  }
});
