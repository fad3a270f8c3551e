// The machine's clocks as a test wants them, for a service in a process of its own: set by some seconds, or let
// time pass. A small library in C, compiled here, stands before the system's (clock.c).

import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onPath } from './service.ts';

export const canCompile = (): boolean => onPath('cc');

export class SettableClock {
  /** For the processes that are to live by it. */
  readonly env: Record<string, string>;
  readonly #folder: string;
  readonly #file: number;
  #wall = 0;
  #passed = 0;

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'toolgate-clock-'));
    const library = join(this.#folder, 'clock.so');
    const compiled = Bun.spawnSync([
      'cc',
      '-shared',
      '-fPIC',
      '-O1',
      '-o',
      library,
      join(import.meta.dir, 'clock.c'),
      '-ldl',
    ]);
    if (compiled.exitCode !== 0) throw new Error(`cc: ${compiled.stderr}`);
    const file = join(this.#folder, 'offsets');
    this.#file = openSync(file, 'w');
    this.#write();
    this.env = { LD_PRELOAD: library, TEST_CLOCK: file };
  }

  /** What the machine would say that it is now. */
  now(): number {
    return Date.now() + this.#wall * 1000;
  }

  /** Somebody sets the time of day. */
  jump(seconds: number): void {
    this.#wall += seconds;
    this.#write();
  }

  /** Time goes by, on every clock. */
  pass(seconds: number): void {
    this.#passed += seconds;
    this.jump(seconds);
  }

  close(): void {
    closeSync(this.#file);
    rmSync(this.#folder, { recursive: true });
  }

  #write(): void {
    const offsets = new BigInt64Array([BigInt(this.#wall), BigInt(this.#passed)]);
    writeSync(this.#file, new Uint8Array(offsets.buffer), 0, 16, 0);
  }
}
