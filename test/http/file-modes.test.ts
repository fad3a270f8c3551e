// What lies open on the machine is said at the start: which file, its mode, and the command that closes it.

import { expect, test } from 'bun:test';
import { chmodSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newDataDir } from '../support/faults.ts';
import { startService } from '../support/service.ts';

const SECRET = `adminToken: ${'a-token-of-thirty-two-characters-'.repeat(2)}\n`;
const COMMAND = 'stdioServers:\n  files: { command: npx, args: [server] }\n';
const GIVEN = 'stdioServers:\n  files: { command: npx, env: { TOKEN: a-token } }\n';

interface Warning {
  file: string;
  mode: string;
  msg: string;
}

/** What a start on this folder warns of; the secrets come from files, as on a machine of one's own. */
async function warnings(dataDir: string, more: Record<string, string> = {}): Promise<Warning[]> {
  const env = { TOOLGATE_MASTER_KEY: '', TOOLGATE_ADMIN_TOKEN: '', ...more };
  const service = await startService({ dataDir, env });
  await service.kill('SIGTERM');
  const lines = service.output.split('\n').filter(line => line.startsWith('{'));
  return lines.map(line => JSON.parse(line)).filter(each => each.level === 'warn' && each.mode !== undefined);
}

test('a fresh folder is closed, whatever the umask says, and draws no warning', async () => {
  const parent = newDataDir();
  const dataDir = join(parent, 'deep/data');
  const before = process.umask(0);
  const found = await warnings(parent, { TOOLGATE_DATA_DIR: dataDir, TOOLGATE_DATABASE_URL: '' });
  process.umask(before);
  expect(found).toEqual([]);
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  expect(statSync(join(dataDir, 'toolgate.db')).mode & 0o777).toBe(0o600);
  rmSync(parent, { recursive: true });
});

const CASES: [what: string, name: string, content: string | null, mode: number, run: string | null][] = [
  ['a data folder that others can list', '', null, 0o755, 'chmod 700'],
  ['a data folder that others can enter', '', null, 0o711, 'chmod 700'],
  ['a data folder of a group', '', null, 0o750, null],
  ['a master key that others can read', 'master.key', null, 0o644, 'chmod 600'],
  ['an admin token that others can read', 'admin.token', null, 0o604, 'chmod 600'],
  ['a store that others can read', 'toolgate.db', null, 0o644, 'chmod 600'],
  ['a server file with the admin token that all can write', 'toolgate.yaml', SECRET, 0o666, 'chmod 600'],
  ['a server file with the admin token that others can read', 'toolgate.yaml', SECRET, 0o644, 'chmod 600'],
  ['a server file with a tool server’s token', 'toolgate.yaml', GIVEN, 0o644, 'chmod 600'],
  ['a server file without secrets that others can write', 'toolgate.yaml', COMMAND, 0o646, 'chmod o-w'],
  ['a server file without secrets that others can read', 'toolgate.yaml', COMMAND, 0o644, null],
  ['a server file of the owner’s', 'toolgate.yaml', SECRET, 0o600, null],
];

test.each(CASES)('%s', async (_, name, content, mode, run) => {
  const dataDir = newDataDir();
  const file = join(dataDir, name);
  if (content === null) await warnings(dataDir);
  else writeFileSync(file, content);
  chmodSync(name === '' ? dataDir : file, mode);
  const found = await warnings(dataDir);
  const shown = name === '' ? dataDir : file;
  const octal = mode.toString(8).padStart(4, '0');
  const about = found.filter(each => each.file === shown);
  expect(about.map(each => [each.mode, each.msg])).toEqual(
    run === null ? [] : [[octal, expect.stringContaining(`run ${run} '${shown}'`)]],
  );
  // The mode is the owner's to choose.
  expect(statSync(shown).mode & 0o777).toBe(mode);
  rmSync(dataDir, { recursive: true });
});
