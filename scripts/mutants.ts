// npm run mutants: makes a few hundred small changes to the program, one at a time, in copies of the tree, and runs the
// tests that cover the changed file (mutants/tests.ts). A change that no test notices survives. A change without an
// effect (mutants/alike.yaml) is not tried. The script writes the survivors and their share to docs/mutants.md.

import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { random } from '../test/support/faults.ts';
import { commit, machine } from './conditions.ts';
import { EXTRA_FOLDERS } from './extras.ts';
import { alike, faultsOfAlike } from './mutants/alike.ts';
import { type Change, changed, changesIn } from './mutants/changes.ts';
import { page, type Same, type Tried } from './mutants/page.ts';
import { failsOn } from './mutants/run.ts';
import { faultsOfTests, testsOf } from './mutants/tests.ts';
import { positive, readOptions } from './options.ts';

const USAGE = `Usage: npm run mutants -- [options]

  --count <n>    how many changes are tried (300)
  --seed <n>     which ones are drawn (1)
  --only <text>  only changes whose file:line contains this text; leaves docs/mutants.md as it is
  --at-once <n>  how many are tried at the same time (2)
  --help         print this
`;

const ROOT = join(import.meta.dir, '..');
const PAGE = join(ROOT, 'docs/mutants.md');
const SOURCES = 'src/{core,guard,store,mcp}/**/*.ts';
/** Data of the demo, and declarations without code. */
const LEFT_OUT = /\/demo\/|\.d\.ts$/;

const { values } = readOptions(USAGE, {
  count: { type: 'string', default: '300' },
  seed: { type: 'string', default: '1' },
  only: { type: 'string' },
  'at-once': { type: 'string', default: '2' },
});
const count = positive(USAGE, '--count', values.count);
const atOnce = positive(USAGE, '--at-once', values['at-once']);

const source = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/**
 * The wanted number of changes, chosen at random from the whole program; the same ones for the same seed and source.
 */
function chosen(): Change[] {
  const files = [...new Bun.Glob(SOURCES).scanSync({ cwd: ROOT })]
    .filter(file => !LEFT_OUT.test(file))
    .sort();
  const all = files
    .flatMap(file => changesIn(file, source(file)))
    .filter(({ file, line }) => values.only === undefined || `${file}:${line}`.includes(values.only));
  const next = random(Number(values.seed));
  const drawn = all.map(change => ({ change, at: next() })).sort((a, b) => a.at - b.at);
  return drawn.slice(0, count).map(each => each.change);
}

/** A copy of the tree to make changes in; packages are linked. Some tests read it as another user. */
function copyOfTree(): string {
  const parent = mkdtempSync(join(tmpdir(), 'toolgate-mutants-'));
  chmodSync(parent, 0o755);
  const folder = join(parent, 'tree');
  const tracked = Bun.spawnSync(['git', 'ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT });
  for (const file of tracked.stdout.toString().split('\0').filter(Boolean)) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file), { verbatimSymlinks: true });
  }
  for (const packages of ['node_modules', ...EXTRA_FOLDERS.map(each => `${each}/node_modules`)])
    if (existsSync(join(ROOT, packages))) symlinkSync(join(ROOT, packages), join(folder, packages));
  return folder;
}

async function tryOut(tree: string, change: Change): Promise<Tried> {
  for (;;) {
    const foundBy = await foundByTest(tree, change);
    if (foundBy === null || (await holdsUnchanged(tree, foundBy))) return { change, foundBy };
  }
}

async function foundByTest(tree: string, change: Change): Promise<string | null> {
  const path = join(tree, change.file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, changed(text, change));
  try {
    return await failsOn(
      tree,
      testsOf(change.file).filter(test => !unsound.has(test)),
    );
  } finally {
    writeFileSync(path, text);
  }
}

const sound = new Set<string>();
const unsound = new Set<string>();

/**
 * A test that fails without any change would notice every change. Each test is verified when it first notices one, and
 * left out from then on if it fails.
 */
async function holdsUnchanged(tree: string, test: string): Promise<boolean> {
  if (sound.has(test)) return true;
  const holds = (await failsOn(tree, [test])) === null;
  (holds ? sound : unsound).add(test);
  if (!holds) console.log(`${test} fails on the program as it is, and is left out.`);
  return holds;
}

const faults = [...faultsOfAlike(), ...faultsOfTests()];
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}
const same: Same[] = [];
const changes: Change[] = [];
for (const change of chosen()) {
  const why = alike(change, source(change.file));
  if (why === null) changes.push(change);
  else same.push({ change, why });
}
const trees = Array.from({ length: atOnce }, copyOfTree);
process.on('exit', () => {
  for (const tree of trees) rmSync(join(tree, '..'), { recursive: true, force: true });
});
const tried: Tried[] = [];
const waiting = [...changes];
await Promise.all(
  trees.map(async tree => {
    for (let change = waiting.shift(); change !== undefined; change = waiting.shift()) {
      const started = performance.now();
      const result = await tryOut(tree, change);
      tried.push(result);
      const seconds = Math.round((performance.now() - started) / 1000);
      const { file, line, was, becomes } = change;
      const end = result.foundBy === null ? 'SURVIVED' : `found by ${result.foundBy}`;
      console.log(
        `${tried.length}/${changes.length} ${file}:${line} ${was} -> ${becomes}: ${end}, ${seconds} s`,
      );
    }
  }),
);

const survived = tried.filter(each => each.foundBy === null).length;
console.log(
  `${survived} of ${tried.length} changes survived (${((100 * survived) / tried.length).toFixed(1)} %); ${same.length} more make no difference.`,
);
if (values.only === undefined) {
  writeFileSync(
    PAGE,
    page(tried, same, {
      seed: values.seed,
      commit: commit(),
      date: new Date().toISOString().slice(0, 10),
      machine: machine(),
    }),
  );
  console.log('docs/mutants.md is written.');
}
