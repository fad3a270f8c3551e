// Runs test files in a tree until one fails, and returns its name. Processes and files that tests leave behind are
// removed afterwards, because a change may make a test hang, or end it before it has cleaned up.

import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { took } from './tests.ts';

const ROOT = join(import.meta.dir, '../..');
/**
 * Time limits of one test. Most changes that make a test hang make it hang forever. Tests of a quick file get less
 * time.
 */
const TEST_MS = 60_000;
const QUICK_TEST_MS = 15_000;
/**
 * The exit code of a test whose own mutation does not apply (test/support/mutant.ts), which says nothing about the
 * change.
 */
const NOT_APPLIED = 86;
/** A busy machine may take this many times as long as an idle one. */
const PATIENCE = 8;
/** The least time of a whole file. What is known of its time leaves out the tests that wait for a change. */
const FILE_MS = 240_000;

/** Each test runs in its own process group, which Ctrl-C does not reach. */
const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach(end));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

/** The first test that fails or does not end in this tree; null when all pass. */
export async function failsOn(tree: string, tests: readonly string[]): Promise<string | null> {
  for (const test of tests) if (!(await passes(tree, test))) return test;
  return null;
}

async function passes(tree: string, test: string): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-mutant-run-'));
  // PostgreSQL may run as another user, who needs access.
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
  const timer = setTimeout(() => end(child), Math.max(FILE_MS, testMs + patience));
  const code = await new Promise<number | null>(resolve => child.on('exit', resolve));
  clearTimeout(timer);
  end(child);
  running.delete(child);
  rmSync(folder, { recursive: true, force: true });
  if (code === NOT_APPLIED)
    throw new Error(`${test} makes a mutant whose patch does not apply; mend that first.`);
  return code === 0;
}

/** Ends the whole process group, with the services and databases that a test has started. */
function end(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL');
  } catch {
    // The process group has already ended.
  }
}
