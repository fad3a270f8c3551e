// The shape of the code: who may import whom, that the table of locks has every lock, and that the committed OpenAPI
// document is what the routes say.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dashboardFaultOf, faultOf, importFaults } from '../scripts/imports.ts';

test('imports keep to the directions of ARCHITECTURE.md', () => {
  expect(importFaults()).toEqual([]);
});

test.each([
  ['core/decide.ts', '{ openSqlite }', '../store/sqlite.ts'],
  ['core/decide.ts', '{ readFileSync }', 'node:fs'],
  ['store/audit.ts', '{ newId }', '../guard/guard.ts'],
  ['guard/check/check.ts', '{ routes }', '../../http/server.ts'],
  ['guard/check/check.ts', '{ Database }', 'bun:sqlite'],
  ['http/check.ts', '{ insertAudit }', '../store/audit.ts'],
  ['cli/commands/config.ts', '{ start }', '../../main.ts'],
  ['http/dashboard.ts', '{ App }', '../../dashboard/src/app.tsx'],
])('an import against them is found: %s imports %s from %s', (file, names, target) => {
  expect(faultOf(file, names, target)).not.toBeNull();
});

test.each([
  ['api.ts', '../../src/http/admin/audit.ts'],
  ['pages/policies.tsx', '../../../src/store/policies.ts'],
  ['api.ts', 'node:fs'],
])('so is one of the dashboard: %s imports %s', (file, target) => {
  expect(dashboardFaultOf(file, target)).not.toBeNull();
});

test('the table of locks in ARCHITECTURE.md has every lock, and no other', () => {
  const root = join(import.meta.dir, '..');
  const sources = [...new Bun.Glob('src/{guard,store}/**/*.ts').scanSync({ cwd: root })];
  const code = sources.map(file => readFileSync(join(root, file), 'utf8')).join('\n');
  // A lock is named by a text that begins with its rank: '1 policies', `2 key ${keyId}`.
  const named = [...code.matchAll(/['`](\d [a-z-]+)/g)].map(([, name]) => name);
  const table = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const listed = [...table.matchAll(/^\| `(\d [a-z-]+)/gm)].map(([, name]) => name);
  expect(listed).toEqual([...new Set(named)].sort());
});

test('openapi.json is what the routes say', () => {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, 'scripts/openapi.ts', '--check'], {
    cwd: `${import.meta.dir}/..`,
  });
  expect(stderr.toString()).toBe('');
  expect(exitCode).toBe(0);
});
