// Which executable a service hands out that runs from its source: the one that was built from this source, and none that
// is older.

import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownExecutable } from '../../../src/http/serving/own-executable.ts';

const root = mkdtempSync(join(tmpdir(), 'toolgate-built-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('what was built before the source changed is not handed out', async () => {
  const [source, built] = [join(root, 'src/http/a.ts'), join(root, 'dist/toolgate')];
  for (const path of [source, built]) {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'x');
  }
  utimesSync(source, 1000, 1000);
  utimesSync(built, 2000, 2000);
  const sha256 = new Bun.CryptoHasher('sha256').update('x').digest('hex');
  expect(await ownExecutable(root)).toMatchObject({ path: built, sha256 });
  utimesSync(source, 3000, 3000);
  expect(await ownExecutable(root)).toBeNull();
});
