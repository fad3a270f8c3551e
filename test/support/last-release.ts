// The program as it was before the newest migration, or before another one, from the history of this repository: that is what replicas run
// during an upgrade. A shallow clone, or a tree without history, does not have it.

import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './service.ts';

export interface LastRelease {
  root: string;
  remove: () => void;
}

/** Null, with a loud line, where the history is missing. CI may have a shallow clone, so this is no failure there. */
export function lastRelease(migration = newestMigration()): LastRelease | null {
  const commit = commitBefore(migration);
  if (commit === null) {
    console.warn(
      '\n*** SKIPPED, because this clone lacks the commit before a migration: fetch the history ***\n',
    );
    return null;
  }
  const root = mkdtempSync(join(tmpdir(), 'toolgate-release-'));
  const unpacked = Bun.spawnSync([
    'sh',
    '-c',
    'git -C "$1" archive "$2" | tar -x -C "$3"',
    'sh',
    ROOT,
    commit,
    root,
  ]);
  if (unpacked.exitCode !== 0) throw new Error(`${commit} cannot be unpacked: ${unpacked.stderr}`);
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** The parent of the commit that added the file. In a shallow clone the oldest commit seems to add it, and has none. */
function commitBefore(migration: string): string | null {
  const added = git('log', '--diff-filter=A', '--format=%H', '--', `src/store/migrations/${migration}`);
  if (added === null) return null;
  const first = added.split('\n').at(-1) ?? '';
  return first === '' ? git('rev-parse', 'HEAD') : git('rev-parse', '--verify', '--quiet', `${first}^`);
}

const newestMigration = (): string => readdirSync(join(ROOT, 'src/store/migrations')).sort().at(-1) as string;

function git(...args: string[]): string | null {
  const { exitCode, stdout } = Bun.spawnSync(['git', '-C', ROOT, ...args], { stderr: 'ignore' });
  return exitCode === 0 ? stdout.toString().trim() : null;
}
