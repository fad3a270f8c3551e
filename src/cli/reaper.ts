// Ends zombies where this process is the first of a container (PID 1) and there is no init. A process whose parent has
// ended becomes a child of PID 1: the watcher of each command that has ended (mcp/wire-stdio.ts), and what commands had
// started. The runtime waits only for processes that it has started itself.

import { dlopen } from 'bun:ffi';
import { readdirSync, readFileSync } from 'node:fs';

const LIBRARIES = ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`];
const WNOHANG = 1;
const LOOK_MS = 2000;

type WaitPid = (pid: number, status: null, options: number) => number;

export function reapOrphans(): void {
  const waitpid = systemCall();
  if (waitpid === null) return;
  let before = new Set<number>();
  // A process that the runtime has started is waited for by the runtime, within the time between two looks.
  setInterval(() => {
    const now = zombies();
    for (const pid of now) if (before.has(pid)) waitpid(pid, null, WNOHANG);
    before = new Set(now);
  }, LOOK_MS).unref();
}

/** Our children that have ended and that nobody has waited for. */
function zombies(): number[] {
  const pids = readdirSync('/proc').filter(name => /^[0-9]+$/.test(name));
  return pids.map(Number).filter(isZombie);
}

function isZombie(pid: number): boolean {
  try {
    // The name of the program, in brackets, may contain anything. After it come the state and the parent.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 1).startsWith(` Z ${process.pid} `);
  } catch {
    // The process is gone.
    return false;
  }
}

function systemCall(): WaitPid | null {
  for (const library of LIBRARIES) {
    try {
      return dlopen(library, { waitpid: { args: ['int', 'ptr', 'int'], returns: 'int' } }).symbols.waitpid;
    } catch {
      // The system may have the other C library.
    }
  }
  return null;
}
