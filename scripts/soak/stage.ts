// The stages of a soak: two replicas on one PostgreSQL, one of them over a link that can be stalled; or one process on
// SQLite. Each stage has its faults, which happen one after another with pauses between.

import { Database } from 'bun:sqlite';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from '../../test/support/faults.ts';
import { startPostgres } from '../../test/support/postgres.ts';
import { type Engine, startService, type TestService } from '../../test/support/service.ts';

export interface Stage {
  name: string;
  urls: string[];
  databaseUrl: string;
  /** The replica that is never restarted. */
  steady: TestService;
  faults: Fault[];
  close: () => Promise<void>;
}

export interface Fault {
  name: string;
  run: () => Promise<void>;
}

/** Long enough for commits to be full, and so short that no check waits long in the queue. */
export const QUEUE_LIMIT = '1000';
const ENV = { TOOLGATE_QUEUE_LIMIT: QUEUE_LIMIT, TOOLGATE_LOG_LEVEL: 'error' };
const STALL_MS = 4000;
const MOST_STARTS = 5;
/** Bounds what the database has to replay after a crash, on the core that it shares with two busy replicas. */
const CHECKPOINT_TIMEOUT = '30s';

export function open(engine: Engine): Promise<Stage> {
  return engine === 'postgres' ? replicas() : alone();
}

async function replicas(): Promise<Stage> {
  const postgres = await startPostgres();
  if (postgres === null) throw new Error('There is no PostgreSQL here.');
  await sql(
    postgres.url,
    `ALTER SYSTEM SET checkpoint_timeout = '${CHECKPOINT_TIMEOUT}'`,
    'SELECT pg_reload_conf()',
  );
  const databaseUrl = await postgres.createDatabase();
  const link = await openLink(databaseUrl);
  // The replica restarts at the same address, as under a process supervisor.
  const port = freePort();
  const start = () => startService({ databaseUrl: link.url, env: { ...ENV, TOOLGATE_PORT: String(port) } });
  const steady = await startService({ databaseUrl, env: ENV });
  let mortal = await start();
  const stalled = async () => {
    link.say('stall');
    await Bun.sleep(STALL_MS);
    link.say('resume');
  };
  const killed = async () => {
    await mortal.kill('SIGKILL');
    mortal = await retried(start);
  };
  const restarted = async () => {
    await postgres.stop('immediate');
    await postgres.start();
  };
  return {
    name: 'Two replicas on PostgreSQL',
    urls: [steady.url, mortal.url],
    databaseUrl,
    steady,
    faults: [
      { name: 'link stalled for 4 s', run: stalled },
      { name: 'replica killed and restarted', run: killed },
      { name: 'database stopped at once and restarted', run: restarted },
    ],
    close: async () => {
      await steady.kill('SIGTERM');
      await mortal.kill('SIGTERM');
      link.close();
      await postgres.close();
    },
  };
}

async function alone(): Promise<Stage> {
  const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-soak-'));
  const steady = await startService({ dataDir, env: ENV });
  const locked = async () => {
    const other = new Database(join(dataDir, 'toolgate.db'));
    other.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
    await Bun.sleep(STALL_MS);
    other.exec('ROLLBACK');
    other.close();
  };
  return {
    name: 'One process on SQLite',
    urls: [steady.url],
    databaseUrl: steady.databaseUrl,
    steady,
    faults: [{ name: 'file locked for 4 s', run: locked }],
    close: async () => {
      await steady.kill('SIGTERM');
    },
  };
}

async function retried<T>(start: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await start();
    } catch (error) {
      if (tries === MOST_STARTS) throw error;
    }
  }
}

function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  listener.stop(true);
  return listener.port;
}

interface Link {
  url: string;
  say: (what: 'stall' | 'resume') => void;
  close: () => void;
}

async function openLink(databaseUrl: string): Promise<Link> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'link.ts'), databaseUrl], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const { value } = await child.stdout.getReader().read();
  return {
    url: new TextDecoder().decode(value).trim(),
    say: what => {
      child.stdin.write(`${what}\n`);
      child.stdin.flush();
    },
    close: () => child.kill(),
  };
}
