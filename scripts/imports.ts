// Compares the imports in the code with the directions that ARCHITECTURE.md allows.

import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dir, '..');
const SRC = join(ROOT, 'src');
const DASHBOARD = join(ROOT, 'dashboard/src');

/**
 * For each folder of `src` and each room of `src/guard`, the folders, rooms and files that it may import from. A single
 * file that differs from its folder has an entry of its own. The rooms of core, store and http need none: among them
 * there may be no circle (`roomCirclesIn`).
 */
const MAY: Record<string, readonly string[]> = {
  core: ['core'],
  store: ['core', 'store'],
  guard: ['core', 'store', 'guard'],
  'guard/deps.ts': ['core', 'store', 'guard', 'guard/approvals', 'guard/tasks'],
  'guard/first-start.ts': ['core', 'store', 'guard', 'guard/check'],
  'guard/check': ['core', 'store', 'guard', 'guard/check', 'guard/approvals', 'guard/rations'],
  'guard/approvals': [
    'core',
    'store',
    'guard',
    'guard/approvals',
    'guard/exchange',
    'guard/outgoing',
    'guard/people',
  ],
  'guard/exchange': ['core', 'store', 'guard', 'guard/exchange'],
  'guard/tasks': [
    'core',
    'store',
    'guard',
    'guard/approvals',
    'guard/exchange',
    'guard/outgoing',
    'guard/tasks',
  ],
  'guard/people': ['core', 'store', 'guard', 'guard/people', 'guard/outgoing'],
  'guard/outgoing': ['core', 'store', 'guard', 'guard/outgoing'],
  'guard/tool-servers': ['core', 'store', 'guard', 'guard/tool-servers', 'guard/outgoing'],
  'guard/server-sign-ins': [
    'core',
    'store',
    'guard',
    'guard/server-sign-ins',
    'guard/outgoing',
    'guard/tool-servers',
  ],
  'guard/log': ['core', 'store', 'guard', 'guard/log'],
  'guard/rations': ['core', 'guard/rations'],
  demo: ['core', 'store', 'guard', 'demo'],
  doctor: [
    'core',
    'store',
    'guard',
    'doctor',
    'settings',
    'mcp/sandbox/confine.ts',
    'process/data-dir.ts',
    'process/file-modes.ts',
  ],
  mcp: [
    'core',
    'guard',
    'store',
    'mcp',
    'settings/sandbox.ts',
    'settings/server-file.ts',
    'settings/stdio-servers.ts',
  ],
  http: ['core', 'guard', 'store', 'mcp', 'doctor', 'http', 'settings', 'log.ts', 'metrics'],
  telemetry: ['core', 'telemetry', 'settings'],
  cli: ['core', 'cli', 'settings', 'log.ts'],
  'cli/main.ts': ['cli', 'mcp/sandbox/entry.ts'],
  'cli/banner.ts': ['main.ts', 'cli', 'core/default-port.ts', 'process/printed-secrets.ts'],
  'cli/commands/serve.ts': ['main.ts', 'settings', 'log.ts', 'cli', 'process/printed-secrets.ts'],
  'cli/commands/demo.ts': ['main.ts', 'settings', 'cli'],
  'cli/commands/backup.ts': ['cli', 'settings', 'store'],
  'cli/commands/restore.ts': ['cli', 'settings', 'process/data-dir.ts', 'store'],
  'cli/verify-copy.ts': ['core', 'cli', 'settings', 'process/data-dir.ts', 'guard', 'guard/log', 'store'],
  'cli/commands/doctor.ts': ['cli', 'settings', 'core', 'doctor'],
  'cli/sealed-source.ts': ['core', 'cli', 'store'],
  settings: ['core', 'settings'],
  metrics: ['core', 'store', 'guard', 'metrics'],
  process: ['core', 'store', 'guard', 'http', 'mcp', 'metrics', 'telemetry', 'settings', 'process', 'log.ts'],
  'log.ts': [],
  'clock.ts': [],
  'main.ts': [
    'core',
    'store',
    'guard',
    'demo',
    'http',
    'mcp',
    'metrics',
    'telemetry',
    'settings',
    'process',
    'clock.ts',
    'log.ts',
  ],
};

/**
 * HTTP and MCP only read the store; every write goes through guard/. So they may import constants and classes,
 * functions whose verb reads, and the few reads that have no verb.
 */
const READS =
  /^([A-Z]|(count|find|list|read|search)[A-Z]|(approvalListed|approvalVotes|deliveryTally|firstIdAt|newestCheckpoint|oldestPending|schemaVersion)$)/;
/** Only these files may use these packages. */
const ONLY: Record<string, RegExp> = {
  'bun:sqlite': /^store\/engine\/(sqlite|sqlite-(copy|handle|lock|move-thread|restore)|backup)\.ts$/,
  'bun:ffi': /^(store\/engine\/file-lock|cli\/reaper|mcp\/sandbox\/libc)\.ts$/,
  bun: /^store\/engine\/postgres(-connection|-errors)?\.ts$/,
  zod: /^http\//,
  jose: /^guard\/people\/company-issuer\.ts$/,
  'openid-client': /^guard\/people\/provider\.ts$/,
  '@simplewebauthn/server/helpers': /^guard\/people\/passkey-responses\.ts$/,
  oauth4webapi: /^guard\/(people|server-sign-ins)\//,
  '@simplewebauthn/server': /^guard\/people\/passkey-responses\.ts$/,
  nodemailer: /^guard\/approvals\/notify\/email\.ts$/,
  'nodemailer/lib/smtp-connection': /^guard\/approvals\/notify\/mail-server\.ts$/,
  'nodemailer/lib/shared': /^guard\/approvals\/notify\/mail-server\.ts$/,
  commander: /^cli\//,
  pino: /^log\.ts$/,
};
/** `toolgate hook` has to start at once, so it uses nothing but its own files and these. */
const HOOK_MODULES = [
  'node:fs',
  'node:os',
  'node:path',
  '../../core/agents.ts',
  '../../core/default-port.ts',
];
/** The core is pure: it uses no built-in module, and no package except the YAML reader and the parser of patterns. */
const CORE_PACKAGES = ['yaml', '@bufbuild/re2'];

const IMPORT =
  /^(?:import|export)\s([\w\s*{},]*?)\s*from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/gm;

interface Import {
  /** The path relative to the project's root. */
  file: string;
  names: string;
  target: string;
}

/** All faults of the sources: forbidden imports, and files that import each other in a circle. */
export function importFaults(): string[] {
  const imports = allImports();
  const faults = imports.flatMap(({ file, names, target }) => {
    const fault = file.startsWith('src/')
      ? faultOf(file.slice('src/'.length), names, target)
      : dashboardFaultOf(file.slice('dashboard/src/'.length), target);
    return fault === null ? [] : [`${file}: ${fault}`];
  });
  return [...faults.sort(), ...circlesIn(imports), ...roomCirclesIn(imports)];
}

function allImports(): Import[] {
  const files = ['src', 'dashboard/src'].flatMap(folder => [
    ...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync({ cwd: ROOT }),
  ]);
  const sources = files.filter(file => !file.endsWith('.d.ts')).sort();
  return sources.flatMap(file => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    return Array.from(text.matchAll(IMPORT), ([, names = '', from, loaded]) => ({
      file,
      names,
      target: (from ?? loaded) as string,
    }));
  });
}

/** One sentence for each circle. Imports of types count, because a reader of one file then has to read both. */
export function circlesIn(imports: readonly Import[]): string[] {
  return circlesAmong(imports, file => file, 'imports');
}

/** Rooms are the folders within these; a file that lies in one of them directly is a room by itself. */
const WITH_ROOMS = /^src\/(core|store|http)\//;

export function roomCirclesIn(imports: readonly Import[]): string[] {
  const roomed = imports.filter(({ file }) => WITH_ROOMS.test(file));
  return circlesAmong(roomed, file => (WITH_ROOMS.test(file) ? folderOf(file) : file), 'rooms');
}

const folderOf = (file: string): string => file.split('/').slice(0, 3).join('/');

function circlesAmong(imports: readonly Import[], placeOf: (file: string) => string, what: string): string[] {
  const targets = new Map<string, Set<string>>();
  for (const { file, target } of imports) {
    if (!target.startsWith('.')) continue;
    const from = placeOf(file);
    const to = placeOf(relative(ROOT, resolve(ROOT, dirname(file), target)));
    if (from !== to) targets.set(from, (targets.get(from) ?? new Set()).add(to));
  }
  const circles: string[] = [];
  const finished = new Set<string>();
  const visit = (place: string, way: readonly string[]) => {
    const seenAt = way.indexOf(place);
    if (seenAt >= 0) circles.push(`A circle of ${what}: ${[...way.slice(seenAt), place].join(' -> ')}`);
    if (seenAt >= 0 || finished.has(place)) return;
    for (const next of targets.get(place) ?? []) visit(next, [...way, place]);
    finished.add(place);
  };
  for (const place of targets.keys()) visit(place, []);
  return circles;
}

/**
 * What is wrong with an import of a file of the dashboard, or null; the file is relative to the dashboard's sources.
 * The dashboard is a client of the admin API. Only the pure core may also run in the browser, so that there is no
 * second evaluator.
 */
export function dashboardFaultOf(file: string, target: string): string | null {
  if (/^(node|bun)(:|$)/.test(target)) return `must not use ${target}`;
  if (!target.startsWith('.')) return null;
  const path = resolve(DASHBOARD, dirname(file), target);
  const inside = (folder: string) => path.startsWith(`${folder}/`);
  if (inside(DASHBOARD) || inside(join(SRC, 'core'))) return null;
  return `must not import ${relative(ROOT, path)}`;
}

/** What is wrong with one import of one file (both relative to src), or null. */
export function faultOf(file: string, names: string, target: string): string | null {
  const top = file.split('/')[0] as string;
  if (file.startsWith('cli/hook/') && !target.startsWith('./') && !HOOK_MODULES.includes(target)) {
    return `must not load ${target}, because toolgate hook has to start at once`;
  }
  // An import with names is loaded at the start.
  if (file === 'cli/main.ts' && names !== '') return `must not load ${target} before it knows the command`;
  if (!target.startsWith('.')) {
    const only = ONLY[target];
    if (only !== undefined && !only.test(file)) return `must not use ${target}`;
    if (top === 'core' && !CORE_PACKAGES.includes(target)) return `the core must not use ${target}`;
    return null;
  }
  const path = relative(SRC, resolve(SRC, dirname(file), target));
  if (path.startsWith('../dashboard')) return 'must not import the dashboard';
  if (path.startsWith('..')) return null;
  const may = MAY[file] ?? MAY[roomOf(file)] ?? [];
  // From outside, the guard is one unit: other folders do not depend on which of its rooms has a function.
  const to = top === 'guard' ? roomOf(path) : (path.split('/')[0] as string);
  if (!may.includes(to) && !may.includes(path)) return `must not import ${path}`;
  if ((top === 'http' || top === 'mcp') && to === 'store') {
    const written = valuesOf(names).find(name => !READS.test(name));
    if (written !== undefined) return `only reads the store, and imports ${written}`;
  }
  return null;
}

function roomOf(path: string): string {
  const [top = '', room = '', ...rest] = path.split('/');
  return top === 'guard' && rest.length > 0 ? `guard/${room}` : top;
}

/** The names that an import brings into the running program, which excludes types. */
function valuesOf(names: string): string[] {
  if (/^type\b/.test(names.trim())) return [];
  return names
    .split(/[{},]/)
    .map(name => name.trim())
    .filter(name => name !== '' && !name.startsWith('type '));
}

if (import.meta.main) {
  const faults = importFaults();
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exit(1);
}
