// Starts a server in a separate process, waits until it is ready, reads the CPU time it has used so far, and stops it.
// This works on Linux only, because CPU time comes from /proc.

import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';

export interface Server {
  url: string;
  pid: number;
  /** User and system time of all threads and children since the start. */
  cpuMicroseconds(): number;
  /** From the start of the process to its first answer that it is ready. */
  readyMs: number;
  /** The resident memory of the process and its children. */
  memoryMegabytes(): number;
  /** The largest resident memory so far. */
  peakMegabytes(): number;
  stop(): Promise<void>;
}

/** Under Valgrind a service takes half a minute on a machine that does nothing else. */
const READY_WITHIN_MS = 300_000;
const STOPPED_WITHIN_MS = 20_000;

/** Where a server answers, and the path that answers 200 once it is ready. */
export interface Reach {
  port: number;
  health: string;
}

/** The command gets the port from its environment. */
export async function startServer(
  command: string[],
  env: Record<string, string>,
  logFile: string,
  { port, health }: Reach = { port: freePort(), health: '/readyz' },
): Promise<Server> {
  const begun = performance.now();
  const log = fs.openSync(logFile, 'a');
  const child = Bun.spawn(command, {
    env: { ...process.env, ...env, TOOLGATE_HOST: '127.0.0.1', TOOLGATE_PORT: String(port) },
    stdin: 'ignore',
    stdout: log,
    stderr: log,
  });
  fs.closeSync(log);
  const server = {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    cpuMicroseconds: () => cpuMicroseconds(child.pid),
    memoryMegabytes: () => sum(family(child.pid).map(pid => megabytes(pid, 'VmRSS'))),
    peakMegabytes: () => sum(family(child.pid).map(pid => megabytes(pid, 'VmHWM'))),
    readyMs: 0,
    stop: () => stop(child),
  };
  if (await ready(`${server.url}${health}`, () => child.exitCode === null)) {
    server.readyMs = performance.now() - begun;
    return server;
  }
  await server.stop();
  throw new Error(
    `${command.join(' ')} did not get ready:\n${fs.readFileSync(logFile, 'utf8').slice(-4000)}`,
  );
}

/** The command of a script on this runtime, bound to the servers' core. */
export function script(...words: string[]): string[] {
  return onCore(0, [process.execPath, ...words]);
}

/** The command bound to one core if there are two: server and generator must not share theirs. */
export function onCore(which: 0 | 1, command: string[]): string[] {
  if (CORES.length < 2 || Bun.which('taskset') === null) return command;
  return ['taskset', '--cpu-list', String(CORES[which]), ...command];
}

export const CORES = allowedCores();

/** The numbers of the cores that may be used; in a container they need not begin at 0. */
function allowedCores(): number[] {
  const status = fs.readFileSync('/proc/self/status', 'utf8');
  const ranges = /^Cpus_allowed_list:\s*(.*)$/m.exec(status)?.[1]?.split(',') ?? [];
  return ranges.flatMap(range => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

export function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  listener.stop(true);
  return listener.port;
}

async function ready(url: string, alive: () => boolean): Promise<boolean> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (alive() && Date.now() < deadline) {
    const status = await fetch(url).then(
      response => response.status,
      () => 0,
    );
    if (status === 200) return true;
    await Bun.sleep(5);
  }
  return false;
}

async function stop(child: Bun.Subprocess): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOPPED_WITHIN_MS);
  await child.exited;
  clearTimeout(timer);
}

const MICROSECONDS_PER_TICK = 1_000_000 / clockTicks();

function clockTicks(): number {
  return Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout) || 100;
}

/** User and system time of a process and all its descendants, including the ended ones. */
export function cpuMicroseconds(root: number): number {
  const table = processTable();
  return sum(family(root, table).map(pid => table.get(pid)?.ticks ?? 0)) * MICROSECONDS_PER_TICK;
}

/** A process and all its descendants. */
function family(root: number, table = processTable()): number[] {
  const found = [root];
  for (const pid of found) {
    for (const [child, { parent }] of table) if (parent === pid) found.push(child);
  }
  return found;
}

function megabytes(pid: number, what: 'VmRSS' | 'VmHWM'): number {
  try {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${what}:\\s*(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

function processTable(): Map<number, { parent: number; ticks: number }> {
  const table = new Map<number, { parent: number; ticks: number }>();
  for (const name of fs.readdirSync('/proc').filter(entry => /^\d+$/.test(entry))) {
    const fields = statFields(name);
    // The fields are ppid, then utime, stime, and cutime, cstime of the children that have ended.
    if (fields) table.set(Number(name), { parent: fields[1]!, ticks: sum(fields.slice(11, 15)) });
  }
  return table;
}

/** The fields of /proc/<pid>/stat after the name, which may contain blanks and brackets itself. */
function statFields(pid: string): number[] | null {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
  } catch {
    return null;
  }
}

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
