// What has changed since a commit, and which test files have tests that wait for it (test/support/when-changed.ts).
// Where files lie counts for nothing, so that they can be moved: import lines are not compared, nor the folders in paths.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dir, '..');
/** What tests watch. Changes of test/support are left to the whole run, because nearly every test uses it. */
const WATCHED = ['src', 'dashboard', 'test', ':!test/support'];
const PROMISES = join(ROOT, 'docs/promises.md');
const DOOR = /\bwhenChanged\(/;
const SOURCE = /['"`]((?:src|dashboard)\/[^'"`\s]+)['"`]/g;
const IMPORT = /from '(\.[^']+)'/g;
/** An import from a file, on one line or on several. */
const IMPORTS = /^(import|export)\b[^;]*?\bfrom '[^']*';\n/gm;
const FOLDERS = /(?<=['"`])[^'"`\s]*\/(?=[^'"`\s/]+\.tsx?['"`])/g;

/** The commit of the last whole run of the promises, as its page says. */
export function lastWholeRun(): string {
  return /^- Commit: ([0-9a-f]{7,40})\b/m.exec(readFileSync(PROMISES, 'utf8'))?.[1] ?? 'unknown';
}

/** The paths that differ from a commit, and the test files that import one of them; null if the clone lacks the commit. */
export function changedSince(commit: string): string[] | null {
  if (git('cat-file', '-e', `${commit}^{commit}`) === null) return null;
  const rows = git('diff', '--name-status', '-M50%', commit, '--', ...WATCHED)?.split('\n') ?? [];
  const added = git('ls-files', '--others', '--exclude-standard', '--', ...WATCHED)?.split('\n') ?? [];
  const moved = rows.map(row => row.split('\t').slice(1)).filter(([path]) => path !== undefined);
  const changed = moved
    .filter(([from = '', to = from]) => differs(commit, from, to))
    .map(each => each.at(-1) ?? '');
  const paths = new Set([...changed, ...added.filter(Boolean)]);
  const using = waitingTests().filter(test => partsOf(test).some(part => paths.has(part)));
  return [...new Set([...paths, ...using])];
}

/** The test files that have tests behind the door. */
export function waitingTests(): string[] {
  const all = [...new Bun.Glob('test/**/*.test.ts').scanSync({ cwd: ROOT })];
  return all.filter(test => DOOR.test(read(test))).sort();
}

/** Those of which a test waits for one of these paths. */
export function testsFor(changed: readonly string[]): string[] {
  return waitingTests().filter(test => {
    const sources = partsOf(test).flatMap(part =>
      Array.from(read(part).matchAll(SOURCE), ([, path = '']) => path),
    );
    const globs = [test, ...sources].map(each => new Bun.Glob(each));
    return changed.some(path => globs.some(glob => glob.match(path)));
  });
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** A test file and the files of `test` that it is made of, without test/support. */
function partsOf(test: string): string[] {
  const parts = new Set([test]);
  for (const part of parts)
    for (const [, specifier = ''] of read(part).matchAll(IMPORT)) {
      const path = join(dirname(part), specifier);
      if (/^test\/(?!support\/)/.test(path) && existsSync(join(ROOT, path))) parts.add(path);
    }
  return [...parts];
}

function differs(commit: string, from: string, to: string): boolean {
  if (!existsSync(join(ROOT, to))) return true;
  const before = git('show', `${commit}:${from}`);
  return before === null || withoutPlaces(before) !== withoutPlaces(read(to));
}

const withoutPlaces = (text: string): string => text.replace(IMPORTS, '').replace(FOLDERS, '');

/** Returns null if git refuses. */
function git(...words: string[]): string | null {
  const { status, stdout } = spawnSync('git', words, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 });
  return status === 0 ? stdout : null;
}
