// The processes of this world, each of which is killed with SIGKILL and started again: replicas on one store, the tool
// server, and clients. Whoever asks a process that is away finds nobody there.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { newDataDir } from '../../support/faults.ts';
import { freshStore } from '../../support/fresh-store.ts';
import { freePort } from '../../support/port.ts';
import { BUN, type Engine, ROOT, startService, type TestService } from '../../support/service.ts';

export interface WorldOptions {
  engine: Engine;
  seed: number;
  /** Of a mutant's source. */
  root?: string;
  /** What is started in place of the source. */
  program?: string[];
}

const ENV = {
  TOOLGATE_LOG_LEVEL: 'silent',
  TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1000000',
  TOOLGATE_MAX_OPEN_APPROVALS_PER_SESSION: '1000000',
  TOOLGATE_UPSTREAM_TIMEOUT: '5s',
};

export class Replicas {
  kills = 0;
  readonly databaseUrl: string;
  readonly #options: WorldOptions;
  readonly #ports: number[];
  readonly #dataDirs: string[];
  readonly #services: TestService[] = [];
  readonly #away = new Set<number>();

  static async start(options: WorldOptions): Promise<Replicas> {
    const count = options.engine === 'postgres' ? 2 : 1;
    const dataDirs = Array.from({ length: count }, newDataDir);
    const ports: number[] = [];
    while (ports.length < count) ports.push(await freePort());
    const url = await freshStore(options.engine, dataDirs[0] as string, options.root ?? ROOT);
    const replicas = new Replicas(options, ports, dataDirs, url);
    for (const index of ports.keys()) await replicas.#serve(index);
    return replicas;
  }

  private constructor(options: WorldOptions, ports: number[], dataDirs: string[], databaseUrl: string) {
    this.#options = options;
    this.#ports = ports;
    this.#dataDirs = dataDirs;
    this.databaseUrl = databaseUrl;
  }

  /** They stay the same. */
  get urls(): string[] {
    return this.#ports.map(port => `http://127.0.0.1:${port}`);
  }

  /** Those that are there. */
  get services(): TestService[] {
    return this.#services.filter((_, index) => !this.#away.has(index));
  }

  get size(): number {
    return this.#ports.length;
  }

  /** Resolves once it serves again. */
  async kill(index: number): Promise<void> {
    if (this.#away.has(index)) return;
    this.#away.add(index);
    this.kills++;
    await (this.#services[index] as TestService).kill('SIGKILL');
    await this.#serve(index);
    this.#away.delete(index);
  }

  async close(): Promise<void> {
    await Promise.all(this.#services.map(service => service.kill('SIGKILL')));
    for (const dataDir of this.#dataDirs) rmSync(dataDir, { recursive: true, force: true });
  }

  async #serve(index: number): Promise<void> {
    const { engine, root, program } = this.#options;
    this.#services[index] = await startService({
      engine,
      databaseUrl: this.databaseUrl,
      dataDir: this.#dataDirs[index] as string,
      env: { ...ENV, TOOLGATE_PORT: String(this.#ports[index]) },
      ...(root && { root }),
      ...(program && { program }),
    });
  }
}

/** A program of this folder that is started again whenever it ended otherwise than by itself. */
export class Restarted {
  kills = 0;
  readonly #args: string[];
  #child: Bun.Subprocess;
  #isOver = false;
  /** Resolves once it has ended by itself, or was ended for good. */
  readonly done: Promise<void>;

  constructor(program: string, args: string[]) {
    this.#args = [BUN, join(import.meta.dir, program), ...args];
    this.#child = this.#spawn();
    this.done = this.#watch();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.kill();
    await this.done;
  }

  async #watch(): Promise<void> {
    for (;;) {
      await this.#child.exited;
      this.#isOver ||= this.#child.exitCode === 0;
      if (this.#isOver) return;
      if (this.#child.signalCode === 'SIGKILL') this.kills++;
      this.#child = this.#spawn();
    }
  }

  #spawn(): Bun.Subprocess {
    return Bun.spawn(this.#args, { stdout: 'ignore', stderr: 'inherit' });
  }
}
