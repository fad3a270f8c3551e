// Ways to make the audit log unwritable under a running service, each with its way back where there is one. What must
// hold meanwhile is the tests' business.

import { Database } from 'bun:sqlite';
import { closeSync, copyFileSync, openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { inject, newDataDir, sql } from '../support/faults.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { onPath, type TestService } from '../support/service.ts';

/** Begins a fault and returns what ends it. */
export type Begin = (service: TestService) => Promise<() => Promise<void>>;

const TMPFS_SIZE = '16m';

/** A folder on a small disk of its own; null without the right to mount one. */
export function mountSmallDisk(): string | null {
  const folder = newDataDir();
  const mount = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${TMPFS_SIZE}`, 'tmpfs', folder]);
  if (mount.exitCode === 0) return folder;
  rmSync(folder, { recursive: true });
  return null;
}

export function unmount(folder: string): void {
  Bun.spawnSync(['umount', '--lazy', folder]);
  rmSync(folder, { recursive: true, force: true });
}

export function canMount(): boolean {
  if (!onPath('mount')) return false;
  const folder = mountSmallDisk();
  if (folder !== null) unmount(folder);
  return folder !== null;
}

export function failing(call: string): Begin {
  return service => inject(service.process.pid, call);
}

export const failedSync: Begin = failing('fsync,fdatasync:error=EIO');

const filesOf = ({ dataDir }: TestService) =>
  readdirSync(dataDir).filter(name => name.startsWith('toolgate.db'));

/** As `rm toolgate.db*` does. */
export async function removeStore(service: TestService): Promise<() => Promise<void>> {
  for (const name of filesOf(service)) rmSync(join(service.dataDir, name));
  return async () => {};
}

/** As `mv toolgate.db elsewhere; cp backup toolgate.db` does. */
export async function replaceStore({ dataDir }: TestService): Promise<() => Promise<void>> {
  const path = join(dataDir, 'toolgate.db');
  renameSync(path, `${path}.elsewhere`);
  copyFileSync(`${path}.elsewhere`, path);
  return async () => {};
}

export async function limitFiles({ process: { pid } }: TestService): Promise<() => Promise<void>> {
  const set = (limit: string) => {
    const done = Bun.spawnSync(['prlimit', '--pid', String(pid), `--fsize=${limit}:`]);
    if (done.exitCode !== 0) throw new Error(`prlimit: ${done.stderr}`);
  };
  set('65536');
  return async () => set('unlimited');
}

export async function renameTable({ databaseUrl }: TestService): Promise<() => Promise<void>> {
  await sql(databaseUrl, 'ALTER TABLE audit_entries RENAME TO audit_elsewhere');
  return async () => {
    await sql(databaseUrl, 'ALTER TABLE audit_elsewhere RENAME TO audit_entries');
  };
}

export async function lockDatabase({ databaseUrl }: TestService): Promise<() => Promise<void>> {
  const other = new Database(databaseUrl.slice('sqlite:'.length));
  other.exec('PRAGMA busy_timeout = 60000');
  other.exec('BEGIN IMMEDIATE');
  return async () => other.close();
}

export function stopping(server: TestPostgres): Begin {
  return async () => {
    await server.stop('fast');
    return () => server.start();
  };
}

export function freezing(server: TestPostgres): Begin {
  return async () => {
    server.pause();
    return async () => server.resume();
  };
}

export async function fillDisk({ dataDir }: TestService): Promise<() => Promise<void>> {
  const ballast = join(dataDir, 'ballast');
  const file = openSync(ballast, 'w');
  const chunk = Buffer.alloc(4096);
  try {
    for (;;) writeSync(file, chunk);
  } catch {
    closeSync(file);
  }
  return async () => rmSync(ballast);
}
