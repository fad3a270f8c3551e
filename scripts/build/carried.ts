// A bundle cannot read files of the project. These modules contain the content of such files and replace the modules
// that read them. The dashboard is gzipped, and unpacked at the first request.

import { basename } from 'node:path';
import type { BunPlugin } from 'bun';
import { readGuides } from '../../src/http/docs/guide-files.ts';
import { buildDashboard, ENTRIES } from '../../src/http/pages/dashboard-build.ts';

/** The content is made beforehand: a bundle that is started while another one is being made never finishes. */
export async function carried(): Promise<BunPlugin> {
  const modules: Record<string, string> = {
    'dashboard-build.ts': await dashboard(),
    'guide-files.ts': `export const readGuides = () => (${JSON.stringify(readGuides())});`,
  };
  return {
    name: 'carried',
    setup(build) {
      build.onLoad({ filter: /src\/http\/\w+\/(dashboard-build|guide-files)\.ts$/ }, ({ path }) => ({
        contents: modules[basename(path)] ?? '',
        loader: 'js',
      }));
    },
  };
}

async function dashboard(): Promise<string> {
  const { script, style, assets } = await buildDashboard();
  const base64 = async (blob: Blob) => Buffer.from(await blob.arrayBuffer()).toString('base64');
  const files = await Promise.all(
    Array.from(assets, async ([name, { type, gzipped }]) => [name, type, await base64(gzipped)]),
  );
  return `const FILES = ${JSON.stringify(files)};
export async function buildDashboard() {
  const assets = new Map(FILES.map(([name, type, text]) => {
    const gzipped = new Uint8Array(Buffer.from(text, 'base64'));
    return [name, { type, gzipped: new Blob([gzipped]), bytes: new Blob([Bun.gunzipSync(gzipped)]) }];
  }));
  return { script: ${JSON.stringify(script)}, style: ${JSON.stringify(style)}, assets };
}
`;
}

/** The source files of the dashboard. */
export async function dashboardInputs(): Promise<string[]> {
  const { metafile } = await Bun.build({ entrypoints: ENTRIES, target: 'browser', metafile: true });
  return Object.keys(metafile?.inputs ?? {});
}
