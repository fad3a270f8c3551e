// The executable that this service can hand out: itself, if it is a single file, or the one that `npm run build` made in
// its folder. It is for the platform on which the service runs, and for no other.

import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface OwnExecutable {
  /** Such as `linux-x64` or `darwin-arm64`. */
  platform: string;
  path: string;
  sha256: string;
}

let known: { changedAt: number; found: Promise<OwnExecutable> } | null = null;

/** Null if there is none. The digest is made anew if the file was replaced. */
export async function ownExecutable(): Promise<OwnExecutable | null> {
  const isSingle = Bun.main.startsWith('/$bunfs/') || Bun.main.includes('~BUN');
  const path = isSingle ? process.execPath : join(import.meta.dir, '../../../dist/toolgate');
  if (process.platform === 'win32' || !existsSync(path)) return null;
  const { mtimeMs } = statSync(path);
  if (known === null || known.changedAt !== mtimeMs) known = { changedAt: mtimeMs, found: read(path) };
  return known.found;
}

async function read(path: string): Promise<OwnExecutable> {
  const hasher = new Bun.CryptoHasher('sha256');
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk);
  return { platform: `${process.platform}-${process.arch}`, path, sha256: hasher.digest('hex') };
}
