// The dashboard as a module that carries its files, to stand where the one that bundles them from sources stands.
// They travel gzipped, and are opened when somebody first asks for the dashboard.

import type { BunPlugin } from 'bun';
import { buildDashboard, ENTRIES } from '../../src/http/dashboard-build.ts';

/** Bundled beforehand: a bundle that is asked for while another is being made never comes. */
export async function carriedDashboard(): Promise<BunPlugin> {
  const contents = await carrying();
  return {
    name: 'carried dashboard',
    setup(build) {
      build.onLoad({ filter: /src\/http\/dashboard-build\.ts$/ }, () => ({ contents, loader: 'js' }));
    },
  };
}

async function carrying(): Promise<string> {
  const { script, style, assets } = await buildDashboard();
  const files = [...assets].map(([name, { type, gzipped }]) => [
    name,
    type,
    Buffer.from(gzipped).toString('base64'),
  ]);
  return `const FILES = ${JSON.stringify(files)};
export async function buildDashboard() {
  const assets = new Map(FILES.map(([name, type, text]) => {
    const gzipped = new Uint8Array(Buffer.from(text, 'base64'));
    return [name, { type, gzipped, bytes: Bun.gunzipSync(gzipped) }];
  }));
  return { script: ${JSON.stringify(script)}, style: ${JSON.stringify(style)}, assets };
}
`;
}

/** The files that went into it. */
export async function dashboardInputs(): Promise<string[]> {
  const { metafile } = await Bun.build({ entrypoints: ENTRIES, target: 'browser', metafile: true });
  return Object.keys(metafile?.inputs ?? {});
}
