// What has changed since a commit, and which test files have tests that wait for it (test/support/when-changed.ts).
// The folder of a file does not count, so that files can be moved: the folders in paths are not compared, nor is the order of
// the imports, which follows them.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dir, '..');
/** The folders that tests watch, and the files that decide what is built. */
const SOURCES = ['src', 'dashboard', 'clients', 'packs', 'docs', 'examples', 'deploy', 'bin', 'scripts'];
const FILES = ['package.json', 'Dockerfile', '.dockerignore'];
/** Changes of test/support are left to the whole run, because nearly every test uses it. */
const WATCHED = [...SOURCES, ...FILES, 'test', ':!test/support'];
const PROMISES = join(ROOT, 'docs/promises.md');
const DOOR = /from '[^']*\/when-changed\.ts'/;
const SOURCE = new RegExp(`['"\`]((?:${SOURCES.join('|')})/[^'"\`\\s]+|${FILES.join('|')})['"\`]`, 'g');
const IMPORT = /from '(\.[^']+\.ts)'/g;
/** A file that a test runs as a process of its own. */
const RUN = /['"`](test\/[^'"`\s]+\.ts)['"`]/g;
/** An import from a file, on one line or on several. */
const IMPORTS = /^(import|export)\b[^;]*?\bfrom '[^']*';\n/gm;
const FOLDERS = /(?<=['"`])[^'"`\s]*\/(?=[^'"`\s/]+\.tsx?['"`])/g;

/** A commit by its name; `last` is that of the last whole run of the promises, as its page says. */
export function commitOf(name: string): string {
  if (name !== 'last') return name;
  return /^- Commit: ([0-9a-f]{7,40})\b/m.exec(readFileSync(PROMISES, 'utf8'))?.[1] ?? 'unknown';
}

/** The paths that differ from a commit, and the test files that are made of one of them; null if the clone lacks the commit. */
export function changedSince(commit: string, root = ROOT): string[] | null {
  const git = gitIn(root);
  if (git('cat-file', '-e', `${commit}^{commit}`) === null) return null;
  const diff = git('diff', '--name-status', '-M50%', commit, '--', ...WATCHED);
  if (diff === null) return null;
  const added = linesOf(git('ls-files', '--others', '--exclude-standard', '--', ...WATCHED));
  // Of a file that was moved and edited, both paths: a test may watch the folder in which it was.
  const changed = linesOf(diff)
    .map(row => row.split('\t').slice(1))
    .filter(([from = '', to = from]) => {
      const before = git('show', `${commit}:${from}`);
      const after = existsSync(join(root, to)) ? readIn(root, to) : null;
      return before === null || after === null || withoutPlaces(before) !== withoutPlaces(after);
    })
    .flat();
  const paths = new Set([...changed, ...added]);
  const made = waitingTests(root).filter(test => partsOf(root, test).some(part => paths.has(part)));
  return [...new Set([...paths, ...made])];
}

/** The test files with tests that run only after a change of the files that they watch. */
export function waitingTests(root = ROOT): string[] {
  const all = [...new Bun.Glob('test/**/*.test.ts').scanSync({ cwd: root })];
  return all.filter(test => DOOR.test(readIn(root, test))).sort();
}

/** The test files with a test that may watch one of these paths: it names the path, or a pattern that matches it. */
export function testsFor(changed: readonly string[], root = ROOT): string[] {
  return waitingTests(root).filter(test => {
    const texts = partsOf(root, test).map(part => readIn(root, part));
    const sources = texts.flatMap(text => Array.from(text.matchAll(SOURCE), ([, path = '']) => path));
    const globs = [test, ...sources].map(each => new Bun.Glob(each));
    return changed.some(path => globs.some(glob => glob.match(path)));
  });
}

/** A test file and the files of `test` that it imports or runs, without test/support. */
function partsOf(root: string, test: string): string[] {
  const parts = new Set([test]);
  for (const part of parts) {
    const text = readIn(root, part);
    const imported = Array.from(text.matchAll(IMPORT), ([, path = '']) => join(dirname(part), path));
    const run = Array.from(text.matchAll(RUN), ([, path = '']) => path);
    for (const path of [...imported, ...run])
      if (/^test\/(?!support\/)/.test(path) && existsSync(join(root, path))) parts.add(path);
  }
  return [...parts];
}

const readIn = (root: string, path: string): string => readFileSync(join(root, path), 'utf8');
const linesOf = (text: string | null): string[] => text?.split('\n').filter(Boolean) ?? [];

/** Imports are sorted by path, and broken into lines where they are long. */
function withoutPlaces(text: string): string {
  const plain = text.replace(FOLDERS, '');
  const imports = plain.match(IMPORTS)?.map(each => each.replace(/[\s,]+/g, ' ')) ?? [];
  return [...imports.sort(), plain.replace(IMPORTS, '')].join('\n');
}

/** Returns null if git refuses. */
const gitIn =
  (root: string) =>
  (...words: string[]): string | null => {
    const { status, stdout } = spawnSync('git', words, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
    return status === 0 ? stdout : null;
  };
