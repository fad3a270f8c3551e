// Watches one confined command from its start to its end: starts the launcher that becomes it, answers its forks, and
// ends everything that it has started once it ends, or the service does. It serves nothing else, so it simply waits.

import { writeSync } from 'node:fs';
import { Forks } from './forks.ts';
import { cString, cStrings, libc, systemCall } from './libc.ts';
import { readLine, receive, send, waitFor } from './messages.ts';
import { LEFT_TO_THE_SERVICE, type Plan, type Report, TALK } from './plan.ts';
import { makePrivateFolder, removeAbandoned, removeFolder } from './private-folder.ts';
import { descendantsOf, endAll, reap } from './processes.ts';

const PR_SET_CHILD_SUBREAPER = 36;
const SIG_IGN = 1;
const AF_UNIX = 1;
const SOCK_STREAM_CLOEXEC = 0x80001;
const PIDFD_OPEN = 434;
const O_RDWR = 2;
const ACTIONS_BYTES = 512;
/** How often orphans that have ended are waited for, and how often forks that wait are looked at. */
const LOOK_MS = 1000;
const RETRY_MS = 10;
const END_MS = 10_000;
const TOO_MANY = 'it went on making processes beyond sandbox.processes';
const CLOSED = 'the service ended it';

/** Returns only by an exit of this process. */
export function supervise(): never {
  const plan = JSON.parse(readLine(TALK)) as Plan;
  for (const signal of LEFT_TO_THE_SERVICE) libc.signal(signal, SIG_IGN);
  libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const folder = makePrivateFolder(plan.temporary);
  if (folder === null) {
    report({ kind: 'failed', why: `no folder for its temporary files can be made in ${plan.temporary}` });
    process.exit(0);
  }
  const [ours, theirs] = socketPair();
  const command = spawnLauncher(plan, theirs);
  let status: number | null = null;
  const onEnd = (pid: number, its: number) => {
    if (pid === command) status = its;
  };
  send(ours, `${JSON.stringify(withFolder(plan, folder))}\n`, null);
  letGoOfStreams(theirs);
  const why = watch({
    plan,
    command,
    launcher: ours,
    reap: () => reap(onEnd),
    isOver: () => status !== null,
  });
  endAll(onEnd, END_MS);
  if (typeof why === 'object' && why !== null) report(why);
  else report({ kind: 'ended', code: exitCode(status), why });
  removeFolder(folder);
  removeAbandoned(plan.temporary);
  process.exit(0);
}

function withFolder(plan: Plan, folder: string): Plan & { supervisor: number } {
  return {
    ...plan,
    env: { ...plan.env, TMPDIR: folder },
    read: plan.read === null ? null : [...plan.read, folder],
    write: plan.write === null ? null : [...plan.write, folder],
    supervisor: process.pid,
  };
}

interface Watched {
  plan: Plan;
  command: number;
  /** The socket to the launcher. It closes when the launcher has become the command. */
  launcher: number;
  reap: () => void;
  isOver: () => boolean;
}

/** Waits until the command has ended or has to be ended. Returns why, if it was not by itself. */
function watch({ plan, command, launcher, reap, isOver }: Watched): string | Report | null {
  // It only wakes us.
  const ended = systemCall(PIDFD_OPEN, command, 0);
  let talking = launcher;
  let listener = -1;
  let forks: Forks | null = null;
  for (;;) {
    const timeout = forks?.areWaiting ? RETRY_MS : LOOK_MS;
    const [closed, launched, asked] = waitFor([TALK, talking, listener, ended], timeout);
    reap();
    if (launched) {
      const { text, descriptor } = receive(talking);
      if (descriptor !== null) {
        listener = descriptor;
        forks = new Forks(listener, plan.processes, () => countBelow(command, reap));
      }
      const said = text === '' ? null : JSON.parse(text);
      if (said?.kind === 'failed') return said;
      if (said === null) {
        libc.close(talking);
        talking = -1;
      }
    }
    if (closed) return CLOSED;
    if (isOver()) return null;
    if (asked) forks?.take();
    forks?.retry();
    if (forks?.areTooMany) return TOO_MANY;
  }
}

/** The descendants of the command, and the threads of all. Orphans have become our children. */
function countBelow(command: number, reap: () => void): { processes: number; threads: number } {
  reap();
  const all = descendantsOf(process.pid);
  return {
    processes: all.filter(({ pid }) => pid !== command).length,
    threads: all.reduce((sum, each) => sum + each.threads, 0),
  };
}

function socketPair(): [ours: number, theirs: number] {
  const pair = new Int32Array(2);
  if (libc.socketpair(AF_UNIX, SOCK_STREAM_CLOEXEC, 0, pair) !== 0) throw new Error('no socket can be made');
  return [pair[0] as number, pair[1] as number];
}

/** It inherits input, output and standard error, which become those of the command. */
function spawnLauncher({ launcher }: Plan, socket: number): number {
  const actions = new Uint8Array(ACTIONS_BYTES);
  libc.posix_spawn_file_actions_init(actions);
  libc.posix_spawn_file_actions_adddup2(actions, socket, TALK);
  const pid = new Int32Array(1);
  const [program = ''] = launcher;
  const argv = cStrings([...launcher, 'launch']);
  const failed = libc.posix_spawn(pid, cString(program), actions, null, argv, cStrings([]));
  if (failed !== 0) throw new Error('the launcher cannot be started');
  return pid[0] as number;
}

/** So that the service sees the end of the command's output when the command closes it. */
function letGoOfStreams(socket: number): void {
  libc.close(socket);
  libc.close(0);
  libc.close(1);
  // Nothing else may get these numbers.
  libc.open(cString('/dev/null'), O_RDWR, 0);
  libc.open(cString('/dev/null'), O_RDWR, 0);
}

/** Null after a signal. */
function exitCode(status: number | null): number | null {
  return status === null || (status & 0x7f) !== 0 ? null : (status >> 8) & 0xff;
}

function report(what: Report): void {
  try {
    writeSync(TALK, `${JSON.stringify(what)}\n`);
  } catch {
    // The service has gone.
  }
}
