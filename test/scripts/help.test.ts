// The long runs among the npm scripts: --help prints how each is used and starts nothing.

import { expect, test } from 'bun:test';

const ROOT = `${import.meta.dir}/../..`;
const { scripts } = (await Bun.file(`${ROOT}/package.json`).json()) as { scripts: Record<string, string> };

test.each(['promises', 'mutants', 'soak', 'bench', 'bench:reads', 'build'])('npm run %s -- --help', name => {
  const file = scripts[name]?.replace(/^bun /, '') ?? '';
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, file, '--help'], { cwd: ROOT });
  expect(stdout.toString()).toStartWith(`Usage: npm run ${name} -- `);
  expect(exitCode).toBe(0);
});

test('npm run promises -- --only with a promise that does not exist starts nothing', () => {
  const command = [process.execPath, 'scripts/promises.ts', '--only', 'P1,P99'];
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: ROOT });
  expect(stderr.toString()).toStartWith('There is no promise P99. There are P1, P2, ');
  expect([exitCode, stdout.toString()]).toEqual([2, '']);
});
