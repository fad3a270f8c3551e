// Becomes the confined command: takes its plan from the supervisor, gives up everything that the plan does not grant, and
// replaces itself with the command. Nothing of this process is left then but these restrictions.

import { writeFileSync } from 'node:fs';
import { type Filtered, filterOf } from './filter.ts';
import { CannotConfine, restrictFilesAndMore } from './landlock.ts';
import { addressOf, cString, cStrings, errno, libc, systemCall } from './libc.ts';
import { readLine, send } from './messages.ts';
import { LEFT_TO_THE_SERVICE, type Plan, TALK } from './plan.ts';
import { numberOf } from './system-calls.ts';

const PR_SET_PDEATHSIG = 1;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const SIGKILL = 9;
const SIGPIPE = 13;
const SIGXFSZ = 25;
const SIG_DFL = 0;
const RLIMIT_DATA = 2;
const RLIMIT_STACK = 3;
const RLIMIT_CORE = 4;
/** What the stack of a process may grow to, as most systems have it anyway. */
const STACK_BYTES = 8 * 1024 * 1024;
const CLOSE_RANGE = 436;
const CLOSE_RANGE_CLOEXEC = 4;
const CAPGET = process.arch === 'arm64' ? 90 : 125;
const CAPSET = process.arch === 'arm64' ? 91 : 126;
const CAPABILITIES_VERSION = 0x20080522;
const CAP_DAC_OVERRIDE = 1;
const HIGHEST_CAPABILITY = 63;
const SECCOMP = process.arch === 'arm64' ? 277 : 317;
const SET_FILTER = 1;
const WITH_LISTENER = 8;
/** While the supervisor is asked, only a signal that kills interrupts (Linux 5.19). */
const UNINTERRUPTED = 32;
const EINVAL = 22;
const ENOENT = 2;
const EACCES = 13;

/** Returns only by an exit of this process. */
export function launch(): never {
  try {
    become(JSON.parse(readLine(TALK)) as Plan & { supervisor: number });
  } catch (error) {
    const why = error instanceof CannotConfine ? error.message : 'the launcher failed';
    send(TALK, JSON.stringify({ kind: 'failed', why }), null);
  }
  process.exit(1);
}

function become(plan: Plan & { supervisor: number }): void {
  libc.setsid();
  // If the supervisor is killed, nobody could end the command.
  libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (process.ppid !== plan.supervisor) process.exit(1);
  goFirst();
  resetSignals();
  dropCapabilities();
  forbidNewPrivileges();
  if (plan.landlock > 0) restrictFilesAndMore(plan);
  // Of the open descriptors, the command gets only its input, its output and its standard error.
  if (systemCall(CLOSE_RANGE, TALK, 0xffffffff, CLOSE_RANGE_CLOEXEC) < 0)
    throw new CannotConfine('close_range is not there');
  const argv = cStrings(plan.argv);
  const env = cStrings(Object.entries(plan.env).map(([name, value]) => `${name}=${value}`));
  const program = cString(plan.program);
  limit(RLIMIT_CORE, 0);
  if (plan.memory !== null) limitStack();
  if (plan.filter) send(TALK, JSON.stringify({ kind: 'ready' }), installFilter(plan));
  // This is the last step, because our own runtime needs more than a command may have.
  if (plan.memory !== null) limit(RLIMIT_DATA, plan.memory);
  libc.execve(program, argv, env);
  throw new CannotConfine(whyNotRun(plan, errno()));
}

function whyNotRun({ program, read }: Plan, error: number): string {
  if (error === EACCES && read !== null)
    return `sandbox.read does not let ${program} be run; "runtime" in it grants what Node, Bun and Python need`;
  if (error === EACCES) return `${program} cannot be executed`;
  if (error === ENOENT) return `${program}, or the interpreter that it names, was not found`;
  return `${program} cannot be executed (error ${error})`;
}

/** If the machine runs out of memory, the command is ended before the service is. */
function goFirst(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '500');
  } catch {
    // Then the kernel chooses by itself.
  }
}

/** Signals that our runtime, or the supervisor, ignores would be ignored by the command, too. */
function resetSignals(): void {
  for (const signal of [SIGPIPE, SIGXFSZ, ...LEFT_TO_THE_SERVICE]) libc.signal(signal, SIG_DFL);
}

/**
 * Root keeps the one capability without which it could not read files of others, which Landlock limits all the same.
 * Without this, root could load modules, change the clock, or end any process.
 */
function dropCapabilities(): void {
  libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (let each = 0; each <= HIGHEST_CAPABILITY; each++)
    if (each !== CAP_DAC_OVERRIDE) libc.prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
  const header = new Uint32Array([CAPABILITIES_VERSION, 0]);
  const sets = new Uint32Array(6);
  if (systemCall(CAPGET, addressOf(header), addressOf(sets)) < 0)
    throw new CannotConfine('capabilities cannot be read');
  // Services often may not even ask to give up what they do not have: systemd's lists of system calls forbid it.
  if (sets.every(each => each === 0)) return;
  const kept = (sets[1] ?? 0) & (1 << CAP_DAC_OVERRIDE);
  const dropped = systemCall(CAPSET, addressOf(header), addressOf(new Uint32Array([kept, kept, 0, 0, 0, 0])));
  if (dropped < 0) throw new CannotConfine(`capabilities cannot be given up (error ${-dropped})`);
}

export function forbidNewPrivileges(): void {
  if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) !== 0)
    throw new CannotConfine('this kernel has no PR_SET_NO_NEW_PRIVS');
}

/** Returns the descriptor by which the supervisor is asked, or null if it is not. */
export function installFilter(plan: Filtered): number | null {
  const filter = filterOf(plan);
  const program = new BigUint64Array([BigInt(filter.length / 8), BigInt(addressOf(filter))]);
  const install = (flags: number) => systemCall(SECCOMP, SET_FILTER, flags, addressOf(program));
  let result = install(plan.asks ? WITH_LISTENER | UNINTERRUPTED : 0);
  if (result === -EINVAL && plan.asks) result = install(WITH_LISTENER);
  if (result < 0) throw new CannotConfine(`the seccomp filter was refused (error ${-result})`);
  return plan.asks ? result : null;
}

/** RLIMIT_DATA does not count the stack, whose limit every process may raise as far as this one lets it. */
function limitStack(): void {
  const both = new BigUint64Array(2);
  if (systemCall(numberOf('prlimit64') as number, 0, RLIMIT_STACK, 0, addressOf(both)) < 0)
    throw new CannotConfine('the limit of the stack cannot be read');
  const now = both[0] as bigint;
  limit(RLIMIT_STACK, now < STACK_BYTES ? Number(now) : STACK_BYTES);
}

function limit(what: number, value: number): void {
  const both = new BigUint64Array([BigInt(value), BigInt(value)]);
  if (libc.setrlimit(what, both) !== 0) throw new CannotConfine(`a limit cannot be set (error ${errno()})`);
}
