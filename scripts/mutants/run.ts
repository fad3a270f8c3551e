// Runs test files in a tree until one fails, and answers which. What they leave behind, processes as well as files,
// is gone afterwards: a change may hang a test, or end it before it has cleaned up.

import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { took } from './tests.ts';

const ROOT = join(import.meta.dir, '../..');
/** Of one test, in milliseconds; most changes that hang a test hang it for good. A quick file's tests get less. */
const TEST_MS = 60_000;
const QUICK_TEST_MS = 15_000;
/** A test's own mutation does not apply (test/support/mutant.ts): that says nothing about the change. */
const NOT_APPLIED = 86;
/** A busy machine may take so many times as long as a quiet one. */
const PATIENCE = 8;

/** Each test is in a process group of its own, which Ctrl-C does not reach. */
const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach(end));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

/** The first of the tests that fails in this tree, or does not come to an end; null when all pass. */
export async function failsOn(tree: string, tests: readonly string[]): Promise<string | null> {
  for (const test of tests) if (!(await passes(tree, test))) return test;
  return null;
}

async function passes(tree: string, test: string): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-mutant-run-'));
  // PostgreSQL may run as another user, who has to get there.
  chmodSync(folder, 0o755);
  const patience = PATIENCE * took(test);
  const testMs = Math.min(TEST_MS, QUICK_TEST_MS + patience);
  const child = spawn(process.execPath, ['test', '--bail', '--timeout', String(testMs), test], {
    cwd: tree,
    env: { ...process.env, TMPDIR: folder, TOOLGATE_TEST_UNCHANGED: ROOT },
    stdio: 'ignore',
    detached: true,
  });
  running.add(child);
  const timer = setTimeout(() => end(child), testMs + patience);
  const code = await new Promise<number | null>(resolve => child.on('exit', resolve));
  clearTimeout(timer);
  end(child);
  running.delete(child);
  rmSync(folder, { recursive: true, force: true });
  if (code === NOT_APPLIED)
    throw new Error(`${test} makes a mutant whose patch does not apply; mend that first.`);
  return code === 0;
}

/** The whole process group: the services and databases that a test has started. */
function end(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL');
  } catch {
    // It has ended, and everything it started.
  }
}
