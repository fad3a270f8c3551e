// Bundles the dashboard from its sources. A single-file executable has no sources, so `npm run build` replaces this
// module by one that contains the finished bundle (scripts/build/carried.ts).

import { join } from 'node:path';

/** Answers share the bytes of a Blob. An array would be copied for each client that does not read. */
export interface Asset {
  type: string;
  bytes: Blob;
  gzipped: Blob;
}

export interface Dashboard {
  /** The names of the files that the page loads first. */
  script: string;
  style: string;
  /** All files by name. A name contains the hash of the file. */
  assets: Map<string, Asset>;
}

const SOURCES = join(import.meta.dir, '../../../dashboard/src');
export const ENTRIES = [join(SOURCES, 'main.tsx'), join(SOURCES, 'style.css')];

export async function buildDashboard(): Promise<Dashboard> {
  const { outputs } = await Bun.build({
    entrypoints: ENTRIES,
    // Otherwise the bundler would also read a tsconfig.json in the folder in which the service was started.
    tsconfig: join(SOURCES, '../tsconfig.json'),
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

function assetOf(type: string, bytes: Uint8Array<ArrayBuffer>): Asset {
  return { type, bytes: new Blob([bytes]), gzipped: new Blob([Bun.gzipSync(bytes, { level: 9 })]) };
}
