// The dashboard's files: those that a single-file executable carries, else bundled from their sources when
// somebody first asks for them, so that starting costs nothing. They live in memory and are never written.

import { join } from 'node:path';

const SOURCES = join(import.meta.dir, '../../dashboard/src');
const ENTRIES = [join(SOURCES, 'main.tsx'), join(SOURCES, 'style.css')];

export interface Asset {
  type: string;
  bytes: Uint8Array<ArrayBuffer>;
  gzipped: Uint8Array<ArrayBuffer>;
}

export interface Dashboard {
  /** Names of the files that the page itself asks for. */
  script: string;
  style: string;
  /** By name; a name carries the hash of what is in it. */
  assets: Map<string, Asset>;
}

let known: Promise<Dashboard> | null = null;

/** For executables, whose sources are not on disk: what is carried is not built. */
export function carryDashboard(dashboard: Dashboard): void {
  known = Promise.resolve(dashboard);
}

export function dashboard(): Promise<Dashboard> {
  known ??= buildDashboard().catch(error => {
    // The next request tries again.
    known = null;
    throw error;
  });
  return known;
}

export async function buildDashboard(): Promise<Dashboard> {
  const { outputs } = await Bun.build({
    entrypoints: ENTRIES,
    target: 'browser',
    format: 'esm',
    splitting: true,
    minify: true,
    publicPath: '/dashboard/assets/',
    naming: '[name]-[hash].[ext]',
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  const assets = new Map<string, Asset>();
  const entries: Record<string, string> = {};
  for (const output of outputs) {
    const name = output.path.replace(/^(\.?\/)+/, '');
    if (output.kind === 'entry-point' || name.endsWith('.css')) entries[name.split('.').at(-1) ?? ''] = name;
    assets.set(name, assetOf(output.type, new Uint8Array(await output.arrayBuffer())));
  }
  return { script: entries['js'] ?? '', style: entries['css'] ?? '', assets };
}

export function assetOf(type: string, bytes: Uint8Array<ArrayBuffer>): Asset {
  return { type, bytes, gzipped: Bun.gzipSync(bytes, { level: 9 }) };
}
