// What the promise tests share: seeded randomness, the store read from outside the service, verdicts compared with the
// audit log, system-call faults, and the one line of figures that each test prints.

import { Database } from 'bun:sqlite';
import { appendFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { type Answer, took } from './load.ts';
import { mutant, type Patch } from './mutant.ts';
import { collect, measured, onPath, stalled } from './service.ts';

export { random } from './random.ts';

/** Printed with every figure; set TOOLGATE_TEST_SEED to run the same choices again. */
export const SEED = Number(process.env['TOOLGATE_TEST_SEED'] ?? Date.now() % 1_000_000);

/** `operations` were tried under so many `faults`; anything else is worth knowing beside the violations. */
export type Figures = Record<string, string | number> & { operations: number; violations: number };

/**
 * One line for people and, where TOOLGATE_TEST_FIGURES names a file, one for `npm run promises`. The text before
 * the colon starts with the promise's number, names the engine, and has the word `mutant` where one was measured.
 */
export function figures(where: string, values: Figures): void {
  const text = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  console.log(`${where}: ${text.join(' ')}`);
  const file = process.env['TOOLGATE_TEST_FIGURES'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ where, ...values })}\n`);
}

export function newDataDir(): string {
  return mkdtempSync(join(tmpdir(), 'toolgate-test-'));
}

/** Runs a measurement on a mutant's source. */
export async function withMutant<T>(patches: Patch[], work: (root: string) => Promise<T>): Promise<T> {
  const broken = mutant(...patches);
  measured.mutants++;
  try {
    return await work(broken.root);
  } finally {
    measured.mutants--;
    broken.remove();
  }
}

/**
 * What a measurement found whose limits of time were kept. What was late is measured once more, with a loud line: see
 * stalled() for why that cannot be done without. A service that is slow is late both times.
 */
export async function inTime<T extends { late: number }>(measure: () => Promise<T>): Promise<T> {
  const found = await measure();
  if (found.late === 0) return found;
  stalled(`${found.late} were late`);
  return measure();
}

/**
 * Polls for a condition; a time-out is an error that says what never came. A busy machine makes many seconds of one, so
 * only what never comes takes that long.
 */
export async function until(
  what: string,
  reached: () => boolean | Promise<boolean>,
  withinMs = 60_000,
): Promise<void> {
  const end = performance.now() + withinMs;
  // What comes soon is seen soon; what takes long is not asked for all the time, which would slow it down.
  for (let pause = 5; !(await reached()); pause = Math.min(pause * 1.2, 50)) {
    if (performance.now() > end) throw new Error(`never happened within ${withinMs} ms: ${what}`);
    await Bun.sleep(pause);
  }
}

/** Statements from outside the service, the rows of the last one returned. */
export async function sql<T>(databaseUrl: string, ...statements: string[]): Promise<T[]> {
  const store = new StoreFromOutside(databaseUrl);
  try {
    return await store.rows<T>(...statements);
  } finally {
    await store.close();
  }
}

/** The same for a test that asks often: to connect to PostgreSQL takes 12 ms of CPU. A file of SQLite is not held open. */
export class StoreFromOutside {
  readonly #databaseUrl: string;
  #server: SQL | null = null;

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
  }

  async rows<T>(...statements: string[]): Promise<T[]> {
    if (this.#databaseUrl.startsWith('sqlite:'))
      return sqliteRows(this.#databaseUrl.slice('sqlite:'.length), statements);
    this.#server ??= new SQL(this.#databaseUrl, { max: 1 });
    let rows: T[] = [];
    for (const statement of statements) rows = [...((await this.#server.unsafe(statement)) as T[])];
    return rows;
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }
}

function sqliteRows<T>(path: string, statements: string[]): T[] {
  const file = new Database(path);
  try {
    file.exec('PRAGMA busy_timeout = 60000');
    let rows: unknown[] = [];
    for (const statement of statements) {
      // A statement that is not ended keeps the file open after `close`.
      using prepared = file.prepare(statement);
      rows = prepared.all();
    }
    return rows as T[];
  } finally {
    file.close();
  }
}

/** SQLite: more pages than a service leaves in its write-ahead log, which is 8192. */
const FILLER_BYTES = 9000 * 4096;

/** Makes the write-ahead log of a running service so long that it is moved into the file after some commits. */
export async function fillLog(databaseUrl: string): Promise<void> {
  await sql(
    databaseUrl,
    'PRAGMA wal_autocheckpoint = 0',
    'CREATE TABLE IF NOT EXISTS filler (bytes blob)',
    'DELETE FROM filler',
    `INSERT INTO filler VALUES (zeroblob(${FILLER_BYTES}))`,
  );
}

export interface Verdict {
  decision: string;
  toolCallId: string;
  referenceId?: string;
}

/** The verdict in an answer, or null when it holds none. */
export function verdictOf({ text }: { text: string }): Verdict | null {
  try {
    const body = JSON.parse(text);
    return typeof body?.decision === 'string' ? body : null;
  } catch {
    return null;
  }
}

/** Every verdict that clients received, and what else they got. */
export class Received {
  readonly verdicts: Verdict[] = [];
  readonly refusals = new Map<number, number>();
  slowestMs = 0;

  take(answer: Answer): void {
    const verdict = verdictOf(answer);
    if (verdict !== null) this.verdicts.push(verdict);
    else this.refusals.set(answer.status, (this.refusals.get(answer.status) ?? 0) + 1);
    this.slowestMs = Math.max(this.slowestMs, took(answer));
  }
}

export interface Comparison {
  /** Verdicts that the log does not have, or has with another decision. */
  lost: number;
  /** Verdicts with more than one entry, or entries with one id. */
  twice: number;
  /** Entries that no client received as a verdict. */
  unanswered: number;
}

export async function againstLog(databaseUrl: string, verdicts: readonly Verdict[]): Promise<Comparison> {
  const entries = await sql<{ id: string; decision: string }>(databaseUrl, 'SELECT id, decision FROM audit');
  const log = new Map(entries.map(({ id, decision }) => [id, decision]));
  const received = new Set(verdicts.map(each => each.toolCallId));
  return {
    lost: verdicts.filter(each => log.get(each.toolCallId) !== each.decision).length,
    twice: entries.length - log.size + (verdicts.length - received.size),
    unanswered: [...log.keys()].filter(id => !received.has(id)).length,
  };
}

const HALVES = [
  'FROM approvals a LEFT JOIN audit e ON e.id = a.tool_call_id WHERE e.id IS NULL',
  "FROM audit e LEFT JOIN approvals a ON a.id = e.reference_id WHERE e.decision = 'pending' AND a.id IS NULL",
  'FROM events v LEFT JOIN approvals a ON a.id = v.reference_id WHERE a.id IS NULL',
  'FROM approvals a LEFT JOIN events v ON v.reference_id = a.id WHERE v.id IS NULL',
  'FROM notifications n LEFT JOIN approvals a ON a.id = n.approval_id WHERE a.id IS NULL',
  'FROM approvals a LEFT JOIN notifications n ON n.approval_id = a.id WHERE n.id IS NULL',
];

/** The number of rows of pending calls whose other rows are missing. */
export async function halfDone(databaseUrl: string): Promise<number> {
  const counts = HALVES.map(half => `(SELECT count(*) ${half})`).join(' + ');
  const [row] = await sql<{ half: number }>(databaseUrl, `SELECT ${counts} AS half`);
  return Number(row?.half);
}

// --- system-call faults --------------------------------------------------------------------------

/** Whether this process may trace one it started. */
export function canTrace(): boolean {
  if (!onPath('strace')) return false;
  return Bun.spawnSync(['strace', '-o', '/dev/null', 'true'], { stderr: 'ignore' }).exitCode === 0;
}

/** Makes system calls of a running process fail until the returned function is called; only those on a file, if one is named. */
export async function inject(pid: number, fault: string, file?: string): Promise<() => Promise<void>> {
  const onFile = file === undefined ? [] : ['-P', file];
  const tracer = Bun.spawn(
    ['strace', '-f', '-o', '/dev/null', ...onFile, '-e', `inject=${fault}`, '-p', String(pid)],
    {
      stderr: 'pipe',
      stdout: 'ignore',
    },
  );
  // Told once every thread is held; a thread by itself shows its tracer before that, and others still run.
  const attached = new RegExp(`Process ${pid} attached`);
  const told = { text: '' };
  const reading = collect(tracer.stderr, told);
  await until('strace attached', async () => {
    if (tracer.exitCode === null) return attached.test(told.text);
    await reading;
    throw new Error(`strace: ${told.text}`);
  });
  return async () => {
    tracer.kill('SIGINT');
    await tracer.exited;
  };
}
