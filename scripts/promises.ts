// npm run promises: runs the long form of every promise's test, with its mutants, two at a time; then the other tests
// that npm test leaves out (test/support/when-changed.ts). It prints one line for each as it ends, and writes the table
// in docs/promises.md. A promise holds when its tests pass, nothing was violated, and every mutant was noticed.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changedSince, commitOf, testsFor, waitingTests } from './changed.ts';
import { commit, machine } from './conditions.ts';
import { readOptions } from './options.ts';
import { PROMISES } from './promised.ts';

const USAGE = `Usage: npm run promises -- [options]

Without options: all promises in their long forms, and every other test on mutants, under floods and of memory.

  --seed <n>          make the same choices again as the run with this seed
  --only <numbers>    only these promises, by comma (P5,P9); leaves docs/promises.md as it is
  --changed <commit>  only the files with a test on mutants, under floods or of memory whose sources changed since this
                      commit, in their quick forms; \`last\` is the commit that docs/promises.md names, if this clone
                      has it. Leaves docs/promises.md as it is
  --others            once more those that are no promise, after one of them failed; if they pass, docs/promises.md says so
  --help              print this
`;

const ROOT = join(import.meta.dir, '..');
const TABLE = join(ROOT, 'docs/promises.md');
const AT_ONCE = 2;
const TIMEOUT_MS = 900_000;

/** The longest ones start first, so that none of them runs alone at the end. */
const FIRST = ['P31', 'P9', 'P5', 'P1', 'P13', 'P7', 'P6', 'P22', 'P18', 'P8', 'P16', 'P3'];

/** One line of output of test/support/faults.ts. */
interface Figure extends Record<string, string | number> {
  where: string;
  operations: number;
  violations: number;
}

interface Result {
  promise: string;
  passed: boolean;
  seconds: number;
  output: string;
  figures: Figure[];
}

const isMutant = ({ where }: Figure): boolean => /\bmutant\b/.test(where);

function summary({ figures }: Result) {
  const measured = figures.filter(each => !isMutant(each));
  // A mutant that is not noticed in one campaign is tried in another: only the last one counts.
  const mutants = figures
    .filter(isMutant)
    .filter(({ where, violations }, at, all) => violations > 0 || all[at + 1]?.where !== where);
  const sum = (name: string) => measured.reduce((total, each) => total + Number(each[name] ?? 0), 0);
  return {
    engines: ['sqlite', 'postgres'].filter(engine => measured.some(({ where }) => where.includes(engine))),
    operations: sum('operations'),
    faults: sum('faults'),
    violations: sum('violations'),
    mutants: mutants.length,
    red: mutants.filter(each => each.violations > 0).length,
  };
}

function holds(result: Result): boolean {
  const { operations, violations, mutants, red } = summary(result);
  return result.passed && operations > 0 && violations === 0 && mutants > 0 && red === mutants;
}

const fileOf = (promise: string): string => `test/faults/p${promise.slice(1).padStart(2, '0')}-`;

async function run(promise: string, seed: number): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-promise-'));
  const file = join(folder, 'figures');
  writeFileSync(file, '');
  const started = performance.now();
  const child = Bun.spawn([process.execPath, 'test', '--timeout', String(TIMEOUT_MS), fileOf(promise)], {
    cwd: ROOT,
    env: {
      ...process.env,
      TOOLGATE_TEST_LONG: '1',
      TOOLGATE_TEST_STRICT: '1',
      TOOLGATE_TEST_SEED: String(seed),
      TOOLGATE_TEST_FIGURES: file,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const passed = (await child.exited) === 0;
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  rmSync(folder, { recursive: true });
  const seconds = Math.round((performance.now() - started) / 1000);
  return {
    promise,
    passed,
    seconds,
    output: output + errors,
    figures: lines.map(line => JSON.parse(line) as Figure),
  };
}

function progress(result: Result): void {
  const { operations, faults, violations, mutants, red } = summary(result);
  console.log(
    [
      result.promise.padEnd(4),
      holds(result) ? 'holds ' : 'BROKEN',
      `${result.seconds} s`.padStart(6),
      `operations ${operations}`,
      `faults ${faults}`,
      `violations ${violations}`,
      `mutants red ${red} of ${mutants}`,
    ].join('  '),
  );
  if (!holds(result)) console.log(result.output.split('\n').slice(-60).join('\n'));
}

// --- what is no promise ---------------------------------------------------------------------------

/** The other files with tests on mutants, under floods and of memory. */
const others = (): string[] =>
  waitingTests().filter(test => !Object.keys(PROMISES).some(promise => test.startsWith(fileOf(promise))));

/** Runs these files as npm test does, with every test in them that waits for one of the changes. */
async function runTests(files: readonly string[], changed: readonly string[]): Promise<boolean> {
  const command = [process.execPath, '--no-orphans', join(import.meta.dir, 'test.ts'), ...changed, ...files];
  const child = Bun.spawn(command, { cwd: ROOT, stdio: ['inherit', 'inherit', 'inherit'] });
  return (await child.exited) === 0;
}

// --- the table -----------------------------------------------------------------------------------

const number = (value: number): string => value.toLocaleString('en');

function row(result: Result): string {
  const { engines, operations, faults, violations, mutants, red } = summary(result);
  const cells = [
    result.promise,
    PROMISES[result.promise],
    engines.join(', ') || '–',
    number(operations),
    number(faults),
    number(violations),
    `${red} of ${mutants}`,
    holds(result) ? 'holds' : '**broken**',
  ];
  return `| ${cells.join(' | ')} |`;
}

function line({ where, ...values }: Figure): string {
  const { seed: _, ...shown } = values;
  const pairs = Object.entries(shown).map(([name, value]) => `${name}=${value}`);
  return `${where}: ${pairs.join(' ')}`;
}

const NOT_PASSED = '**did not pass**';

function table(results: Result[], seed: number, seconds: number, othersPassed: boolean): string {
  const held = results.filter(holds).length;
  return `# The promises, measured

Written by \`npm run promises\`; do not edit. ${held} of ${results.length} hold. The other ${others().length} files with tests on mutants, under floods
and of memory ${othersPassed ? 'passed' : NOT_PASSED}. What has changed since this commit is what \`.ci/run\` tries them on.

- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC
- Commit: ${commit()}
- Seed: ${seed} (\`npm run promises -- --seed ${seed}\` makes the same choices)
- Machine: ${machine()}
- It took ${Math.round(seconds / 60)} minutes

An operation is one thing that was tried (a check, an answer, a delivery, a search). A fault is something that happened
meanwhile (a kill, a revocation, an outage, a clock set back, a hostile message). Each test also runs against mutants: copies
of the source with one deliberate fault. A test that does not fail on them would prove nothing. What each test does is in
the first lines of its file in \`test/faults\`.

| | Promise | Engines | Operations | Faults | Violations | Mutants red | |
|---|---|---|--:|--:|--:|---|---|
${results.map(row).join('\n')}

## Every figure

${results.flatMap(({ figures }) => figures.map(figure => `    ${line(figure)}`)).join('\n')}
`;
}

// --- the run -------------------------------------------------------------------------------------

const { values } = readOptions(USAGE, {
  seed: { type: 'string' },
  only: { type: 'string' },
  changed: { type: 'string' },
  others: { type: 'boolean' },
});

const seed = Number(values.seed ?? Date.now() % 1_000_000);
const only = values.only?.toUpperCase().split(',');
const unknown = only?.filter(each => PROMISES[each] === undefined) ?? [];
if (unknown.length > 0) {
  console.error(`There is no promise ${unknown.join(', ')}. There are ${Object.keys(PROMISES).join(', ')}.`);
  process.exit(2);
}
if (values.changed !== undefined) {
  const base = commitOf(values.changed);
  const changed = changedSince(base);
  const files = changed === null ? waitingTests() : testsFor(changed);
  if (files.length === 0)
    console.log(`No test on mutants, under floods or of memory waits for what changed since ${base}.`);
  process.exit(files.length === 0 || (await runTests(files, ['--changed', base])) ? 0 : 1);
}
if (values.others) {
  const passed = await runTests(others(), ['--all']);
  const page = readFileSync(TABLE, 'utf8');
  if (passed) writeFileSync(TABLE, page.replace(NOT_PASSED, `passed at commit ${commit()}`));
  process.exit(passed ? 0 : 1);
}
const all = Object.keys(PROMISES).filter(promise => only === undefined || only.includes(promise));
const waiting = [...FIRST.filter(each => all.includes(each)), ...all.filter(each => !FIRST.includes(each))];
console.log(`${all.length} promises, seed ${seed}`);
const started = performance.now();
const results: Result[] = [];
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const result = await run(next, seed);
      results.push(result);
      progress(result);
    }
  }),
);
results.sort((a, b) => all.indexOf(a.promise) - all.indexOf(b.promise));
const othersPassed = only !== undefined || (await runTests(others(), ['--all']));
const text = table(results, seed, (performance.now() - started) / 1000, othersPassed);
if (only === undefined) writeFileSync(TABLE, text);
console.log(`\n${text.slice(text.indexOf('| |'), text.indexOf('## Every figure')).trim()}`);
const broken = results.filter(result => !holds(result)).map(({ promise }) => promise);
if (!othersPassed) broken.push('tests of what is no promise');
console.log(broken.length === 0 ? '\nAll hold.' : `\nBroken: ${broken.join(', ')}`);
process.exit(broken.length === 0 ? 0 : 1);
