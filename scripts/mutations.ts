// Verifies that every mutation in the tests still applies: the text that a patch replaces must be in the source exactly
// once. The tests verify this as well, but only when they run. It also verifies the lists of `npm run mutants`, which is
// run seldom: the changes that make no difference, and the tests of each file.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { faultsOfAlike } from './mutants/alike.ts';
import { faultsOfTests } from './mutants/tests.ts';

const ROOT = join(import.meta.dir, '..');
const LITERAL = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\$])*`/.source;
/** Patches whose file and text are literals, or constants of the same file that are; computed ones are left to their tests. */
const PATCH = new RegExp(`file:\\s*(${LITERAL}|[A-Z_]+),\\s*find:\\s*(${LITERAL}|[A-Z_]+)[,\\s]`, 'g');

const read = (literal: string): string => new Function(`return ${literal}`)();

/** The literal itself, or that of the constant with this name; undefined if it has another form. */
function literalOf(word: string, source: string): string | undefined {
  if (!/^[A-Z_]+$/.test(word)) return word;
  return new RegExp(`const ${word} =\\s*(${LITERAL});`).exec(source)?.[1];
}

const faults = [...faultsOfAlike(), ...faultsOfTests()];
let patches = 0;
for (const test of new Bun.Glob('test/**/*.ts').scanSync({ cwd: ROOT })) {
  const source = readFileSync(join(ROOT, test), 'utf8');
  for (const [, ...words] of source.matchAll(PATCH)) {
    const [file, find] = words.map(word => literalOf(word, source));
    if (file === undefined || find === undefined) continue;
    patches++;
    const path = join(ROOT, read(file));
    const places = existsSync(path) ? readFileSync(path, 'utf8').split(read(find)).length - 1 : 0;
    if (places !== 1) faults.push(`${test}: ${find} is ${places} times in ${read(file)}, not once`);
  }
}
for (const fault of faults) console.log(fault);
console.log(`${patches} mutations`);
process.exit(faults.length === 0 ? 0 : 1);
