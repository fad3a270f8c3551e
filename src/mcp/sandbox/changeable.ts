// Which paths a confined command could turn elsewhere: those on whose way there is a folder that it may write. It could
// put a symbolic link there, and at its next start be granted what the link leads to. The way up to the first such folder
// is out of its reach, so what is found here cannot change while somebody looks.

import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

const MOST_LINKS = 40;

/** `roots` are the real paths of what the command may write. */
export function isChangeable(path: string, roots: readonly string[]): boolean {
  const ahead = parts(path);
  let at = '/';
  for (let links = 0; ahead.length > 0; ) {
    if (isWithin(at, roots)) return true;
    const next = ahead.shift() as string;
    const target = next === '..' ? null : targetOf(join(at, next));
    if (target === null) at = next === '..' ? dirname(at) : join(at, next);
    else if (++links > MOST_LINKS) return true;
    else {
      ahead.unshift(...parts(target));
      if (target.startsWith('/')) at = '/';
    }
  }
  return false;
}

export function isWithin(path: string, roots: readonly string[]): boolean {
  return roots.some(root => root === '/' || path === root || path.startsWith(`${root}/`));
}

/** The path itself if there is nothing. */
export function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function parts(path: string): string[] {
  return path.split('/').filter(part => part !== '' && part !== '.');
}

/** Where a symbolic link leads; null for everything else. */
function targetOf(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
}
