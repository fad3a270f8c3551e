// PgBouncer in front of the tests' PostgreSQL, lending connections by transaction. Not everybody has it: the
// caller skips loudly.

import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { until } from './faults.ts';
import { freePort } from './port.ts';

const BINARY = [
  process.env['TOOLGATE_TEST_PGBOUNCER'] ?? '',
  '/usr/sbin/pgbouncer',
  '/usr/bin/pgbouncer',
].find(path => path !== '' && existsSync(path));

export const hasPgBouncer = BINARY !== undefined;

export interface PgBouncer {
  /** The same database, through the proxy. */
  url: string;
  close: () => Promise<void>;
}

export async function startPgBouncer(databaseUrl: string, serverConnections: number): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-pgbouncer-'));
  const url = new URL(databaseUrl);
  const port = await freePort();
  writeFileSync(join(folder, 'users.txt'), `"${url.username}" "${url.password}"\n`);
  writeFileSync(join(folder, 'pgbouncer.ini'), settings(folder, url, port, serverConnections));
  // It does not run as root, and then has to read these as somebody else.
  chmodSync(folder, 0o755);
  const child = Bun.spawn([BINARY ?? '', join(folder, 'pgbouncer.ini')], {
    env: { LD_LIBRARY_PATH: process.env['LD_LIBRARY_PATH'] ?? '' },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  process.on('exit', () => child.kill('SIGKILL'));
  url.hostname = '127.0.0.1';
  url.port = String(port);
  await until('PgBouncer answers', () => answers(url.href));
  const close = async () => {
    child.kill('SIGKILL');
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  };
  return { url: url.href, close };
}

function settings(folder: string, { hostname, port }: URL, listen: number, connections: number): string {
  return `[databases]
* = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listen}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users.txt
pool_mode = transaction
default_pool_size = ${connections}
max_client_conn = 500
${preparesStatements() ? 'max_prepared_statements = 0' : ''}
${process.getuid?.() === 0 ? 'user = nobody' : ''}
`;
}

/** From 1.21 on; without it, the hard case is the same for every version. */
function preparesStatements(): boolean {
  const { stdout } = Bun.spawnSync([BINARY ?? '', '--version']);
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout.toString()) ?? [];
  return Number(major) > 1 || Number(minor) >= 21;
}

async function answers(url: string): Promise<boolean> {
  const server = new SQL(url, { max: 1, prepare: false, connectionTimeout: 1 });
  try {
    await server.unsafe('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await server.close({ timeout: 0 }).catch(() => {});
  }
}
