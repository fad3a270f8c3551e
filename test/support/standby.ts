// A primary and a standby that follows it synchronously, and one address in front that leads to either: what a
// failover consists of.

import { appendFileSync, chownSync, cpSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { SQL } from 'bun';
import { until } from './faults.ts';
import { startPostgres, type TestPostgres } from './postgres.ts';

export class Cluster {
  readonly primary: TestPostgres;
  readonly standby: TestPostgres;
  /** A fresh database, at the address in front. */
  readonly url: string;
  readonly #front: Front;

  private constructor(primary: TestPostgres, standby: TestPostgres, front: Front, url: string) {
    this.primary = primary;
    this.standby = standby;
    this.#front = front;
    this.url = url;
  }

  /** Null where there is no PostgreSQL of our own. */
  static async start(): Promise<Cluster | null> {
    const primary = await startPostgres();
    if (primary === null || !primary.owned) return null;
    const standby = (await startPostgres()) as TestPostgres;
    const database = await primary.createDatabase();
    await primary.stop('fast');
    await standby.stop('fast');
    makeStandby(primary, standby);
    await primary.start();
    await standby.start();
    await until('the standby follows', () => follows(primary.url));
    const front = await Front.start(portOf(primary));
    const url = new URL(database);
    url.port = String(front.port);
    return new Cluster(primary, standby, front, url.href);
  }

  /** New connections lead there; with `all`, those that are open end. */
  lead(to: 'primary' | 'standby', all: boolean): void {
    this.#front.lead(portOf(this[to]), all);
  }

  async promote(): Promise<void> {
    await ask(this.standby.url, 'SELECT pg_promote()');
  }

  /** The database past the address in front. */
  urlOn(which: 'primary' | 'standby'): string {
    const url = new URL(this.url);
    url.port = String(portOf(this[which]));
    return url.href;
  }

  async close(): Promise<void> {
    this.#front.close();
    await this.standby.close();
    await this.primary.close();
  }
}

const portOf = ({ url }: TestPostgres): number => Number(new URL(url).port);

/** The standby becomes a copy of the primary; settings that come later in the file win. */
function makeStandby(primary: TestPostgres, standby: TestPostgres): void {
  const { uid, gid } = statSync(standby.dataDir);
  rmSync(standby.dataDir, { recursive: true });
  cpSync(primary.dataDir, standby.dataDir, { recursive: true });
  writeFileSync(join(standby.dataDir, 'standby.signal'), '');
  appendFileSync(
    join(standby.dataDir, 'postgresql.conf'),
    `port = ${portOf(standby)}
unix_socket_directories = '${dirname(standby.dataDir)}'
primary_conninfo = 'host=127.0.0.1 port=${portOf(primary)} user=toolgate application_name=standby'
`,
  );
  appendFileSync(join(primary.dataDir, 'postgresql.conf'), `synchronous_standby_names = 'standby'\n`);
  for (const name of ['', ...readdirSync(standby.dataDir, { recursive: true })]) {
    chownSync(join(standby.dataDir, String(name)), uid, gid);
  }
}

async function follows(url: string): Promise<boolean> {
  const rows = await ask(url, `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`);
  return rows.length > 0;
}

async function ask(url: string, statement: string): Promise<unknown[]> {
  const server = new SQL(url, { max: 1 });
  try {
    return [...(await server.unsafe(statement))];
  } finally {
    await server.close();
  }
}

/** Passes bytes on to a server that can be changed. */
class Front {
  readonly port: number;
  readonly #server: Server;
  readonly #open: Set<Socket>;
  readonly #to: { port: number };

  private constructor(server: Server, open: Set<Socket>, to: { port: number }) {
    this.#server = server;
    this.#open = open;
    this.#to = to;
    this.port = (server.address() as { port: number }).port;
  }

  static async start(port: number): Promise<Front> {
    const to = { port };
    const open = new Set<Socket>();
    const server = createServer(client => {
      const upstream = connect(to.port, '127.0.0.1');
      for (const [from, into] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        open.add(from);
        from.pipe(into);
        from.on('error', () => into.destroy());
        from.on('close', () => {
          open.delete(from);
          into.destroy();
        });
      }
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    return new Front(server, open, to);
  }

  lead(port: number, all: boolean): void {
    this.#to.port = port;
    if (all) for (const socket of this.#open) socket.destroy();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  }
}
