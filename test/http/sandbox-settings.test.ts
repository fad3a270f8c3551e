// What `sandbox` of a stdio server may say in the server file, and what is refused. test/mcp/sandbox.test.ts has what it
// does.

import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/settings/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolgate-sandbox-settings-'));
afterAll(() => rmSync(folder, { recursive: true }));

function load(sandbox: string) {
  const file = join(folder, 'toolgate.yaml');
  writeFileSync(file, `stdioServers: { a: { command: x, sandbox: ${sandbox} } }\n`);
  return loadConfig({ TOOLGATE_CONFIG: file }, '/elsewhere').config.stdioServers.get('a')?.sandbox;
}

const NOTHING = { read: null, write: null, network: true, memory: null, processes: null, bestEffort: false };

test('fields that are absent limit nothing', () => {
  expect(load('{}')).toEqual(NOTHING);
});

test('paths are relative to the folder of the file, and sizes are read', () => {
  const text =
    '{ read: [runtime, ./runtime, data, /srv], write: [], network: false, memory: 512MiB, processes: 64, bestEffort: true }';
  expect(load(text)).toEqual({
    read: ['runtime', join(folder, 'runtime'), join(folder, 'data'), '/srv'],
    write: [],
    network: false,
    memory: 512 * 1024 * 1024,
    processes: 64,
    bestEffort: true,
  });
});

const MISTAKES: [sandbox: string, part: string][] = [
  ['[]', 'stdioServers.a.sandbox must be an object'],
  ['yes', 'stdioServers.a.sandbox must be an object'],
  ['null', 'stdioServers.a.sandbox must be an object'],
  ['{ reads: [] }', 'stdioServers.a.sandbox has the unknown field "reads"; known: read, write'],
  ['{ read: /srv }', 'stdioServers.a.sandbox.read must be a list of paths'],
  ['{ read: [1] }', 'stdioServers.a.sandbox.read must be a list of paths'],
  ['{ read: [""] }', 'stdioServers.a.sandbox.read must be a list of paths'],
  ['{ read: null }', 'stdioServers.a.sandbox.read must be a list of paths'],
  ['{ write: [runtime] }', '"runtime" belongs into "read"'],
  ['{ network: none }', 'stdioServers.a.sandbox.network must be true or false'],
  ['{ memory: 512 }', 'stdioServers.a.sandbox.memory must be a size such as 512MiB'],
  ['{ memory: 512MB }', 'stdioServers.a.sandbox.memory must be a size such as 512MiB'],
  ['{ memory: 0MiB }', 'stdioServers.a.sandbox.memory must be a size such as 512MiB'],
  ['{ processes: -1 }', 'stdioServers.a.sandbox.processes must be a whole number'],
  ['{ processes: 1.5 }', 'stdioServers.a.sandbox.processes must be a whole number'],
  ['{ bestEffort: 1 }', 'stdioServers.a.sandbox.bestEffort must be true or false'],
];

for (const [sandbox, part] of MISTAKES)
  test(`${sandbox} is refused`, () => {
    expect(() => load(sandbox)).toThrow(part);
  });
