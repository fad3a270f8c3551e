// What lies open on this machine: the data folder, its secrets, the embedded store and a server file with secrets,
// where other users may read or write them. It is said at every start; nothing is changed, since somebody may mean it.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, embeddedPath } from './config.ts';

const OTHERS = 0o007;
const OTHERS_READ_OR_WRITE = 0o006;
const OTHERS_WRITE = 0o002;

interface OpenFile {
  file: string;
  /** As chmod takes it: 0644. */
  mode: string;
  /** A sentence that says what to run. */
  advice: string;
}

interface Watched {
  path: string;
  what: string;
  /** What others must not have. */
  closed: number;
  /** As it should be. */
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

/** Null where there is no such file, or not for us. */
function modeOf(path: string): number | null {
  try {
    return statSync(path).mode & 0o777;
  } catch {
    return null;
  }
}
