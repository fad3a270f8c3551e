// Under which conditions figures were measured, as the pages that hold them say it.

import { cpus, release, totalmem } from 'node:os';

const ROOT = `${import.meta.dir}/..`;

/** Pages may have changed since: they are no part of what was measured. */
export function commit(): string {
  const changed = git('status', '--porcelain', '--', '.', ':!*.md');
  return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : ', with changes');
}

export function machine(): string {
  const { length, 0: first } = cpus();
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${length} × ${first?.model.trim()}, ${memory} GiB, Linux ${release()}, Bun ${Bun.version}`;
}

function git(...args: string[]): string {
  return Bun.spawnSync(['git', ...args], { cwd: ROOT })
    .stdout.toString()
    .trim();
}
