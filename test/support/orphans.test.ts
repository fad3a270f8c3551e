// Whatever a test has started ends with the runner, however that ends: by --bail, by Ctrl-C, by kill -9 of it or of
// one of its workers. Shown with the flags of `npm test` on two files of its own (orphans/).

import { expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { newDataDir, until } from './faults.ts';
import { FLAGS } from './flags.ts';
import { BUN, ROOT } from './service.ts';

const FILES = ['./test/support/orphans/one.ts', './test/support/orphans/other.ts'];

interface Run {
  runner: Bun.Subprocess;
  /** Of each worker: itself, and what it has started. */
  left: () => number[][];
}

async function inner(then: 'fail' | 'wait', use: (run: Run) => Promise<void>): Promise<void> {
  const folder = newDataDir();
  const file = join(folder, 'left');
  const left = () => {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    return lines.map(line => line.split(' ').map(Number));
  };
  const runner = Bun.spawn([BUN, 'test', ...FLAGS, '--parallel-delay=0', '--bail', ...FILES], {
    cwd: ROOT,
    env: { ...process.env, LEFT: file, THEN: then },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  try {
    await use({ runner, left });
    await runner.exited;
    expect(left().length).toBeGreaterThan(0);
    await until('all have ended', () => !left().flat().some(isRunning));
  } finally {
    for (const pid of left().flat().filter(isRunning)) process.kill(pid, 'SIGKILL');
    rmSync(folder, { recursive: true });
  }
}

/** A zombie still has its entry until somebody reaps it. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

const bothWait = ({ left }: Run) => until('both wait', () => left().length === FILES.length);

test('a run that ends with the first failure', () => inner('fail', async () => {}));

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const)
  test(`a run that gets ${signal}`, () =>
    inner('wait', async run => {
      await bothWait(run);
      run.runner.kill(signal);
    }));

test('a worker that gets SIGKILL takes its own along', () =>
  inner('wait', async run => {
    await bothWait(run);
    const [[worker = 0, ...own] = []] = run.left();
    process.kill(worker, 'SIGKILL');
    await until('its own have ended', () => !own.some(isRunning));
    run.runner.kill('SIGKILL');
  }));
