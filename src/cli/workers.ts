// toolgate serve --workers N: a process that serves nothing itself and keeps N others alive, which share a port. The
// first one starts alone, since it may have to migrate the store and make secrets. A worker that ends is started again,
// and a stop waits for all. The metrics of all workers are collected here, whichever of them is asked, and what one of them
// wants the others to do, to read the server file again, is passed on.

import type { MetricFamily } from '../core/wire/metric.ts';
import type { Log } from '../log.ts';
import { EXIT } from './exit.ts';
import { onHangup } from './hangup.ts';
import type { IO } from './io.ts';
import { OUTBOUND, ourselves } from './outbound.ts';

/** The metrics of one worker. */
type Part = [worker: number, families: MetricFamily[]];

type FromWorker =
  | { kind: 'ready'; port: number }
  | { kind: 'gather'; id: number }
  | { kind: 'metrics'; id: number; families: MetricFamily[] }
  | { kind: 'reloadOthers'; id: number }
  | { kind: 'reloaded'; id: number; fault: string | null };

type ToWorker =
  | { kind: 'read'; id: number }
  | { kind: 'gathered'; id: number; parts: Part[] }
  | { kind: 'reload'; id: number }
  | { kind: 'othersReloaded'; id: number; faults: string[] };

const RESTART_MS = 1000;
const GATHER_MS = 1000;
/** To read a file takes milliseconds; a busy worker may need longer to notice that it should. */
const RELOAD_MS = 5000;

export class Workers {
  readonly #io: IO;
  readonly #log: Log;
  readonly #count: number;
  readonly #children = new Map<number, Bun.Subprocess>();
  readonly #serving = new Set<number>();
  readonly #gathering = new Map<number, (...part: Part) => void>();
  readonly #reloading = new Map<number, (fault: string | null) => void>();
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
    onHangup(this.#io, {
      stop: () => this.#stop(),
      // One worker reads the server file, and has the others read it.
      reload: () => this.#children.get([...this.#serving][0] ?? 0)?.kill('SIGHUP'),
    });
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
    const { kind, id } = message;
    switch (kind) {
      case 'metrics':
        return this.#gathering.get(id)?.(worker, message.families);
      case 'gather':
        return this.#tell(worker, { kind: 'gathered', id, parts: await this.#gather() });
      case 'reloaded':
        return this.#reloading.get(id)?.(message.fault);
      case 'reloadOthers':
        return this.#tell(worker, { kind: 'othersReloaded', id, faults: await this.#reloadOthers(worker) });
    }
  }

  /** A worker that is starting reads the file anyway. */
  async #reloadOthers(asking: number): Promise<string[]> {
    const others = [...this.#serving].filter(worker => worker !== asking);
    const faults = await Promise.all(others.map(worker => this.#reload(worker)));
    return faults.filter(fault => fault !== null);
  }

  async #reload(worker: number): Promise<string | null> {
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<string | null>();
    this.#reloading.set(id, resolve);
    this.#tell(worker, { kind: 'reload', id });
    const ended = this.#children.get(worker)?.exited.then(() => null) ?? null;
    const late = Bun.sleep(RELOAD_MS).then(() => 'it has not said in time that it has read the file');
    return Promise.race([promise, ended, late]).finally(() => this.#reloading.delete(id));
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

/** What the parent may want of a worker that serves. */
interface Worker {
  port: number;
  metrics: () => Promise<MetricFamily[]>;
  followReload: () => Promise<void>;
}

/**
 * The worker's side: it reports that it serves, sends its metrics, asks for the metrics of all workers, has the others read
 * the server file again, and ends with its parent.
 */
export class WorkerLink {
  readonly #waiting = new Map<number, (parts: Part[]) => void>();
  readonly #reloading = new Map<number, (faults: string[]) => void>();
  #nextId = 1;

  /** From here on the worker answers requests for its metrics; earlier ones time out. */
  ready(worker: Worker, onOrphaned: () => void): void {
    process.on('disconnect', onOrphaned);
    process.on('message', (message: ToWorker) => this.#take(worker, message));
    this.#send({ kind: 'ready', port: worker.port });
  }

  async #take({ metrics, followReload }: Worker, message: ToWorker): Promise<void> {
    const { kind, id } = message;
    switch (kind) {
      case 'read':
        return this.#send({ kind: 'metrics', id, families: await metrics() });
      case 'gathered':
        return this.#waiting.get(id)?.(message.parts);
      case 'reload': {
        const fault = await followReload().then(
          () => null,
          (error: Error) => error.message,
        );
        return this.#send({ kind: 'reloaded', id, fault });
      }
      case 'othersReloaded':
        return this.#reloading.get(id)?.(message.faults);
    }
  }

  /** Resolves with what went wrong in the others. */
  reload(): Promise<string[]> {
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<string[]>();
    this.#reloading.set(id, resolve);
    this.#send({ kind: 'reloadOthers', id });
    return promise.finally(() => this.#reloading.delete(id));
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
