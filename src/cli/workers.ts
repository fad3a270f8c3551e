// toolgate serve --workers N: a process that serves nothing itself and keeps N others alive, which share a port. The
// first one starts alone, since it may have to migrate the store and make secrets. A worker that ends is started again,
// and a stop waits for all. The metrics of all workers are collected here, whichever of them is asked.

import type { MetricFamily } from '../core/wire/metric.ts';
import type { Log } from '../log.ts';
import { EXIT } from './exit.ts';
import type { IO } from './io.ts';
import { OUTBOUND, ourselves } from './outbound.ts';

/** The metrics of one worker. */
type Part = [worker: number, families: MetricFamily[]];

type FromWorker =
  | { kind: 'ready'; port: number }
  | { kind: 'gather'; id: number }
  | { kind: 'metrics'; id: number; families: MetricFamily[] };

type ToWorker = { kind: 'read'; id: number } | { kind: 'gathered'; id: number; parts: Part[] };

const RESTART_MS = 1000;
const GATHER_MS = 1000;

export class Workers {
  readonly #io: IO;
  readonly #log: Log;
  readonly #count: number;
  readonly #children = new Map<number, Bun.Subprocess>();
  readonly #serving = new Set<number>();
  readonly #gathering = new Map<number, (...part: Part) => void>();
  readonly #allEnded = Promise.withResolvers<void>();
  #nextId = 1;
  #port: string;
  #stopping = false;

  constructor(io: IO, log: Log, count: number, port: number) {
    this.#io = io;
    this.#log = log;
    this.#count = count;
    this.#port = String(port);
  }

  /** Resolves with an exit code once all workers have ended. */
  async run(): Promise<number> {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#stop());
    const first = await this.#start(1);
    if (first !== null) return this.#stopping ? EXIT.ok : first;
    for (let worker = 2; worker <= this.#count; worker++) this.#keep(worker);
    await this.#allEnded.promise;
    return EXIT.ok;
  }

  /** Resolves with null once the worker serves, or with its exit code if it ended before. */
  #start(worker: number): Promise<number | null> {
    return new Promise(resolve => {
      const child = Bun.spawn([...ourselves(), 'serve', '--worker', String(worker)], {
        cwd: this.#io.cwd,
        env: { ...OUTBOUND, ...this.#io.env, TOOLGATE_PORT: this.#port },
        stdio: ['ignore', 'inherit', 'inherit'],
        ipc: (message: FromWorker) => {
          if (message.kind === 'ready') {
            // Port 0 means any free port; the other workers then share the one that the first got.
            this.#port = String(message.port);
            this.#serving.add(worker);
            resolve(null);
          } else this.#answer(worker, message);
        },
      });
      this.#children.set(worker, child);
      child.exited.then(code => {
        this.#children.delete(worker);
        const served = this.#serving.delete(worker);
        if (this.#stopping && this.#children.size === 0) this.#allEnded.resolve();
        if (served) this.#again(worker, code);
        resolve(code);
      });
    });
  }

  async #keep(worker: number): Promise<void> {
    const failed = await this.#start(worker);
    if (failed !== null) await this.#again(worker, failed);
  }

  async #again(worker: number, code: number): Promise<void> {
    if (this.#stopping) return;
    this.#log.error({ worker, code }, 'a worker ended by itself; it is started again');
    await Bun.sleep(RESTART_MS);
    if (!this.#stopping) await this.#keep(worker);
  }

  #stop(): void {
    // A second signal ends the workers at once.
    const signal = this.#stopping ? 'SIGKILL' : 'SIGTERM';
    this.#stopping = true;
    for (const child of this.#children.values()) child.kill(signal);
    if (this.#children.size === 0) this.#allEnded.resolve();
  }

  async #answer(worker: number, message: Exclude<FromWorker, { kind: 'ready' }>): Promise<void> {
    if (message.kind === 'metrics') return this.#gathering.get(message.id)?.(worker, message.families);
    const parts = await this.#gather();
    this.#tell(worker, { kind: 'gathered', id: message.id, parts });
  }

  /** Collects the metrics of all workers; one that does not answer in time is left out. */
  async #gather(): Promise<Part[]> {
    const id = this.#nextId++;
    const parts: Part[] = [];
    const wanted = this.#serving.size;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gathering.set(id, (...part) => {
      parts.push(part);
      if (parts.length === wanted) resolve();
    });
    for (const worker of this.#serving) this.#tell(worker, { kind: 'read', id });
    await Promise.race([promise, Bun.sleep(GATHER_MS)]);
    this.#gathering.delete(id);
    return parts.sort(([a], [b]) => a - b);
  }

  #tell(worker: number, message: ToWorker): void {
    try {
      this.#children.get(worker)?.send(message);
    } catch {
      // The worker is ending, and nobody waits for its answer.
    }
  }
}

/**
 * The worker's side: it reports that it serves, sends its metrics, asks for the metrics of all workers, and ends with
 * its parent.
 */
export class WorkerLink {
  readonly #waiting = new Map<number, (parts: Part[]) => void>();
  #nextId = 1;

  /** From here on the worker answers requests for its metrics; earlier ones time out. */
  ready(
    { port, metrics }: { port: number; metrics: () => Promise<MetricFamily[]> },
    onOrphaned: () => void,
  ): void {
    process.on('disconnect', onOrphaned);
    process.on('message', (message: ToWorker) => {
      if (message.kind === 'read')
        metrics().then(families => this.#send({ kind: 'metrics', id: message.id, families }));
      else this.#waiting.get(message.id)?.(message.parts);
    });
    this.#send({ kind: 'ready', port });
  }

  gather(): Promise<Part[]> {
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<Part[]>();
    this.#waiting.set(id, resolve);
    this.#send({ kind: 'gather', id });
    return Promise.race([promise, Bun.sleep(2 * GATHER_MS).then(() => [])]).finally(() =>
      this.#waiting.delete(id),
    );
  }

  #send(message: FromWorker): void {
    process.send?.(message);
  }
}
