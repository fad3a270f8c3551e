// npm run check: verifies format, lint, types, import rules, whether every mutation and every entry of the lists of `npm
// run mutants` still applies, whether every promise has its figure, and whether openapi.json is up to date.
// All steps run, so that one run shows everything that is wrong. A step whose packages are not installed fails, because
// it has verified nothing; only what `npm run extras` does not install may be left out.

import { join } from 'node:path';
import { describeExtra, type Extra, hasExtra, packagesOf } from './extras.ts';

const root = join(import.meta.dir, '..');
const bin = (name: string) => packagesOf('scripts', '.bin', name);
const types = (project: string) => [bin('tsc'), '--noEmit', '-p', project];

interface Step {
  name: string;
  command: string[];
  needs?: Extra[];
  /** Packages without which the step is left out. */
  optional?: Extra;
}

const STEPS: Step[] = [
  {
    name: 'format and lint',
    command: [bin('biome'), 'check', '--error-on-warnings', '.'],
    needs: ['scripts'],
  },
  { name: 'types', command: types('.'), needs: ['scripts'] },
  { name: 'types of the dashboard', command: types('dashboard'), needs: ['scripts'] },
  { name: 'types of the examples', command: types('examples'), needs: ['scripts', 'examples'] },
  {
    name: 'types of the Mastra example',
    command: types('examples/mastra'),
    needs: ['scripts'],
    optional: 'examples/mastra',
  },
  { name: 'types of the benchmark', command: types('bench'), needs: ['scripts', 'bench'] },
  { name: 'import rules', command: [process.execPath, 'scripts/imports.ts'] },
  { name: 'mutations', command: [process.execPath, 'scripts/mutations.ts'] },
  { name: 'figures of promises', command: [process.execPath, 'scripts/figures.ts'] },
  { name: 'openapi.json', command: [process.execPath, 'scripts/openapi.ts', '--check'], needs: ['scripts'] },
];

/** The output of a failed step, or null. */
function faultOf({ command, needs = [] }: Step): string | null {
  const missing = needs.filter(folder => !hasExtra(folder));
  if (missing.length > 0) return `Not installed: ${missing.map(describeExtra).join('; ')}\n`;
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: root, stdout: 'pipe', stderr: 'pipe' });
  return exitCode === 0 ? null : stdout.toString() + stderr.toString();
}

let failed = 0;
for (const step of STEPS) {
  if (step.optional !== undefined && !hasExtra(step.optional)) {
    console.log(`left out ${step.name}: ${describeExtra(step.optional)}`);
    continue;
  }
  const fault = faultOf(step);
  console.log(`${fault === null ? 'ok    ' : 'FAILED'} ${step.name}`);
  if (fault === null) continue;
  failed++;
  console.log(fault);
}
process.exit(failed === 0 ? 0 : 1);
