// npm test: runs the whole suite, or the files that are named after `--`. It builds the program that the tests start
// (test/support/program.ts), runs the tests, and lists the slowest files at the end. test/support/flags.ts has the
// options of the test runner. Tests on mutants, under floods and of memory wait for a change of what they watch
// (test/support/when-changed.ts).

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FLAGS } from '../test/support/flags.ts';
import { CHANGED, LEFT_OUT, PROGRAM } from '../test/support/need.ts';
import { makeProgram } from '../test/support/program.ts';
import { changedSince, commitOf, testsFor, waitingTests } from './changed.ts';

const USAGE = `Usage: npm test -- [options] [files]

  --changed <commit>  also the tests on mutants, under floods and of memory whose sources changed since this commit, not
                      only those with changes that are not committed yet; \`last\` is the commit of the last whole run
                      in docs/promises.md
  --all               all of those
  --update-timings    write test/timings.json anew
  --help              print this

Other options go to \`bun test\`.
`;

const ROOT = join(import.meta.dir, '..');
const TIMINGS = join(ROOT, 'test/timings.json');
const SHOWN = 10;

const rest = process.argv.slice(2);

function taken(option: string): boolean {
  const at = rest.indexOf(option);
  if (at >= 0) rest.splice(at, 1);
  return at >= 0;
}

function valueAfter(option: string): string | undefined {
  const at = rest.indexOf(option);
  return at < 0 ? undefined : rest.splice(at, 2)[1];
}

if (taken('--help')) {
  console.log(USAGE);
  process.exit(0);
}
const [keep, all, since] = [taken('--update-timings'), taken('--all'), valueAfter('--changed')];

/** The changed paths, for tests that run only after a change of what they watch; null lets all of them run. */
function wanted(): string[] | null {
  if (all) return null;
  const commit = commitOf(since ?? 'HEAD');
  const changed = changedSince(commit);
  if (since === undefined && (changed ?? []).length === 0) return [];
  const files = changed === null ? waitingTests() : testsFor(changed);
  console.log(
    changed === null
      ? `Commit ${commit} is not in this clone, so all tests on mutants, under floods and of memory run.`
      : `Since ${commit}, ${changed.length} files changed: tests on mutants, under floods and of memory run in ${files.length} of ${waitingTests().length} files.`,
  );
  return changed;
}

const filesIn = (path: string): Record<string, number> => JSON.parse(readFileSync(path, 'utf8')).files;

/** The slowest of the files that were measured in this run; the others keep their earlier times. */
function slowest(before: Record<string, number>, after: Record<string, number>): [string, number][] {
  const measured = Object.entries(after).filter(([file, ms]) => before[file] !== ms);
  return measured.sort(([, a], [, b]) => b - a).slice(0, SHOWN);
}

const folder = mkdtempSync(join(tmpdir(), 'toolgate-timings-'));
const timings = join(folder, 'timings.json');
const leftOut = join(folder, 'left-out');
cpSync(TIMINGS, timings);
writeFileSync(leftOut, '');
const paths = wanted();
const changed = join(folder, 'changed');
if (paths !== null) writeFileSync(changed, paths.join('\n'));
const begun = performance.now();
const tests = Bun.spawn(
  [process.execPath, 'test', ...FLAGS, '--update-timings', `--timings=${timings}`, ...rest],
  {
    cwd: ROOT,
    env: {
      ...process.env,
      [PROGRAM]: await makeProgram(),
      [LEFT_OUT]: leftOut,
      [CHANGED]: paths === null ? undefined : changed,
    },
    stdio: ['inherit', 'inherit', 'inherit'],
  },
);
const status = await tests.exited;
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
// .ci/run repeats the lines that follow.
console.log(`\nAll tests took ${seconds(performance.now() - begun)}. The slowest files:`);
for (const [file, ms] of slowest(filesIn(TIMINGS), filesIn(timings)))
  console.log(`${seconds(ms).padStart(8)}  ${file}`);
const letters = readFileSync(leftOut, 'utf8');
const [single, suites, engines] = ['t', 's', 'e'].map(letter => letters.split(letter).length - 1);
if (letters !== '')
  console.log(
    `\n*** Left out here: ${single} tests on mutants, under floods and of memory, ${suites} suites of the dashboard, and PostgreSQL in ${engines} files. \`npm run promises\` runs them, .ci/run those whose sources changed. ***`,
  );
if (keep && status === 0) cpSync(timings, TIMINGS);
rmSync(folder, { recursive: true });
process.exit(status);
