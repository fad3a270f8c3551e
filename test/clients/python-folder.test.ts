// The folder of the Python client by itself: a copy of it elsewhere is installed with pip, without a network.

import { expect, test } from 'bun:test';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { need } from '../support/need.ts';
import { ROOT } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const installed = whenChanged('clients/python/**');
const hasPip = () => Bun.spawnSync(['python3', '-c', 'import pip, tomllib']).exitCode === 0;
const lacksPip = installed === test && !need(hasPip(), 'Python 3.11 or newer with pip');

installed.skipIf(lacksPip)('a copy of clients/python can be built and imported', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-python-'));
  const run = (...command: string[]) => {
    const { exitCode: code, stdout, stderr } = Bun.spawnSync(command, { cwd: folder });
    expect([code, code === 0 ? '' : `${stdout}${stderr}`]).toEqual([0, '']);
    return stdout.toString();
  };
  try {
    cpSync(join(ROOT, 'clients/python'), join(folder, 'copy'), { recursive: true });
    run('python3', '-m', 'pip', 'wheel', '--no-index', '--no-deps', '--wheel-dir', 'made', './copy');
    const [wheel = ''] = readdirSync(join(folder, 'made'));
    run('python3', '-m', 'pip', 'install', '--no-index', '--target', 'installed', join('made', wheel));
    const printed = run(
      'python3',
      '-c',
      'import sys; sys.path.insert(0, "installed"); import toolgate; print(toolgate.__file__)',
    );
    expect(printed).toContain(join(folder, 'installed/toolgate'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
