// The conditions under which figures were measured, for the pages that show them.

import { spawnSync } from 'node:child_process';
import { cpus, release, totalmem } from 'node:os';

const ROOT = `${import.meta.dir}/..`;

/** The commit that was measured. Changed pages and charts do not count as changes. */
export function commit(): string {
  const changed = git('status', '--porcelain', '--', '.', ':!*.md', ':!docs') !== '';
  return `${git('rev-parse', '--short', 'HEAD') || 'unknown'}${changed ? ', with changes' : ''}`;
}

export function machine(): string {
  const { length, 0: first } = cpus();
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${length} × ${first?.model.trim()}, ${memory} GiB, Linux ${release()}, Bun ${Bun.version}`;
}

/** Returns an empty text if there is no git. */
function git(...words: string[]): string {
  return spawnSync('git', words, { cwd: ROOT, encoding: 'utf8' }).stdout?.trim() ?? '';
}
