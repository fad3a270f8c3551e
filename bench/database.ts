// The PostgreSQL server of the run, which all lines share, and the CPU time of its processes.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { SQL } from 'bun';
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts';
import { cpuMicroseconds } from './process.ts';
import type { Database } from './service.ts';

/** Null if there is no PostgreSQL. */
export async function openDatabase(resources: AsyncDisposableStack): Promise<Database | null> {
  const postgres = await startPostgres();
  if (!postgres) return null;
  resources.defer(() => postgres.close());
  const pid = postmaster(postgres);
  return {
    createDatabase: () => postgres.createDatabase(),
    version: await versionOf(postgres.url),
    cpuMicroseconds: () => (pid === null ? null : cpuMicroseconds(pid)),
  };
}

function postmaster({ owned, dataDir }: TestPostgres): number | null {
  return owned ? Number(fs.readFileSync(path.join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]) : null;
}

async function versionOf(url: string): Promise<string> {
  const sql = new SQL(url, { max: 1 });
  try {
    const [row] = await sql.unsafe('SHOW server_version');
    return String(row.server_version);
  } finally {
    await sql.close();
  }
}
