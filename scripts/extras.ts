// The packages that only developers of Toolgate use. They are not in the package.json of the root, so that `npm ci`
// there brings what serves and what most tests need, and no more. Each folder named here has a package.json and a lock
// file of its own, which `npm run extras` installs.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '..');

const EXTRAS = {
  scripts:
    'Biome, TypeScript, the MCP conformance runner, a client of MCP tasks, the tests of CEL, OPA’s client and the checkers of npm packages',
  examples: 'the frameworks of the examples',
  'examples/mastra': 'Mastra, for its example',
  bench: 'the peers of the benchmark',
};

export type Extra = keyof typeof EXTRAS;
export const EXTRA_FOLDERS = Object.keys(EXTRAS) as Extra[];

/** The packages of that folder: one of them, or where all of them lie. */
export const packagesOf = (folder: Extra, ...path: string[]): string =>
  join(ROOT, folder, 'node_modules', ...path);

export const hasExtra = (folder: Extra): boolean => existsSync(packagesOf(folder));

/** What is missing without it, and the command that brings it. */
export const describeExtra = (folder: Extra): string => `${EXTRAS[folder]} (npm ci --prefix ${folder})`;

export function requireExtra(folder: Extra): void {
  if (!hasExtra(folder)) throw new Error(`Not installed: ${describeExtra(folder)}`);
}
