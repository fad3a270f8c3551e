// Who may import whom: the directions of ARCHITECTURE.md, held against the imports that stand in the code.

import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const SRC = resolve(import.meta.dir, '../src');
const DASHBOARD = resolve(import.meta.dir, '../dashboard/src');

/** For each folder: the folders and top-level files it may import from. */
const MAY: Record<string, readonly string[]> = {
  core: ['core'],
  store: ['core', 'store'],
  guard: ['core', 'store', 'guard'],
  demo: ['core', 'store', 'guard', 'demo'],
  mcp: ['core', 'guard', 'store', 'mcp', 'server-file.ts'],
  http: ['core', 'guard', 'store', 'mcp', 'http', 'config.ts', 'setting-readers.ts', 'log.ts', 'metrics.ts'],
  cli: ['core', 'cli', 'config.ts', 'log.ts'],
  'cli/commands/serve.ts': ['main.ts', 'config.ts', 'log.ts', 'cli'],
  'cli/commands/demo.ts': ['main.ts', 'config.ts', 'cli'],
  'cli/commands/backup.ts': ['cli', 'config.ts', 'store'],
  'cli/sealed-source.ts': ['core', 'cli', 'store'],
  'config.ts': ['server-file.ts', 'setting-readers.ts', 'settings.ts'],
  'settings.ts': ['setting-readers.ts'],
  'server-file.ts': [],
  'setting-readers.ts': ['core'],
  'log.ts': [],
  'metrics.ts': ['core', 'store'],
  'data-dir.ts': ['guard'],
  'file-modes.ts': ['config.ts'],
  'clock.ts': [],
  'open-store.ts': ['guard', 'store', 'config.ts', 'data-dir.ts'],
  'background.ts': ['guard', 'store', 'http', 'config.ts', 'data-dir.ts'],
  'main.ts': [
    'core',
    'store',
    'guard',
    'demo',
    'http',
    'mcp',
    'background.ts',
    'clock.ts',
    'config.ts',
    'log.ts',
    'metrics.ts',
    'open-store.ts',
    'data-dir.ts',
    'file-modes.ts',
  ],
};

/** The web surface reads the store; whatever writes passes through guard/. */
const WRITES =
  /^(insert|update|mark|revoke|resolve|spend|lapse|lease|record|settle|drop|fail|reschedule|take|keep|remove|pin|accept|touch|set|end)[A-Z]/;
/** Only these know the engines; only these may use the packages named. */
const ONLY: Record<string, RegExp> = {
  'bun:sqlite': /^store\/(sqlite|sqlite-lock|backup)\.ts$/,
  'bun:ffi': /^store\/file-lock\.ts$/,
  bun: /^store\/postgres(-connection)?\.ts$/,
  zod: /^http\//,
  'openid-client': /^guard\/people\/provider\.ts$/,
  nodemailer: /^guard\/approvals\/notify\/email\.ts$/,
  commander: /^cli\//,
  pino: /^log\.ts$/,
};
/** The core is pure: no package but the YAML reader, no builtin. */
const CORE_PACKAGES = ['yaml'];

const IMPORT =
  /^(?:import|export)\s([\w\s*{},]*?)\s*from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/gm;

export function importFaults(): string[] {
  const faults: string[] = [];
  for (const file of new Bun.Glob('**/*.ts').scanSync({ cwd: SRC })) {
    if (file.endsWith('.d.ts')) continue;
    const text = readFileSync(join(SRC, file), 'utf8');
    for (const found of text.matchAll(IMPORT)) {
      const fault = faultOf(file, found[1] ?? '', (found[2] ?? found[3]) as string);
      if (fault !== null) faults.push(`src/${file}: ${fault}`);
    }
  }
  for (const file of new Bun.Glob('**/*.{ts,tsx}').scanSync({ cwd: DASHBOARD })) {
    const text = readFileSync(join(DASHBOARD, file), 'utf8');
    for (const found of text.matchAll(IMPORT)) {
      const fault = dashboardFaultOf(file, (found[2] ?? found[3]) as string);
      if (fault !== null) faults.push(`dashboard/src/${file}: ${fault}`);
    }
  }
  return faults.sort();
}

/**
 * The same for a file of the dashboard, relative to its own sources. It is a client of the administration; only
 * the pure core may run in the browser too, so that there is no second evaluator.
 */
export function dashboardFaultOf(file: string, target: string): string | null {
  if (/^(node|bun)(:|$)/.test(target)) return `must not use ${target}`;
  if (!target.startsWith('.')) return null;
  const path = resolve(DASHBOARD, dirname(file), target);
  const inside = (folder: string) => path.startsWith(`${folder}/`);
  if (inside(DASHBOARD) || inside(join(SRC, 'core'))) return null;
  return `must not import ${relative(resolve(SRC, '..'), path)}`;
}

/** What is wrong with one import of one file (both relative to src), or null. */
export function faultOf(file: string, names: string, target: string): string | null {
  const top = file.split('/')[0] as string;
  if (!target.startsWith('.')) {
    const only = ONLY[target];
    if (only !== undefined && !only.test(file)) return `must not use ${target}`;
    if (top === 'core' && !CORE_PACKAGES.includes(target)) return `the core must not use ${target}`;
    return null;
  }
  const path = relative(SRC, resolve(SRC, dirname(file), target));
  if (path.startsWith('../dashboard')) return 'must not import the dashboard';
  if (path.startsWith('..')) return null;
  const to = path.split('/')[0] as string;
  const may = MAY[file] ?? MAY[top] ?? [];
  if (!may.includes(to)) return `must not import ${path}`;
  if ((top === 'http' || top === 'mcp') && to === 'store') {
    const written = names.split(/[{},\s]+/).find(name => WRITES.test(name));
    if (written !== undefined) return `only reads the store, and imports ${written}`;
  }
  return null;
}

if (import.meta.main) {
  const faults = importFaults();
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exit(1);
}
