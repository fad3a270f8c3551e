// npm test: runs the whole suite, or the files that are named after `--`. It builds the program that the tests start
// (test/support/program.ts), runs the tests, and lists the slowest files at the end. test/support/flags.ts has the
// options of the test runner.

import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FLAGS } from '../test/support/flags.ts';
import { PROGRAM } from '../test/support/need.ts';
import { makeProgram } from '../test/support/program.ts';

const ROOT = join(import.meta.dir, '..');
const TIMINGS = join(ROOT, 'test/timings.json');
const SHOWN = 10;

const filesIn = (path: string): Record<string, number> => JSON.parse(readFileSync(path, 'utf8')).files;

/** The slowest of the files that were measured in this run; the others keep their earlier times. */
function slowest(before: Record<string, number>, after: Record<string, number>): [string, number][] {
  const measured = Object.entries(after).filter(([file, ms]) => before[file] !== ms);
  return measured.sort(([, a], [, b]) => b - a).slice(0, SHOWN);
}

const folder = mkdtempSync(join(tmpdir(), 'toolgate-timings-'));
const timings = join(folder, 'timings.json');
cpSync(TIMINGS, timings);
const wanted = process.argv.slice(2);
const keep = wanted.includes('--update-timings');
const rest = wanted.filter(each => each !== '--update-timings');
const begun = performance.now();
const tests = Bun.spawn(
  [process.execPath, 'test', ...FLAGS, '--update-timings', `--timings=${timings}`, ...rest],
  {
    cwd: ROOT,
    env: { ...process.env, [PROGRAM]: await makeProgram() },
    stdio: ['inherit', 'inherit', 'inherit'],
  },
);
const status = await tests.exited;
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
// .ci/run repeats the lines that follow.
console.log(`\nAll tests took ${seconds(performance.now() - begun)}. The slowest files:`);
for (const [file, ms] of slowest(filesIn(TIMINGS), filesIn(timings)))
  console.log(`${seconds(ms).padStart(8)}  ${file}`);
if (keep && status === 0) cpSync(timings, TIMINGS);
rmSync(folder, { recursive: true });
process.exit(status);
