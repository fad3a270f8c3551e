// A person's machine with one coding agent on it, for the tests that run the real ones: a home folder with a project in it,
// a service of ours, the settings that `toolgate connect` writes, and a model on loopback (model.ts) that says what the
// agent shall do. TOOLGATE_TEST_AGENTS names the folder where .ci/agents has installed the agents.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ClientId } from '../../src/core/clients/client.ts';
import { sql } from '../support/faults.ts';
import { ADMIN_TOKEN, collect, programOf, startService, type TestService } from '../support/service.ts';
import { type Call, type Dialect, deadEnd, Model, type Offered } from './model.ts';

const FOLDER = process.env['TOOLGATE_TEST_AGENTS'] ?? '';
export const programAt = (name: string): string => join(FOLDER, 'node_modules/.bin', name);

/** Whether an agent is there. Whether a registry can be reached is nothing that a change here can break. */
export function hasAgent(name: string): boolean {
  const found = FOLDER !== '' && existsSync(programAt(name));
  if (!found) console.warn(`\n*** SKIPPED: the real ${name} (TOOLGATE_TEST_AGENTS, .ci/agents) ***\n`);
  return found;
}

const NAMESPACE = ['unshare', '--map-root-user', '--mount', 'sh', '-c'];

/** Whether ownMachine() can be had. Some systems and containers let nobody have a namespace. */
export function hasNamespaces(): boolean {
  const found = Bun.spawnSync([...NAMESPACE, 'mount --bind /tmp /etc'], { stderr: 'ignore' }).success;
  if (!found)
    console.warn('\n*** SKIPPED, because this machine has no namespaces: settings of the machine ***\n');
  return found;
}

const PROMPT = 'Do what has to be done.';

export interface Agent {
  id: ClientId;
  program: string;
  dialect: Dialect;
  /** Its arguments, and what it needs to find the model. */
  args(prompt: string): string[];
  flags?(model: string): string[];
  /** Files of the home folder that a person would have. */
  files?: Record<string, string>;
  env(model: string): Record<string, string>;
}

export interface Entry {
  name: string;
  decision: 'allow' | 'deny' | 'pending';
  reference: string | null;
}

export class Workplace {
  readonly agent: Agent;
  service: TestService;
  readonly home: string;
  readonly project: string;
  readonly #deadEnd: Awaited<ReturnType<typeof deadEnd>>;
  /** What every program here is started by: see ownMachine(). */
  #wrap: string[] = [];

  static async open(agent: Agent): Promise<Workplace> {
    return new Workplace(agent, await startService(), await deadEnd());
  }

  private constructor(agent: Agent, service: TestService, network: Awaited<ReturnType<typeof deadEnd>>) {
    this.agent = agent;
    this.service = service;
    this.#deadEnd = network;
    this.home = mkdtempSync(join(tmpdir(), 'toolgate-agent-'));
    this.project = join(this.home, 'projects/app');
    mkdirSync(this.project, { recursive: true });
    for (const [path, text] of Object.entries(agent.files ?? {})) this.write(path, text);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.home, path)), { recursive: true });
    writeFileSync(join(this.home, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.home, path), 'utf8');
  }

  /** A file's text, or null if there is none. */
  find(path: string): string | null {
    return this.has(path) ? this.read(path) : null;
  }

  has(path: string): boolean {
    return existsSync(join(this.home, path));
  }

  /** The environment of everything that runs here. What is not on loopback is asked of a proxy that lets nothing through. */
  get env(): Record<string, string> {
    const proxy = { HTTP_PROXY: this.#deadEnd.url, HTTPS_PROXY: this.#deadEnd.url };
    return { PATH: process.env['PATH'] ?? '', HOME: this.home, ...proxy, NO_PROXY: '127.0.0.1,localhost' };
  }

  /** Who was asked for that is not on this machine. */
  get wanted(): string[] {
    return this.#deadEnd.wanted;
  }

  async toolgate(words: string[], input = ''): Promise<string> {
    const child = Bun.spawn([...this.#wrap, ...programOf(), ...words], {
      cwd: this.project,
      env: { ...this.env, TOOLGATE_BASE_URL: this.service.url, TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN },
      stdin: new Blob([input]),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, err] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    if ((await child.exited) !== 0) throw new Error(`toolgate ${words.join(' ')}: ${err}`);
    return out;
  }

  /** The coding pack for the projects of this person, after rules of their own, and the settings that `connect` writes. */
  async connect(ownRules = ''): Promise<void> {
    const pack = await this.toolgate(['policies', 'new', '--from', 'coding', '--print']);
    const policy = pack
      .replaceAll('/srv/project', dirname(this.project))
      .replace('\nrules:\n', `\nrules:\n${ownRules}`);
    await this.toolgate(['policies', 'apply', '-'], policy);
    await this.toolgate(['connect', this.agent.id, '--policy', 'coding', '--yes']);
  }

  /** From now on, programs here see a copy of `/etc` that they may change, where settings of the whole machine are. */
  ownMachine(): void {
    const etc = join(this.home, 'etc');
    Bun.spawnSync(['cp', '-a', '/etc', etc], { stderr: 'ignore' });
    this.#wrap = [...NAMESPACE, 'mount --bind "$0" /etc && exec "$@"', etc];
  }

  /** Does something while the service is away. It comes back at the same address, with the same store. */
  async withoutService(work: () => Promise<void>): Promise<void> {
    const { url, dataDir, databaseUrl } = this.service;
    await this.service.kill();
    await work();
    const env = { TOOLGATE_PORT: new URL(url).port };
    this.service = await startService({ dataDir, databaseUrl, env });
  }

  /** What was recorded of the agent's calls, the oldest first. */
  audit(): Promise<Entry[]> {
    const columns = `server_name || '__' || tool_name AS name, decision, reference_id AS reference`;
    return sql<Entry>(this.service.databaseUrl, `SELECT ${columns} FROM audit ORDER BY id`);
  }

  async approve(reference: string | null): Promise<void> {
    const answer = await this.service.admin('POST', `/approvals/${reference}/resolve`, { action: 'approve' });
    if (answer.status !== 200) throw new Error(`not approved: ${answer.text}`);
  }

  start(options: { prompt?: string | undefined; args?: string[] | undefined } = {}): Run {
    const model = new Model(this.agent.dialect);
    const flags = this.agent.flags?.(model.url) ?? [];
    const args = [...this.agent.args(options.prompt ?? PROMPT), ...flags, ...(options.args ?? [])];
    const child = Bun.spawn([...this.#wrap, programAt(this.agent.program), ...args], {
      cwd: this.project,
      env: { ...this.env, ...this.agent.env(model.url) },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const output = { text: '' };
    for (const stream of [child.stdout, child.stderr]) collect(stream, output);
    return new Run(this, model, child, output);
  }

  async close(): Promise<void> {
    this.#deadEnd.close();
    await this.service.close();
    for (const folder of [this.home, this.service.dataDir]) rmSync(folder, { recursive: true, force: true });
  }
}

/** One run of the agent: the test is its model. */
export class Run {
  readonly model: Model;
  readonly #place: Workplace;
  readonly #child: Bun.Subprocess;
  readonly #ended: Promise<never>;

  constructor(place: Workplace, model: Model, child: Bun.Subprocess, output: { text: string }) {
    this.#place = place;
    this.model = model;
    this.#child = child;
    this.#ended = child.exited.then(code => {
      throw new Error(`the agent ended with ${code}:\n${output.text}`);
    });
    this.#ended.catch(() => {});
  }

  /** Until the agent asks its model what to do. */
  asked(): Promise<void> {
    return this.model.asked(this.#ended);
  }

  /** Has the agent make a call: what came of it, and the entries that it left. */
  async call(made: Call): Promise<{ result: string; entries: Entry[] }> {
    await this.asked();
    const before = (await this.#place.audit()).length;
    const result = await this.made(made);
    return { result, entries: (await this.#place.audit()).slice(before) };
  }

  /** The same where nobody keeps records. */
  async made(made: Call): Promise<string> {
    return (await this.model.call(this.#ended, [made])).join('\n');
  }

  get offered(): Offered[] {
    return this.model.offered;
  }

  /** The model has nothing more to ask for, and the agent ends by itself. */
  async finish(): Promise<number> {
    await this.model.finish(this.#ended);
    const code = await this.#child.exited;
    await this.model.close();
    return code;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#child.exited;
    await this.model.close();
  }
}
