// Which tests are registered behind the door, and how many are counted as left out.

import { expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { newDataDir } from './faults.ts';
import { CHANGED, LEFT_OUT } from './need.ts';
import { sharedPostgres } from './postgres.ts';
import { BUN, engines, ROOT } from './service.ts';

const FIXTURE = `
import { test } from 'bun:test';
import { enginesWhenChanged, sized, suiteWhenChanged, whenChanged } from ${JSON.stringify(join(ROOT, 'test/support/when-changed.ts'))};
test('plain', () => {});
whenChanged({ find: '', replace: '', file: 'src/one.ts' })('mutant', () => {});
whenChanged('src/mcp/**').skipIf(false)('flood', () => {});
whenChanged('src/mcp/**').skipIf(false).concurrent('memory', () => {});
suiteWhenChanged('src/mcp/**').if(true)('suite', () => test('within', () => {}));
test((await enginesWhenChanged('src/store/**')).join(' and '), () => {});
test(['least', 'short', 'long'][sized(2, 1, 0)], () => {});
`;

const server = await sharedPostgres();
const BOTH = (await engines()).join(' and ');

function run(changed: string[] | null): { ran: string[]; leftOut: string } {
  const folder = newDataDir();
  const [list, count] = [join(folder, 'changed'), join(folder, 'left-out')];
  writeFileSync(count, '');
  writeFileSync(list, changed?.join('\n') ?? '');
  const fixture = mkdtempSync(join(folder, 'fixture-'));
  writeFileSync(join(fixture, 'door.test.ts'), FIXTURE);
  const own = relative(ROOT, join(fixture, 'door.test.ts'));
  if (changed?.includes('itself')) writeFileSync(list, own);
  const env = {
    ...process.env,
    TOOLGATE_TEST_PG_URL: server?.url,
    [CHANGED]: changed === null ? undefined : list,
    [LEFT_OUT]: count,
  };
  const { stderr } = Bun.spawnSync([BUN, 'test', './door.test.ts'], { cwd: fixture, env });
  const leftOut = readFileSync(count, 'utf8');
  rmSync(folder, { recursive: true });
  return {
    ran: Array.from(
      `${stderr}`.matchAll(/^\(pass\) (?:suite > )?([a-z ]+?)(?: \[|$)/gm),
      ([, name = '']) => name,
    ),
    leftOut,
  };
}

test('without a list of changes all of them run', () => {
  expect(run(null)).toEqual({
    ran: ['plain', 'mutant', 'flood', 'memory', 'within', BOTH, 'short'],
    leftOut: '',
  });
});

test('what watches nothing that changed is counted, and says nothing', () => {
  expect(run([])).toEqual({ ran: ['plain', 'sqlite', 'least'], leftOut: 'tttse' });
  expect(run(['src/one.ts'])).toEqual({ ran: ['plain', 'mutant', 'sqlite', 'short'], leftOut: 'ttse' });
  expect(run(['src/mcp/a/b.ts'])).toEqual({
    ran: ['plain', 'flood', 'memory', 'within', 'sqlite', 'short'],
    leftOut: 'te',
  });
  expect(run(['src/store/a/b.ts'])).toEqual({ ran: ['plain', BOTH, 'short'], leftOut: 'ttts' });
});

test('a test file that changed runs all of its own', () => {
  expect(run(['itself'])).toEqual({
    ran: ['plain', 'mutant', 'flood', 'memory', 'within', BOTH, 'short'],
    leftOut: '',
  });
});
