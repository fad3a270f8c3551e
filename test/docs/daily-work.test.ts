// The coding pack on a day of ordinary work (test/vectors/daily-work): what it allows, asks about and denies, by kind. The page about
// agents has the same figures.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { simulate } from '../../src/core/decision/simulate.ts';
import { compilePolicy } from '../../src/core/policy/compiled-policy.ts';
import type { JsonObject } from '../../src/core/wire/json.ts';
import { ROOT } from '../support/service.ts';

const PROJECT = '/srv/project';
const read = (path: string) => parse(readFileSync(join(ROOT, path), 'utf8'));
const coding = compilePolicy({ id: 'p', version: 1, ...read('packs/coding.yaml') });
const work = read('test/vectors/daily-work/calls.yaml') as Record<string, string>;

type Call = [server: string, tool: string, args: JsonObject];
const absolute = (path: string) => (path.startsWith('/') ? path : `${PROJECT}/${path}`);
const patchOf = (files: string) =>
  `*** Begin Patch\n${files.replaceAll(/(\S+) ?/g, '*** Update File: $1\n@@\n-a\n+b\n')}*** End Patch`;

/** What each verb is in the agents that have such a tool; a line is given to one after the other. */
const TOOLS: Record<string, ((rest: string) => Call)[]> = {
  read: [
    path => ['claude-code', 'Read', { file_path: absolute(path), offset: 1, limit: 200 }],
    path => ['gemini-cli', 'read_file', { file_path: path }],
    path => ['cursor', 'read_file', { file_path: absolute(path) }],
    path => ['vscode', 'read_file', { filePath: absolute(path), startLine: 1, endLine: 200 }],
    path => ['copilot', 'view', { path: absolute(path) }],
    path => ['windsurf', 'read_code', { file_path: absolute(path) }],
  ],
  list: [
    path => ['claude-code', 'LS', { path: absolute(path) }],
    path => ['gemini-cli', 'list_directory', { dir_path: path }],
    path => ['vscode', 'list_dir', { path: absolute(path) }],
  ],
  edit: [
    path => ['claude-code', 'Edit', { file_path: absolute(path), old_string: 'a', new_string: 'b' }],
    path => ['gemini-cli', 'replace', { file_path: absolute(path), old_string: 'a', new_string: 'b' }],
    path => ['cursor', 'Edit', { file_path: absolute(path), old_string: 'a', new_string: 'b' }],
    path => [
      'vscode',
      'replace_string_in_file',
      { filePath: absolute(path), oldString: 'a', newString: 'b' },
    ],
    path => ['copilot', 'edit', { path: absolute(path), old_str: 'a', new_str: 'b' }],
    path => ['goose', 'edit', { path, before: 'a', after: 'b' }],
  ],
  write: [
    path => ['claude-code', 'Write', { file_path: absolute(path), content: 'a' }],
    path => ['gemini-cli', 'write_file', { file_path: path, content: 'a' }],
    path => ['cursor', 'Write', { path: absolute(path), contents: 'a' }],
    path => ['vscode', 'create_file', { filePath: absolute(path), content: 'a' }],
  ],
  patch: [files => ['codex', 'apply_patch', { command: patchOf(files) }]],
  search: [
    what => ['claude-code', 'Grep', { ...searched(what, 'path'), output_mode: 'content', '-n': true }],
    what => ['gemini-cli', 'grep_search', searched(what, 'dir_path')],
    what => ['cursor', 'Grep', searched(what, 'path')],
  ],
  glob: [
    pattern => ['claude-code', 'Glob', { pattern }],
    pattern => ['gemini-cli', 'glob', { pattern, dir_path: '.' }],
  ],
  plan: [
    () => ['claude-code', 'TodoWrite', { todos: [] }],
    () => ['codex', 'update_plan', { plan: [] }],
    () => ['gemini-cli', 'write_todos', { todos: [] }],
    () => ['vscode', 'manage_todo_list', { todoList: [], operation: 'write' }],
    () => ['claude-code', 'Task', { description: 'a', prompt: 'b', subagent_type: 'Explore' }],
    () => ['gemini-cli', 'ask_user', { questions: [] }],
  ],
  fetch: [url => ['claude-code', 'WebFetch', { url, prompt: 'What does it say?' }]],
};

const SHELLS: ((command: string) => Call)[] = [
  command => ['claude-code', 'Bash', { command, description: 'a' }],
  command => ['codex', 'shell', { command }],
  command => ['gemini-cli', 'run_shell_command', { command }],
  command => ['cursor', 'shell', { command }],
  command => ['vscode', 'run_in_terminal', { command, explanation: 'a', isBackground: false }],
];

/** A pattern, in quotes if it has blanks, and perhaps a folder. */
function searched(what: string, field: string): JsonObject {
  const [, quoted, plain, place] = /^(?:"([^"]*)"|(\S+))(?: (\S+))?$/.exec(what) ?? [];
  return { pattern: quoted ?? plain ?? '', ...(place !== undefined && { [field]: place }) };
}

const turns = new Map<unknown, number>();
function oneAfterTheOther<T>(list: readonly T[]): T {
  const turn = turns.get(list) ?? 0;
  turns.set(list, turn + 1);
  return list[turn % list.length] as T;
}

function callOf(line: string): Call {
  const [, verb = '', rest = ''] = /^(\w+) ?(.*)$/.exec(line) ?? [];
  return oneAfterTheOther(TOOLS[verb] as ((rest: string) => Call)[])(rest);
}

const BY_TOOLS = ['reading a file', 'changing a file', 'searching', 'planning', 'reading a page'];
const decided = Object.entries(work).map(([kind, lines]) => {
  const found = { allow: [] as string[], pending: [] as string[], deny: [] as string[] };
  for (const line of lines.trim().split('\n')) {
    const isTool = BY_TOOLS.some(each => kind.startsWith(each));
    const [serverName, toolName, args] = isTool ? callOf(line) : oneAfterTheOther(SHELLS)(line);
    const { decision } = simulate(coding, { serverName, toolName }, { at: 0, args, folder: PROJECT });
    found[decision].push(line);
  }
  return { kind, ...found };
});

test('of 500 ordinary calls none is denied', () => {
  expect(decided.flatMap(({ allow, pending, deny }) => [...allow, ...pending, ...deny]).length).toBe(500);
  expect(decided.flatMap(({ deny }) => deny)).toEqual([]);
});

/** A trick is a line; one of them has a line more, which the shell would join. */
test('none of the tricks with which harmless programs read, write or run something else is allowed', () => {
  const text = readFileSync(join(ROOT, 'test/vectors/daily-work/tricks.txt'), 'utf8');
  const tricks = text.trimEnd().split(/(?<!\\)\n/);
  expect(tricks.length).toBeGreaterThan(250);
  for (const shell of SHELLS) {
    const allowed = tricks.filter(trick => {
      const [serverName, toolName, args] = shell(trick);
      return (
        simulate(coding, { serverName, toolName }, { at: 0, args, folder: PROJECT }).decision === 'allow'
      );
    });
    expect(allowed).toEqual([]);
  }
});

test('docs/agents.md says how many of them it asks about, by kind', () => {
  const rows = decided.map(
    ({ kind, allow, pending }) => `| ${kind} | ${allow.length + pending.length} | ${pending.length} |`,
  );
  const all = decided.flatMap(({ pending }) => pending).length;
  const table = ['| Kind of work | Calls | Asked |', '|---|---|---|', ...rows, `| all | 500 | ${all} |`].join(
    '\n',
  );
  expect(readFileSync(join(ROOT, 'docs/agents.md'), 'utf8')).toContain(table);
});
