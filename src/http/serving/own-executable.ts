// The executable that this service can hand out: itself, if it is a single file, or the one that `npm run build` made in
// its folder, as long as the source is older. It is for the platform on which the service runs, and for no other.

import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface OwnExecutable {
  /** Such as `linux-x64` or `darwin-arm64`. */
  platform: string;
  path: string;
  sha256: string;
}

let known: { changedAt: number; found: Promise<OwnExecutable> } | null = null;

const ROOT = join(import.meta.dir, '../../..');

/** Null if there is none. The digest is made anew if the file was replaced. */
export async function ownExecutable(root = ROOT): Promise<OwnExecutable | null> {
  const isSingle = Bun.main.startsWith('/$bunfs/') || Bun.main.includes('~BUN');
  const path = isSingle ? process.execPath : join(root, 'dist/toolgate');
  if (process.platform === 'win32' || !existsSync(path)) return null;
  const { mtimeMs } = statSync(path);
  if (!isSingle && newestSource(root) > mtimeMs) return null;
  if (known === null || known.changedAt !== mtimeMs) known = { changedAt: mtimeMs, found: read(path) };
  return known.found;
}

/** What was built before the source last changed is another program than this service, and perhaps an older one. */
function newestSource(root: string): number {
  const files = new Bun.Glob('src/**/*.{ts,sql}').scanSync({ cwd: root, absolute: true });
  return Math.max(...[...files].map(file => statSync(file).mtimeMs));
}

async function read(path: string): Promise<OwnExecutable> {
  const hasher = new Bun.CryptoHasher('sha256');
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk);
  return { platform: `${process.platform}-${process.arch}`, path, sha256: hasher.digest('hex') };
}
