// npm run check: format, lint, types, import rules, whether every mutation still applies, and whether openapi.json
// is fresh. All are run, so that one look shows everything that is wrong.

import { join } from 'node:path';

const root = join(import.meta.dir, '..');
const bin = (name: string) => join(root, 'node_modules/.bin', name);

const STEPS: [string, string[]][] = [
  ['format and lint', [bin('biome'), 'check', '--error-on-warnings', '.']],
  ['types', [bin('tsc'), '--noEmit', '-p', '.']],
  ['types of the dashboard', [bin('tsc'), '--noEmit', '-p', 'dashboard']],
  ['import rules', [process.execPath, 'scripts/imports.ts']],
  ['mutations', [process.execPath, 'scripts/mutations.ts']],
  ['openapi.json', [process.execPath, 'scripts/openapi.ts', '--check']],
];

let failed = 0;
for (const [name, command] of STEPS) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: root, stdout: 'pipe', stderr: 'pipe' });
  console.log(`${exitCode === 0 ? 'ok    ' : 'FAILED'} ${name}`);
  if (exitCode === 0) continue;
  failed++;
  console.log(stdout.toString() + stderr.toString());
}
process.exit(failed === 0 ? 0 : 1);
