// The shape of the code: who may import whom, what a start does not load, that the table of locks has every lock, that the committed OpenAPI
// document is what the routes say, and that `npm ci` brings little.

import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { circlesIn, dashboardFaultOf, faultOf, importFaults, roomCirclesIn } from '../scripts/imports.ts';
import { PROMISES } from '../scripts/promised.ts';
import { needExtra } from './support/need.ts';

/** A file and all that it imports, except what it loads when it needs it. */
function loadedWith(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  if (!file.endsWith('.ts')) return found;
  const transpiler = new Bun.Transpiler({ loader: 'ts', trimUnusedImports: true });
  for (const { kind, path } of transpiler.scanImports(readFileSync(file, 'utf8'))) {
    if (kind !== 'import-statement') continue;
    loadedWith(path.startsWith('.') ? join(dirname(file), path) : path, found);
  }
  return found;
}

test('a start loads the service, but nothing that it may never need', () => {
  const loaded = loadedWith('src/main.ts');
  for (const needed of ['src/http/agent/check.ts', 'src/mcp/endpoint.ts', 'zod'])
    expect(loaded).toContain(needed);
  const later = [
    'src/http/routes.ts',
    'src/store/engine/postgres.ts',
    'src/demo/fill.ts',
    'yaml',
    'nodemailer',
    'jose',
  ];
  for (const each of [...later, 'node:http', 'node:http2', 'node:tls']) expect(loaded).not.toContain(each);
});

test('imports keep to the directions of ARCHITECTURE.md', () => {
  expect(importFaults()).toEqual([]);
});

test.each([
  ['core/decision/decide.ts', '{ openSqlite }', '../../store/engine/sqlite.ts'],
  ['core/decision/decide.ts', '{ readFileSync }', 'node:fs'],
  ['store/log/audit.ts', '{ newId }', '../../guard/ids.ts'],
  ['guard/check/check.ts', '{ routes }', '../../http/server.ts'],
  ['guard/check/check.ts', '{ Database }', 'bun:sqlite'],
  ['guard/outgoing/worker.ts', '{ lapse }', '../approvals/approvals.ts'],
  ['guard/log/sealer.ts', '{ CheckWork }', '../check/check.ts'],
  ['guard/keys.ts', '{ addPolicy }', './check/policies.ts'],
  ['http/agent/check.ts', '{ insertAudit }', '../../store/log/audit.ts'],
  ['http/agent/check.ts', '{ writeProgress }', '../../store/log/progress.ts'],
  ['http/admin/audit.ts', '{ findAudit, deleteAudit }', '../../store/log/audit.ts'],
  ['mcp/hub.ts', '{ type RollupCount, pruneRollups }', '../store/log/rollups.ts'],
  ['cli/commands/config.ts', '{ start }', '../../main.ts'],
  ['cli/main.ts', '{ run }', './program.ts'],
  ['cli/hook/main.ts', '{ Command }', 'commander'],
  ['cli/hook/service.ts', '{ Http }', '../http.ts'],
  ['cli/hook/service.ts', '{ tls }', 'node:tls'],
  ['http/pages/dashboard.ts', '{ App }', '../../../dashboard/src/app.tsx'],
])('an import against them is found: %s imports %s from %s', (file, names, target) => {
  expect(faultOf(file, names, target)).not.toBeNull();
});

test.each([
  ['guard/first-start.ts', '{ addPolicy }', './check/policies.ts'],
  ['http/agent/check.ts', '{ type AuditEntry, findAudit, ROLES }', '../../store/log/audit.ts'],
  ['cli/main.ts', '', './program.ts'],
  ['cli/hook/hook.ts', '{ Service }', './service.ts'],
  ['mcp/call.ts', '{ GroupCommit }', '../guard/check/commit.ts'],
])('an import along them is not: %s imports %s from %s', (file, names, target) => {
  expect(faultOf(file, names, target)).toBeNull();
});

test('a circle of imports is found, also of types, and named whole', () => {
  const from = (file: string, target: string) => ({ file, names: 'type X', target });
  const straight = [from('src/a.ts', './b.ts'), from('src/b.ts', './c/d.ts'), from('src/a.ts', './c/d.ts')];
  expect(circlesIn(straight)).toEqual([]);
  expect(circlesIn([...straight, from('src/c/d.ts', '../b.ts')])).toEqual([
    'A circle of imports: src/b.ts -> src/c/d.ts -> src/b.ts',
  ]);
});

test('so is one of rooms, although no two of their files form one', () => {
  const from = (file: string, target: string) => ({ file, names: '{ x }', target });
  const down = from('src/core/policy/a.ts', '../text/b.ts');
  expect(roomCirclesIn([down, from('src/core/text/c.ts', '../text/b.ts')])).toEqual([]);
  expect(roomCirclesIn([down, from('src/core/text/c.ts', '../policy/d.ts')])).toEqual([
    'A circle of rooms: src/core/policy -> src/core/text -> src/core/policy',
  ]);
});

test.each([
  ['api.ts', '../../src/http/admin/audit.ts'],
  ['pages/policies.tsx', '../../../src/store/policies.ts'],
  ['api.ts', 'node:fs'],
])('so is one of the dashboard: %s imports %s', (file, target) => {
  expect(dashboardFaultOf(file, target)).not.toBeNull();
});

test('every promise that is listed has a test, and every test of a promise is of a listed one', () => {
  const tested = readdirSync(join(import.meta.dirname, 'faults')).flatMap(
    file => /^p(\d+)-.*\.test\.ts$/.exec(file)?.[1] ?? [],
  );
  const numbers = new Set(tested.map(each => `P${Number(each)}`));
  expect([...numbers].sort()).toEqual(Object.keys(PROMISES).sort());
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

// It also writes types, which Biome formats.
test.skipIf(!needExtra('scripts'))('openapi.json is what the routes say', () => {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, 'scripts/openapi.ts', '--check'], {
    cwd: `${import.meta.dir}/..`,
  });
  expect(stderr.toString()).toBe('');
  expect(exitCode).toBe(0);
});

describe('npm ci in the root', () => {
  interface Package {
    engines?: { node?: string };
    optional?: boolean;
  }
  const lock = JSON.parse(readFileSync(`${import.meta.dir}/../package-lock.json`, 'utf8'));
  const packages = Object.entries<Package>(lock.packages).filter(([path]) => path !== '');

  test('brings no package that refuses Node 20, about which npm would warn', () => {
    const refuses = ({ engines }: Package) => !Bun.semver.satisfies('20.0.0', engines?.node ?? '*');
    expect(packages.filter(([, each]) => refuses(each)).map(([path]) => path)).toEqual([]);
  });

  // What only developers use belongs into one of the folders that scripts/extras.ts names. 24 of them verify passkeys: most
  // read certificates of authenticators, which we do not ask for, but the library has them in one piece.
  test('brings no more packages than when it was last thought about', () => {
    expect(packages.filter(([, { optional }]) => optional !== true).length).toBeLessThanOrEqual(219);
  });
});

describe('the drawing in ARCHITECTURE.md', () => {
  const root = join(import.meta.dir, '..');
  const map = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const [, drawn = ''] = /## The tree\n+```\n([\s\S]*?)\n```\n/.exec(map) ?? [];

  test('shows every folder of src, and no other', () => {
    const folders = [...new Bun.Glob('src/**/*.{ts,sql}').scanSync({ cwd: root })].map(dirname);
    const shown = (folder: string) => drawn.includes(`${folder.split('/').at(-1)}/`);
    expect([...new Set(folders)].filter(folder => !shown(folder))).toEqual([]);
    const drawnFolders = [...drawn.matchAll(/^ +([\w-]+)\/ /gm)].map(([, name]) => name);
    const known = new Set(folders.flatMap(folder => folder.split('/')));
    expect(drawnFolders.filter(name => !known.has(name as string))).toEqual([]);
  });

  test.each(['ARCHITECTURE.md', 'docs/walk.md'])('%s names no file that is not there', page => {
    const sources = [...new Bun.Glob('{src,scripts,test,dashboard}/**/*.ts').scanSync({ cwd: root })];
    const named = readFileSync(join(root, page), 'utf8').match(/[\w/-]+\.ts\b/g) ?? [];
    const known = (name: string) => sources.some(path => path === name || path.endsWith(`/${name}`));
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(name => !known(name))).toEqual([]);
  });
});
