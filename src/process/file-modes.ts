// Finds files that other users of this machine can read or write: the data folder, its secrets, the SQLite store and a
// server file with secrets. The service warns about them at every start. It changes nothing, since the modes may be
// intended.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, embeddedPath } from '../settings/config.ts';

const OTHERS = 0o007;
const OTHERS_READ_OR_WRITE = 0o006;
const OTHERS_WRITE = 0o002;

interface OpenFile {
  file: string;
  /** The mode as chmod writes it, such as 0644. */
  mode: string;
  /** A sentence that says what to run. */
  advice: string;
}

interface Watched {
  path: string;
  what: string;
  /** The permission bits that others must not have. */
  closed: number;
  /** The mode that the file should have. */
  wanted: '600' | '700' | 'o-w';
}

export function openFiles(config: Config): OpenFile[] {
  if (process.platform === 'win32') return [];
  return watched(config).flatMap(({ path, what, closed, wanted }) => {
    const mode = modeOf(path);
    if (mode === null || (mode & closed) === 0) return [];
    const shown = mode.toString(8).padStart(4, '0');
    return [{ file: path, mode: shown, advice: `${what}: run chmod ${wanted} '${path}'` }];
  });
}

function watched({ dataDir, serverFile, ...config }: Config): Watched[] {
  const inside = (name: string, what: string): Watched => secretFile(join(dataDir, name), what);
  const store = embeddedPath({ dataDir, ...config });
  const files: Watched[] = [
    { path: dataDir, what: 'other users can enter the data folder', closed: OTHERS, wanted: '700' },
    inside('master.key', 'other users can read or write the master key'),
    inside('admin.token', 'other users can read or write the admin token'),
    inside('printed-secrets.txt', 'other users can read or write the secrets that are not printed'),
  ];
  if (store !== null) {
    for (const end of ['', '-wal', '-shm'])
      files.push(secretFile(store + end, 'other users can read or write the store'));
  }
  if (serverFile?.secret) {
    files.push(secretFile(serverFile.path, 'other users can read or write the secrets in the server file'));
  } else if (serverFile !== null) {
    const what = 'other users can write the server file, and so choose what this service runs';
    files.push({ path: serverFile.path, what, closed: OTHERS_WRITE, wanted: 'o-w' });
  }
  return files;
}

function secretFile(path: string, what: string): Watched {
  return { path, what, closed: OTHERS_READ_OR_WRITE, wanted: '600' };
}

/** Null if there is no such file, or if we may not see it. */
function modeOf(path: string): number | null {
  try {
    return statSync(path).mode & 0o777;
  } catch {
    return null;
  }
}
