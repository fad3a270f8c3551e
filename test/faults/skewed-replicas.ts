// Replicas on one store, each with a clock of its own that is wrong by some seconds, and a database server whose time
// the test lets pass together with theirs. One of them can be killed and started again. SQLite has a single one.

import { rmSync } from 'node:fs';
import { SQL } from 'bun';
import { SettableClock } from '../support/clock.ts';
import { newDataDir } from '../support/faults.ts';
import { freshStore } from '../support/fresh-store.ts';
import { type Engine, ROOT, startService, type TestService } from '../support/service.ts';

export interface SkewedOptions {
  engine: Engine;
  /** How many seconds the clock of each replica is ahead. */
  skews: readonly number[];
  env: Record<string, string>;
  root?: string;
}

interface Replica {
  clock: SettableClock;
  dataDir: string;
  service: TestService;
}

export class SkewedReplicas {
  readonly databaseUrl: string;
  readonly #options: SkewedOptions;
  readonly #databaseClock: DatabaseClock | null;
  readonly #replicas: Replica[] = [];

  private constructor(options: SkewedOptions, databaseUrl: string, databaseClock: DatabaseClock | null) {
    this.#options = options;
    this.databaseUrl = databaseUrl;
    this.#databaseClock = databaseClock;
  }

  /** The first one starts alone, because it sets up the store. `ahead` is where all clocks start. */
  static async start(options: SkewedOptions, ahead: number): Promise<SkewedReplicas> {
    const first = newDataDir();
    const databaseUrl = await freshStore(options.engine, first, options.root ?? ROOT);
    const databaseClock = options.engine === 'postgres' ? await DatabaseClock.on(databaseUrl) : null;
    const replicas = new SkewedReplicas(options, databaseUrl, databaseClock);
    await databaseClock?.jump(ahead);
    for (const [index, skew] of options.skews.entries()) {
      const clock = new SettableClock();
      clock.jump(ahead + skew);
      const dataDir = index === 0 ? first : newDataDir();
      replicas.#replicas.push({ clock, dataDir, service: await replicas.#serve(clock, dataDir) });
    }
    return replicas;
  }

  get size(): number {
    return this.#replicas.length;
  }

  service(index: number): TestService {
    return (this.#replicas[index] as Replica).service;
  }

  /** Time goes by for all of them. */
  async pass(seconds: number): Promise<void> {
    for (const { clock } of this.#replicas) clock.jump(seconds);
    await this.#databaseClock?.jump(seconds);
  }

  async killAndRestart(index: number): Promise<void> {
    const replica = this.#replicas[index] as Replica;
    await replica.service.kill('SIGKILL');
    replica.service = await this.#serve(replica.clock, replica.dataDir);
  }

  /** Kills all of them: what they have not committed is lost. */
  async kill(): Promise<void> {
    await Promise.all(this.#replicas.map(({ service }) => service.kill('SIGKILL')));
  }

  async close(): Promise<void> {
    await this.kill();
    await this.#databaseClock?.close();
    for (const { clock, dataDir } of this.#replicas) {
      clock.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  }

  #serve(clock: SettableClock, dataDir: string): Promise<TestService> {
    const { env, root } = this.#options;
    return startService({
      dataDir,
      databaseUrl: this.databaseUrl,
      env: { ...env, ...clock.env },
      ...(root && { root }),
    });
  }
}

/** The function that tells the time is found in a schema of ours first, in this one database. */
class DatabaseClock {
  readonly #server: SQL;

  private constructor(server: SQL) {
    this.#server = server;
  }

  static async on(databaseUrl: string): Promise<DatabaseClock> {
    const server = new SQL(databaseUrl, { max: 1 });
    const name = new URL(databaseUrl).pathname.slice(1);
    const statements = [
      'CREATE SCHEMA clock',
      'CREATE TABLE clock.passed (seconds double precision)',
      'INSERT INTO clock.passed VALUES (0)',
      `CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS
         'SELECT pg_catalog.clock_timestamp() + seconds * interval ''1 second'' FROM clock.passed'`,
      `ALTER DATABASE ${name} SET search_path = public, clock, pg_catalog`,
    ];
    for (const statement of statements) await server.unsafe(statement);
    return new DatabaseClock(server);
  }

  async jump(seconds: number): Promise<void> {
    await this.#server`UPDATE clock.passed SET seconds = seconds + ${seconds}`;
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}
