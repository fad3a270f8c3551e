// The program of attempts (escapes.c), compiled once for each test file, and how many attempts are made at once.

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
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

export const compileEscapes = (): void => compile('escapes.c', PROGRAM);

/** Test files that run in one process have the folder after one another. */
export function compile(source: string, program: string): void {
  mkdirSync(folder, { recursive: true });
  const words = ['cc', '-O1', '-pthread', '-o', program, join(import.meta.dir, source), '-lrt'];
  const { exitCode, stderr } = Bun.spawnSync(words);
  if (exitCode !== 0) throw new Error(stderr.toString());
}

/** The folders that a program written in C needs. */
export const LIBRARIES = ['/lib', '/lib64', '/usr/lib', '/etc/ld.so.cache'].filter(existsSync);

/** The command line that makes all of these attempts, each in a child process. */
export function many(attempts: readonly string[][]): string[] {
  return [PROGRAM, 'many', ...attempts.flatMap((each, index) => (index === 0 ? each : ['--', ...each]))];
}

export const results = (out: string): number[] => out.trim().split('\n').map(Number);
