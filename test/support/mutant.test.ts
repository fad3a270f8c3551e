// A patch that does not apply is no result: the run ends, whatever the test expects, and says why.

import { expect, test } from 'bun:test';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newDataDir } from './faults.ts';
import { BUN, ROOT } from './service.ts';

const swallowing = (patch: object): string => `
import { expect, test } from 'bun:test';
import { withMutant } from ${JSON.stringify(join(ROOT, 'test/support/faults.ts'))};
test('is satisfied with any failure', async () => {
  const found = await withMutant([${JSON.stringify(patch)}], async () => 'made').catch(() => 'failed');
  expect(found).toBe('failed');
});
`;

const run = (patch: object) => {
  const folder = newDataDir();
  writeFileSync(join(folder, 'swallowing.test.ts'), swallowing(patch));
  // The mutant's copy comes into a folder of its own, to be seen gone.
  const env = { ...process.env, TMPDIR: folder };
  const { exitCode, stderr } = Bun.spawnSync([BUN, 'test', './swallowing.test.ts'], { cwd: folder, env });
  const left = readdirSync(folder).filter(name => name.startsWith('toolgate-mutant-'));
  rmSync(folder, { recursive: true });
  return { exitCode, left, said: stderr.toString() };
};

/** Written the other way round, or `npm run check` would ask for them in the source. */
const CASES: Record<string, object> = {
  'applies 0 times, not once': { find: 'nowhere to be found', replace: '', file: 'src/main.ts' },
  'applies 2 times, not once': { find: 'db.run(', replace: '', file: 'src/store/settings.ts' },
  "is not in the mutant's copy": { find: 'x', replace: '', file: 'test/structure.test.ts' },
};

for (const [why, patch] of Object.entries(CASES)) {
  test(`a patch that ${why} ends the run`, () => {
    const { exitCode, said, left } = run(patch);
    expect(said).toContain(`NO RESULT: the mutation of ${(patch as { file: string }).file} ${why}`);
    expect([exitCode, left]).toEqual([86, []]);
  });
}
