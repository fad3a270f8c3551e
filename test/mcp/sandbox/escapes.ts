// The program of attempts (escapes.c), compiled once for each test file, and how many attempts are made at once.

import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { need } from '../../support/need.ts';

export { CONFINES } from './confines.ts';

export const COMPILES = need(
  Bun.which('cc') !== null,
  'a C compiler, for the attempts to escape from a sandbox',
);

export const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolgate-sandbox-test-')));
export const removeFolder = () => rmSync(folder, { recursive: true, force: true });

/** The name is in the command line of whatever it starts, and found nowhere else. */
export const PROGRAM = join(folder, `escapes-${process.pid}`);

export function compileEscapes(): void {
  const source = join(import.meta.dir, 'escapes.c');
  const { exitCode, stderr } = Bun.spawnSync(['cc', '-O1', '-pthread', '-o', PROGRAM, source, '-lrt']);
  if (exitCode !== 0) throw new Error(stderr.toString());
}

/** The folders that a program written in C needs. */
export const LIBRARIES = ['/lib', '/lib64', '/usr/lib', '/etc/ld.so.cache'].filter(existsSync);

/** The command line that makes all of these attempts, each in a child process. */
export function many(attempts: readonly string[][]): string[] {
  return [PROGRAM, 'many', ...attempts.flatMap((each, index) => (index === 0 ? each : ['--', ...each]))];
}

export const results = (out: string): number[] => out.trim().split('\n').map(Number);
