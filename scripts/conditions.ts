// Under which conditions figures were measured, as the pages that hold them say it.

import { spawnSync } from 'node:child_process';
import { cpus, release, totalmem } from 'node:os';

const ROOT = `${import.meta.dir}/..`;

/** Pages and charts may have changed since: they are no part of what was measured. */
export function commit(): string {
  const changed = git('status', '--porcelain', '--', '.', ':!*.md', ':!docs') !== '';
  return `${git('rev-parse', '--short', 'HEAD') || 'unknown'}${changed ? ', with changes' : ''}`;
}

export function machine(): string {
  const { length, 0: first } = cpus();
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${length} × ${first?.model.trim()}, ${memory} GiB, Linux ${release()}, Bun ${Bun.version}`;
}

/** Nothing where there is no git. */
function git(...words: string[]): string {
  return spawnSync('git', words, { cwd: ROOT, encoding: 'utf8' }).stdout?.trim() ?? '';
}
