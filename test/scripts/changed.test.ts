// Which tests wait for a change: a file that was only moved is none, nor are the import lines that follow it; a file
// that a test is made of changes the test, also one that it runs as a process of its own.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { changedSince, testsFor, waitingTests } from '../../scripts/changed.ts';
import { newDataDir } from '../support/faults.ts';

const root = newDataDir();
const git = (...words: string[]): string => {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  const { exitCode, stdout, stderr } = Bun.spawnSync(['git', ...who, ...words], { cwd: root });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString().trim();
};
const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
const body = (name: string) =>
  Array.from({ length: 20 }, (_, n) => `export const ${name}${n} = ${n};`).join('\n');
const source = (name: string, from: string) => `import { x } from '${from}';\n${body(name)}\n`;
const DOOR = `import { whenChanged } from '${'./support/when-changed.ts'}';\n`;
const onPatch = (file: string) =>
  `${DOOR}whenChanged({ find: 'a', replace: 'b', file: '${file}' })('red', () => {});\n`;

let commit: string;
beforeAll(() => {
  git('init', '-q');
  write('src/core/one.ts', source('one', './x.ts'));
  write('src/core/two.ts', source('two', './x.ts'));
  write('src/mcp/three.ts', source('three', './x.ts'));
  write('test/one.test.ts', `${body('test')}\n${onPatch('src/core/one.ts')}`);
  write('test/two.test.ts', `${body('test')}\nrun('test/process.ts');\n${onPatch('src/core/two.ts')}`);
  write(
    'test/three.test.ts',
    `import { cases } from './cases.ts';\n${DOOR}whenChanged('src/mcp/**')('a flood', () => {});\n`,
  );
  write('test/cases.ts', body('cases'));
  write('test/plain.test.ts', `test('plain', () => {});\n`);
  git('add', '.');
  git('commit', '-qm', 'all');
  commit = git('rev-parse', 'HEAD');
});
afterAll(() => rmSync(root, { recursive: true }));

test('what waits is what came through the door', () => {
  expect(waitingTests(root)).toEqual(['test/one.test.ts', 'test/three.test.ts', 'test/two.test.ts']);
  expect(changedSince(commit, root)).toEqual([]);
  expect(changedSince('0123456789abcdef', root)).toBeNull();
});

test('a move is no change, nor are the lines that follow it', () => {
  mkdirSync(join(root, 'src/core/policy'));
  renameSync(join(root, 'src/core/one.ts'), join(root, 'src/core/policy/one.ts'));
  write('src/core/policy/one.ts', source('one', '../x.ts'));
  write('test/one.test.ts', `${body('test')}\n${onPatch('src/core/policy/one.ts')}`);
  git('add', '.');
  expect(changedSince(commit, root)).toEqual([]);
});

test('an import of another name, or from another file, is a change', () => {
  const [before, moved] = ["import { x } from './x.ts';", "import {\n  x,\n} from '../policy/x.ts';"];
  const edited = ["import { y as x } from './x.ts';", "import { x } from './y.ts';"];
  const text = source('two', './x.ts');
  for (const [line, changed] of [[moved, []], ...edited.map(each => [each, ['src/core/two.ts']] as const)]) {
    write('src/core/two.ts', text.replace(before as string, line as string));
    const found = changedSince(commit, root)?.filter(path => path.startsWith('src/'));
    expect([line, found]).toEqual([line, changed as string[]]);
  }
  write('src/core/two.ts', text);
});

test('a file that was moved and edited at once, or deleted, changes the folder in which it was', () => {
  renameSync(join(root, 'src/mcp/three.ts'), join(root, 'src/core/three.ts'));
  write('src/core/three.ts', `${source('three', '../x.ts')}export const more = 1;\n`);
  git('add', '.');
  const changed = changedSince(commit, root) ?? [];
  expect(changed).toEqual(expect.arrayContaining(['src/mcp/three.ts', 'src/core/three.ts']));
  expect(testsFor(changed, root)).toEqual(['test/three.test.ts']);
  rmSync(join(root, 'src/core/three.ts'));
  git('add', '.');
  expect(changedSince(commit, root)).toEqual(['src/mcp/three.ts']);
  write('src/mcp/three.ts', source('three', './x.ts'));
  git('add', '.');
  expect(changedSince(commit, root)).toEqual([]);
});

test('a change is one for the tests that name its file, or a pattern of it', () => {
  write('src/core/policy/one.ts', source('other', '../x.ts'));
  expect(changedSince(commit, root)).toContain('src/core/policy/one.ts');
  expect(testsFor(['src/core/policy/one.ts'], root)).toEqual(['test/one.test.ts']);
  expect(testsFor(['src/mcp/new.ts'], root)).toEqual(['test/three.test.ts']);
});

test('a test is changed with what it is made of', () => {
  write('test/cases.ts', body('others'));
  expect(changedSince(commit, root)).toContain('test/three.test.ts');
  write('test/process.ts', body('process'));
  expect(changedSince(commit, root)).toContain('test/two.test.ts');
});
