// The real service in a process of its own, on either engine, for tests that speak to it over HTTP. Starts
// from the tree's own source, or from a mutant of it.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Policy, Rule } from '../../src/core/policy/policy.ts';
import { freshStore } from './fresh-store.ts';
import { need, PROGRAM } from './need.ts';
import { sharedPostgres } from './postgres.ts';

export const ROOT = resolve(import.meta.dir, '../..');
export const BUN = process.execPath;
export const ADMIN_TOKEN = 'admin-token-for-tests-0123456789abcdef';
const START_MS = 60_000;
/** Longer than this, nobody waits for the last words of a process that has ended: a child of it may hold the pipe. */
const LAST_WORDS_MS = 10_000;

export type Engine = 'sqlite' | 'postgres';

/** Both engines; PostgreSQL is left out loudly where there is none. */
export async function engines(): Promise<Engine[]> {
  const postgres = await sharedPostgres();
  return need(postgres !== null, 'PostgreSQL (npm package, system binaries or TOOLGATE_TEST_PG_URL)')
    ? ['sqlite', 'postgres']
    : ['sqlite'];
}

export interface ServiceOptions {
  engine?: Engine;
  /** An existing store, to start again on; else a fresh one. */
  databaseUrl?: string;
  dataDir?: string;
  env?: Record<string, string>;
  /** Root of the source tree to run: the project's own, or a mutant's. */
  root?: string;
  /** What to start in place of the source tree: the executable, say. */
  program?: string[];
  /** The source in any case: the test is about what `npm test` has made cheap (test/support/program.ts). */
  source?: boolean;
  /** Options of `serve`. */
  args?: string[];
  /** A command to run the service under, such as strace. */
  wrap?: string[];
}

export interface Reply {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came back
  body: any;
  text: string;
}

/** What a process said, and when it is all there. */
interface Output {
  text: string;
  ended: Promise<unknown>;
}

const lastWords = ({ ended }: Output): Promise<unknown> => Promise.race([ended, Bun.sleep(LAST_WORDS_MS)]);

/**
 * The machine stood still for seconds: another guest had it, or its disk was busy. The service gives up then, as it
 * promises: a check after 2.9 s, a start on PostgreSQL after 2 s without an answer, by the clock on the wall. A test can
 * neither keep the machine from standing still nor give the service more time, for it would be another program. So what
 * was given up for want of time, and nothing else, is asked once more, and this line tells that it was.
 */
export function stalled(what: string): void {
  console.warn(`\n*** STALLED: the machine took too long (${what}); asked once more ***\n`);
}

/** Nothing is given up sooner for want of time. */
const GIVEN_UP_MS = 1900;

/** How many mutants are being measured: of those, a check that is given up may be just what is looked for. */
export const measured = { mutants: 0 };

const wasGivenUp = ({ status }: Reply): boolean => status === 500;

/** Asks once more where a request was given up for want of time; who wants that gets it a second time. */
export async function unlessStalled<T>(ask: () => Promise<T>, failed: (answer: T) => boolean): Promise<T> {
  const begun = performance.now();
  const answer = await ask();
  const took = performance.now() - begun;
  if (!failed(answer) || took <= GIVEN_UP_MS || measured.mutants > 0) return answer;
  stalled(`a request was given up after ${Math.round(took)} ms`);
  return ask();
}

export class TestService {
  readonly url: string;
  readonly dataDir: string;
  readonly databaseUrl: string;
  readonly process: Bun.Subprocess;
  readonly #output: Output;
  readonly #ownsData: boolean;

  constructor(
    url: string,
    dataDir: string,
    databaseUrl: string,
    child: Bun.Subprocess,
    output: Output,
    ownsData: boolean,
  ) {
    this.url = url;
    this.dataDir = dataDir;
    this.databaseUrl = databaseUrl;
    this.process = child;
    this.#output = output;
    this.#ownsData = ownsData;
  }

  /** Everything written to standard output and standard error so far. */
  get output(): string {
    return this.#output.text;
  }

  async request(method: string, path: string, init: RequestInit = {}): Promise<Reply> {
    const response = await fetch(this.url + path, { redirect: 'manual', ...init, method });
    const text = await response.text();
    let body: unknown = text;
    try {
      body = JSON.parse(text);
    } catch {}
    return { status: response.status, headers: response.headers, body, text };
  }

  json(method: string, path: string, token: string | null, body?: unknown): Promise<Reply> {
    const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
    const init: RequestInit = { headers };
    if (body !== undefined) {
      headers['Content-Type'] = 'application/json';
      init.body = typeof body === 'string' ? body : JSON.stringify(body);
    }
    const ask = () => this.request(method, path, init);
    // A spare session harms nothing, and what is read may be read again.
    return method === 'GET' || path === '/v1/sessions' ? unlessStalled(ask, wasGivenUp) : ask();
  }

  admin(method: string, path: string, body?: unknown): Promise<Reply> {
    return this.json(method, `/admin/v1${path}`, ADMIN_TOKEN, body);
  }

  check(
    token: string,
    serverName: string,
    toolName: string,
    more: Record<string, unknown> = {},
  ): Promise<Reply> {
    const body = { serverName, toolName, ...more };
    return unlessStalled(() => this.json('POST', '/v1/check', token, body), wasGivenUp);
  }

  /** A policy of these rules, with what else it has, and a key attached to it. */
  async newKey(
    rules: Rule[],
    more: Record<string, unknown> = {},
    rest: Pick<Policy, 'results'> = {},
  ): Promise<{ key: string; keyId: string; policyId: string; policyName: string }> {
    const policyName = `policy-${crypto.randomUUID()}`;
    const policy = await this.admin('POST', '/policies', { name: policyName, rules, ...rest });
    if (policy.status !== 201) throw new Error(`policy refused: ${policy.text}`);
    const key = await this.admin('POST', '/keys', { name: 'test', policyId: policy.body.id, ...more });
    if (key.status !== 201) throw new Error(`key refused: ${key.text}`);
    return { key: key.body.key, keyId: key.body.id, policyId: policy.body.id, policyName };
  }

  /** Its exit code, once all that it wrote is in `output`. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number> {
    this.process.kill(signal);
    const code = await this.process.exited;
    await lastWords(this.#output);
    return code;
  }

  /** Stops cleanly and removes what it wrote. */
  async close(): Promise<void> {
    await this.kill('SIGTERM');
    if (this.#ownsData) rmSync(this.dataDir, { recursive: true, force: true });
  }
}

/** A test that fails before it stops its service must not leave it behind. */
const CHILDREN = new Set<Bun.Subprocess>();
process.on('exit', () => {
  for (const child of CHILDREN) child.kill('SIGKILL');
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));

/** A start that finds PostgreSQL silent for two seconds ends, as it should. */
const SILENT = /Connection timeout after|did not answer within|No database connection became free/;

/** Starts once more where PostgreSQL was silent, see stalled(); who wants such an end gets it a second time. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'toolgate-test-'));
  const databaseUrl = options.databaseUrl ?? (await storeFor(options, dataDir));
  try {
    return await startOnce(options, dataDir, databaseUrl);
  } catch (error) {
    if (!SILENT.test((error as Error).message)) throw error;
    stalled('a start found PostgreSQL silent');
    return startOnce(options, dataDir, databaseUrl);
  }
}

async function startOnce(
  options: ServiceOptions,
  dataDir: string,
  databaseUrl: string,
): Promise<TestService> {
  const program = options.program ?? programOf(options);
  const child = Bun.spawn([...(options.wrap ?? []), ...program, 'serve', ...(options.args ?? [])], {
    cwd: dataDir,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: dataDir,
      TOOLGATE_PORT: '0',
      TOOLGATE_DATA_DIR: dataDir,
      TOOLGATE_DATABASE_URL: databaseUrl,
      TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
      TOOLGATE_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      // Tests read what a person reads on a terminal, but through a pipe.
      TOOLGATE_PRINT_SECRETS: 'always',
      ...options.env,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  CHILDREN.add(child);
  child.exited.then(() => CHILDREN.delete(child));
  const output: Output = { text: '', ended: Promise.resolve() };
  output.ended = Promise.all([collect(child.stdout, output), collect(child.stderr, output)]);
  const printed = await ready(child, output);
  // A service prints its public address. One that nothing here answers to is known by the port.
  const { TOOLGATE_PORT: port = '0', TOOLGATE_PUBLIC_URL: publicUrl = '' } = options.env ?? {};
  const elsewhere = port !== '0' && publicUrl !== '' && !/^https?:\/\/(localhost|127\.)/.test(publicUrl);
  const url = elsewhere ? `http://127.0.0.1:${port}` : printed;
  return new TestService(url, dataDir, databaseUrl, child, output, options.dataDir === undefined);
}

/** A program that is not of this tree may have other migrations. */
function storeFor({ engine = 'sqlite', root, program }: ServiceOptions, dataDir: string): Promise<string> {
  return freshStore(engine, dataDir, program === undefined ? (root ?? ROOT) : null);
}

/** The program as `npm test` has made it, or the source. */
export function programOf({ root, source = false }: ServiceOptions = {}): string[] {
  const made = process.env[PROGRAM];
  if (made !== undefined && root === undefined && !source) return [made];
  return [BUN, join(root ?? ROOT, 'src/cli/main.ts')];
}

/** The output of a service that must not start. */
export async function failToStart(options: ServiceOptions): Promise<string> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'toolgate-test-'));
  let service: TestService;
  try {
    service = await startService({ ...options, dataDir });
  } catch (error) {
    return (error as Error).message;
  } finally {
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  }
  await service.close();
  throw new Error('the service started, and it must not have');
}

export async function collect(stream: ReadableStream<Uint8Array>, output: { text: string }): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) output.text += decoder.decode(chunk, { stream: true });
}

async function ready(child: Bun.Subprocess, output: Output): Promise<string> {
  const end = Date.now() + START_MS;
  while (Date.now() < end) {
    if (child.exitCode !== null || child.signalCode !== null) {
      await lastWords(output);
      throw new Error(`the service ended with ${child.exitCode ?? child.signalCode}:\n${output.text}`);
    }
    const url = /serves on (https?:\S+)/.exec(output.text)?.[1];
    if (url !== undefined) return url;
    await Bun.sleep(5);
  }
  child.kill('SIGKILL');
  throw new Error(`the service did not start within ${START_MS} ms:\n${output.text}`);
}

export function onPath(command: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some(folder => existsSync(join(folder, command)));
}
