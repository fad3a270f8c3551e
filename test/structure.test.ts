// The shape of the code: who may import whom, and that the committed OpenAPI document is what the routes say.

import { expect, test } from 'bun:test';
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

test('openapi.json is what the routes say', () => {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, 'scripts/openapi.ts', '--check'], {
    cwd: `${import.meta.dir}/..`,
  });
  expect(stderr.toString()).toBe('');
  expect(exitCode).toBe(0);
});
