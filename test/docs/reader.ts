// Somebody who follows a page: in a folder of their own, with one terminal for the service and one to type in. They
// have the executable, which starts five times as fast as the sources. Ports are this run's own; `npx` brings what
// `npm ci` installed.

import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { until } from '../support/faults.ts';
import { freshStore } from '../support/fresh-store.ts';
import { freePort } from '../support/port.ts';
import { BUN, ROOT, startService, type TestService } from '../support/service.ts';

/** Ports that pages name. */
const PORTS = ['8787', '8788', '9000', '9001', '2525'];
/** The database that pages name; every reader has one of their own. */
export const DATABASE = 'postgres://toolgate:toolgate@127.0.0.1:5432/toolgate';
/** A block may start several programs, one after the other. */
const COMMAND_MS = 180_000;
const LINKED = [
  'node_modules',
  'examples',
  'clients',
  'package.json',
  'tsconfig.json',
  'docs',
  'deploy',
  'packs',
];

const NPX = `#!/bin/sh
[ "$1" = -y ] && shift
case $1 in
  toolgate | bun) exec "$@" ;;
  @modelcontextprotocol/server-*) server=\${1%@*}; shift; exec '${BUN}' '${ROOT}'/node_modules/$server/dist/index.js "$@" ;;
  *) echo "npx $1: not here" >&2; exit 1 ;;
esac
`;

export class Reader {
  readonly folder = mkdtempSync(join(tmpdir(), 'toolgate-docs-'));
  readonly #executable: string;
  readonly #database: string;
  readonly #bin = mkdtempSync(join(tmpdir(), 'toolgate-bin-'));
  readonly #ports = new Map<string, number>();
  readonly #shell: Bun.Subprocess<'pipe', 'pipe', 'pipe'>;
  #service: TestService | null = null;
  #served = '';
  #output = '';
  #steps = 0;

  private constructor(executable: string, database: string, ports: number[]) {
    this.#executable = executable;
    this.#database = database;
    PORTS.forEach((port, index) => {
      this.#ports.set(port, ports[index] as number);
    });
    for (const name of LINKED) symlinkSync(join(ROOT, name), join(this.folder, name));
    this.#program('npx', NPX);
    symlinkSync(executable, join(this.#bin, 'toolgate'));
    this.#program('bun', `#!/bin/sh\nexec '${BUN}' "$@"\n`);
    this.#shell = Bun.spawn(['bash', '--norc'], {
      cwd: this.folder,
      detached: true,
      env: {
        PATH: this.#path,
        HOME: this.folder,
        PYTHONPATH: join(ROOT, 'clients/python'),
        PYTHONDONTWRITEBYTECODE: '1',
        // What a page leaves in the background ends with this shell, and the shell with the test.
        BUN_FEATURE_FLAG_NO_ORPHANS: '1',
        TOOLGATE_BASE_URL: `http://127.0.0.1:${this.#ports.get('8787')}`,
      },
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    this.#collect(this.#shell.stdout);
    this.#collect(this.#shell.stderr);
    // A command that fails in the middle of a block is a failure too.
    this.#shell.stdin.write(`trap 'FAILED=$?' ERR\n`);
  }

  static async begin(executable: string, database: string): Promise<Reader> {
    return new Reader(executable, database, await Promise.all(PORTS.map(freePort)));
  }

  get #path(): string {
    return `${this.#bin}:${process.env['PATH'] ?? ''}`;
  }

  get serving(): boolean {
    return this.#service !== null;
  }

  /** Everything that appeared in either terminal. */
  get seen(): string {
    return this.#output + this.#served + (this.#service?.output ?? '');
  }

  save(name: string, text: string): void {
    mkdirSync(dirname(join(this.folder, name)), { recursive: true });
    writeFileSync(join(this.folder, name), this.#here(text));
  }

  /** Starts the service, or starts it anew, with the settings in front of the command. */
  async serve(command = ''): Promise<void> {
    await this.#stop();
    const pairs = [...this.#here(command).matchAll(/\b(TOOLGATE_\w+)=("[^"]*"|\S+)/g)];
    const settings = Object.fromEntries(pairs.map(([, name, value]) => [name, value?.replaceAll('"', '')]));
    await this.#store();
    this.#service = await startService({
      program: [this.#executable],
      dataDir: this.folder,
      databaseUrl: '',
      env: {
        PATH: this.#path,
        TOOLGATE_DATA_DIR: 'data',
        TOOLGATE_ADMIN_TOKEN: '',
        TOOLGATE_MASTER_KEY: '',
        TOOLGATE_PORT: String(this.#ports.get('8787')),
        // A reader has a minute; a test has not.
        TOOLGATE_CHECKPOINT_INTERVAL: '1s',
        ...settings,
      },
    });
  }

  /** The store of a first start, already migrated; a page that has the service keep it elsewhere pays no heed to it. */
  async #store(): Promise<void> {
    const data = join(this.folder, 'data');
    if (existsSync(data)) return;
    mkdirSync(data, { mode: 0o700 });
    await freshStore('sqlite', data, ROOT);
  }

  /** What a block printed, and how it ended: not 0 if any command of it failed. */
  block(commands: string): Promise<{ printed: string; status: number }> {
    return this.#type(`FAILED=0; {\n${commands}\n} 2>&1; (exit $FAILED)`);
  }

  /** One command at the prompt, which knows how the one before ended. */
  command(command: string): Promise<{ printed: string; status: number }> {
    return this.#type(`{ (exit $STATUS)\n${command}\n} 2>&1`);
  }

  async close(): Promise<void> {
    // With all that it started, also what still runs in the foreground.
    process.kill(-this.#shell.pid, 'SIGKILL');
    await this.#shell.exited;
    await this.#stop();
    rmSync(this.folder, { recursive: true, force: true });
    rmSync(this.#bin, { recursive: true, force: true });
  }

  async #type(commands: string): Promise<{ printed: string; status: number }> {
    writeFileSync(join(this.folder, 'service.log'), this.#served + (this.#service?.output ?? ''));
    const from = this.#output.length;
    // It need not begin a line: a command, or what runs in the background, may have printed part of one before it.
    const mark = new RegExp(`--done-${++this.#steps}-(\\d+)--`);
    this.#shell.stdin.write(`${this.#here(commands)}\nSTATUS=$?; echo "--done-${this.#steps}-$STATUS--"\n`);
    await this.#shell.stdin.flush();
    await until(`the end of ${commands}`, () => mark.test(this.#output.slice(from)), COMMAND_MS);
    const told = this.#output.slice(from);
    const found = mark.exec(told) as RegExpExecArray;
    return { printed: told.slice(0, found.index).trim(), status: Number(found[1]) };
  }

  #here(text: string): string {
    // A group of an id may look like one.
    const ported = text.replace(/(?<![\w-])\d{4}(?![\w-])/g, port => String(this.#ports.get(port) ?? port));
    return ported.replaceAll(DATABASE, this.#database);
  }

  async #stop(): Promise<void> {
    if (this.#service === null) return;
    await this.#service.kill('SIGTERM');
    this.#served += this.#service.output;
    this.#service = null;
  }

  #program(name: string, text: string): void {
    writeFileSync(join(this.#bin, name), text);
    chmodSync(join(this.#bin, name), 0o755);
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) this.#output += decoder.decode(chunk, { stream: true });
  }
}
