// Finds the programs that `.ci/tools` installs: in the folder that TOOLGATE_TEST_TOOLS names, or wherever else the
// machine has them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { need } from './need.ts';

type Tool = 'helm' | 'kubeconform' | 'otelcol' | 'prometheus' | 'promtool' | 'rclone';

const folder = process.env['TOOLGATE_TEST_TOOLS'] ?? '';

export const tool = (name: Tool): string | null =>
  Bun.which(name, { PATH: [folder, process.env['PATH']].join(':') });

/** Schemas, and tool servers of PyPI, that `.ci/tools` puts beside the programs. */
export function toolFolder(name: 'kubernetes-schemas' | 'operator-schemas' | 'mcp-servers'): string | null {
  const path = join(folder, name);
  return folder !== '' && existsSync(path) ? path : null;
}

/**
 * Whether a test can run. promtool and prometheus are in a Debian package, so CI has to have them; the others come from
 * registries that some machines do not reach.
 */
export function hasTool(name: Tool): boolean {
  const found = tool(name) !== null;
  const what = `the program ${name} (.ci/tools installs it)`;
  if (name === 'promtool' || name === 'prometheus') return need(found, what);
  if (!found) console.warn(`\n*** SKIPPED, because this machine lacks it: ${what} ***\n`);
  return found;
}
