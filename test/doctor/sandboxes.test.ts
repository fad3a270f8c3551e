// What the doctor says of confined commands, with a sandbox for each line that there is. No command is started.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONFINES } from '../mcp/sandbox/escapes.ts';
import { type Asked, doctor, messageOf, stateOf } from './asking.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolgate-doctor-')));
const dataDir = join(folder, 'data');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const whole = { read: ['runtime'], write: [], network: false };
const SANDBOXES: Record<string, object> = {
  whole: { ...whole, memory: '512MiB', processes: 8 },
  nothing: {},
  'without write': { read: ['runtime'] },
  'without write or network': { network: false },
  'only a size': { memory: '1GiB' },
  'missing path': { ...whole, read: [join(folder, 'gone')] },
  link: { read: ['runtime', join(folder, 'work/link')], write: [join(folder, 'work')] },
  'reads the data folder': { ...whole, read: ['runtime', folder] },
  'writes the data folder': { ...whole, write: [folder] },
};

describe.skipIf(!CONFINES)('the doctor about confined commands', () => {
  let found: Asked;

  beforeAll(async () => {
    for (const each of ['data', 'work']) mkdirSync(join(folder, each));
    symlinkSync(dataDir, join(folder, 'work/link'));
    const servers = Object.entries(SANDBOXES).map(([name, sandbox]) => [
      name,
      { command: '/bin/true', sandbox },
    ]);
    const file = join(folder, 'toolgate.yaml');
    writeFileSync(
      file,
      JSON.stringify({ stdioServers: { ...Object.fromEntries(servers), free: { command: 'true' } } }),
    );
    found = await doctor(folder, { TOOLGATE_DATA_DIR: dataDir, TOOLGATE_CONFIG: file });
  });

  test.each([
    ['whole', 'good', 'enforces all'],
    ['nothing', 'good', 'enforces all'],
    ['without write', 'warning', 'change what others run'],
    ['without write or network', 'warning', 'change what others run'],
    ['only a size', 'good', 'enforces all'],
    ['missing path', 'bad', `${join(folder, 'gone')}, which sandbox.read names, does not exist`],
    ['link', 'bad', 'by a symbolic link'],
    ['reads the data folder', 'warning', `may read ${dataDir}`],
    ['writes the data folder', 'bad', `may change ${dataDir}`],
  ])('%s', (name, state, part) => {
    const line = `sandbox of ${name}`;
    expect([stateOf(found, line) as string, messageOf(found, line)]).toEqual([
      state,
      expect.stringContaining(part),
    ]);
  });

  test('says nothing of a command without a sandbox', () => {
    expect(stateOf(found, 'sandbox of free')).toBeUndefined();
  });
});
