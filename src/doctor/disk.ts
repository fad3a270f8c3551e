// The checks of the disk: room in the data folder, how long a sync takes there, and whether other users can read the
// files. The file that is written for the measurement is removed again.

import { existsSync, rmSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openFiles } from '../process/file-modes.ts';
import { type Config, embeddedPath } from '../settings/config.ts';
import { bad, codeOf, type Examination, type Found, good, warning } from './examine.ts';

const MIB = 1024 * 1024;
const LITTLE = 1024 * MIB;
const TOO_LITTLE = 100 * MIB;
/** A disk of a server needs 0.1 to 5 ms. Every check waits for one sync, which it shares with those beside it. */
const SLOW_SYNC_MS = 20;
const SYNCS = 5;
const PAGE = new Uint8Array(4096);

export function diskChecks(config: Config): Examination[] {
  const path = embeddedPath(config);
  const folder = path === null ? config.dataDir : dirname(path);
  return [
    {
      name: 'disk',
      run: async () => (existsSync(folder) ? [await roomFound(folder)] : [notYet('disk', folder)]),
    },
    { name: 'sync', run: async () => (existsSync(folder) ? [await syncFound(folder, path !== null)] : []) },
    { name: 'file modes', run: async () => modesFound(config) },
  ];
}

function notYet(name: string, folder: string): Found {
  return good(name, `The folder ${folder} is not there yet: the first start makes it.`);
}

async function roomFound(folder: string): Promise<Found> {
  const name = 'disk';
  const { bavail, bsize, blocks } = await statfs(folder);
  const free = bavail * bsize;
  const left = `${gib(free)} of ${gib(blocks * bsize)} are free where ${folder} is`;
  if (free < TOO_LITTLE)
    return bad(name, `${left}: checks fail when nothing is left. Make room, or set TOOLGATE_RETENTION.`);
  if (free < LITTLE) return warning(name, `${left}: make room soon, or set TOOLGATE_RETENTION.`);
  return good(name, `${left}.`);
}

const gib = (bytes: number): string => `${(bytes / 1024 / MIB).toFixed(1)} GiB`;

async function syncFound(folder: string, isStore: boolean): Promise<Found> {
  const name = 'sync';
  const path = join(folder, `.doctor-${crypto.randomUUID()}`);
  try {
    const ms = await syncMs(path);
    const took = `A sync (fsync) in ${folder} takes ${ms.toFixed(1)} ms`;
    if (!isStore || ms <= SLOW_SYNC_MS) return good(name, `${took}.`);
    return warning(
      name,
      `${took}, and every check waits for one: use a faster disk for the store, not one of the network, or PostgreSQL.`,
    );
  } catch (error) {
    return bad(name, `${folder} cannot be written${codeOf(error)}: ${remedyOf(error)}`);
  }
}

function remedyOf(error: unknown): string {
  if (/ENOSPC|EDQUOT/.test(codeOf(error))) return 'the disk is full. Make room, or set TOOLGATE_RETENTION.';
  if (/EACCES|EPERM|EROFS/.test(codeOf(error)))
    return 'run this as the user of the service, or give the folder to that user.';
  return 'look at the disk, and at the messages of the system about it.';
}

/** The best of a few: what is written beside it at that moment is not the disk's fault. */
async function syncMs(path: string): Promise<number> {
  const file = await open(path, 'wx', 0o600);
  try {
    const times: number[] = [];
    for (let index = 0; index < SYNCS; index++) {
      await file.write(PAGE);
      const begun = performance.now();
      await file.sync();
      times.push(performance.now() - begun);
    }
    return Math.min(...times);
  } finally {
    await file.close();
    rmSync(path);
  }
}

function modesFound(config: Config): Found[] {
  const name = 'file modes';
  const open = openFiles(config).map(({ file, mode, advice }) =>
    warning(name, `${file} has the mode ${mode}: ${advice}.`),
  );
  return open.length > 0 ? open : [good(name, 'Other users of this machine cannot read the files.')];
}
