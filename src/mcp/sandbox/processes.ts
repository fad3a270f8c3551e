// The processes below one process, as /proc shows them: how many there are, and how all of them are ended.

import { readdirSync, readFileSync } from 'node:fs';
import { libc } from './libc.ts';

const WNOHANG = 1;
const PAUSE_MS = 2;
const SIGKILL = 'SIGKILL';

export interface Process {
  pid: number;
  threads: number;
}

/** All descendants of a process. */
export function descendantsOf(root: number): Process[] {
  const children = new Map<number, Process[]>();
  for (const name of readdirSync('/proc')) {
    const found = /^\d+$/.test(name) ? readProcess(name) : null;
    if (found === null) continue;
    children.set(found.parent, [...(children.get(found.parent) ?? []), found]);
  }
  const below = (pid: number): Process[] =>
    (children.get(pid) ?? []).flatMap(each => [each, ...below(each.pid)]);
  return below(root);
}

function readProcess(pid: string): (Process & { parent: number }) | null {
  try {
    // The name of the program, in brackets, may contain anything. Behind it come the state and the parent.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { pid: Number(pid), parent: Number(fields[1]), threads: Number(fields[17]) };
  } catch {
    // The process is gone.
    return null;
  }
}

/** Waits for those of our children that have ended, and tells `onEnd` of each. Returns whether there are any left. */
export function reap(onEnd: (pid: number, status: number) => void): boolean {
  const status = new Int32Array(1);
  for (;;) {
    const pid = libc.waitpid(-1, status, WNOHANG);
    if (pid <= 0) return pid === 0;
    onEnd(pid, status[0] ?? 0);
  }
}

/**
 * Ends everything below this process, however it was started: orphans have become our children. Returns when nothing is
 * left, or after `atMostMs`, if a process hangs in the kernel.
 */
export function endAll(onEnd: (pid: number, status: number) => void, atMostMs: number): void {
  const start = performance.now();
  while (reap(onEnd) && performance.now() - start < atMostMs) {
    for (const { pid } of descendantsOf(process.pid)) {
      try {
        process.kill(pid, SIGKILL);
      } catch {
        // It has ended by itself.
      }
    }
    Bun.sleepSync(PAUSE_MS);
  }
}
