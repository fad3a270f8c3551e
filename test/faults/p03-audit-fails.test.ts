// P3: while the audit log cannot be written there is a 500 and no verdict, nothing is left half done, and
// checks are answered again, with no restart, once it can. After a failed fsync, and after somebody has removed or
// replaced the files of the store, the process ends with 70. The mutants answer the verdict although its commit failed,
// take a failed fsync for any other error, and do not look at the files.

import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import {
  againstLog,
  canTrace,
  figures,
  fillLog,
  halfDone,
  inject,
  inTime,
  Received,
  until,
  verdictOf,
  withMutant,
} from '../support/faults.ts';
import {
  ANSWERED_WITHIN_MS,
  type Answer,
  CHECK_LIMIT_MS,
  type Load,
  startLoad,
  took,
} from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG, need } from '../support/need.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { onPath, type ServiceOptions, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';
import {
  type Begin,
  canMount,
  failedSync,
  failing,
  fillDisk,
  freezing,
  limitFiles,
  lockDatabase,
  mountSmallDisk,
  removeStore,
  renameTable,
  replaceStore,
  stopping,
  unmount,
} from './audit-faults.ts';

const CONNECTIONS = 16;
const REFUSALS = sized(96, 32, 16);
/** Verdicts before a fault. */
const BEFORE = sized(200, 200, 50);
const EXIT_STORE_BROKEN = 70;

const TRACED = need(canTrace(), 'strace, and the right to trace');
const LIMITED = need(onPath('prlimit'), 'prlimit');
const MOUNTED = need(canMount(), 'the right to mount a tmpfs');
const RECORDED_BY = ['src/store/**', 'src/guard/**'];
/** These take the ways of others through the store: a failing write, a full disk, a removed store. */
const RARE = ['a file size limit', 'no space for a write', 'a replaced store'];
const wanted = (await enginesWhenChanged(...RECORDED_BY)).includes('postgres');
const started = wanted ? await startPostgres() : null;
const server =
  wanted && need(started?.owned === true, 'a PostgreSQL that the test may stop') ? started : null;
afterAll(() => started?.close());

interface Fault {
  begin: Begin;
  /** No commit can succeed under it, so no verdict may come of a request sent under it. */
  total: boolean;
  /** A commit that failed left nothing: every entry has its verdict. Not so where the answer was cut off. */
  certain: boolean;
}

const SQLITE: Record<string, Fault | null> = {
  'a file size limit': LIMITED ? { begin: limitFiles, total: false, certain: true } : null,
  'no space for a write': TRACED
    ? { begin: failing('pwrite64:error=ENOSPC'), total: true, certain: true }
    : null,
  'a failing write': TRACED ? { begin: failing('pwrite64:error=EIO'), total: true, certain: true } : null,
  'a renamed audit table': { begin: renameTable, total: true, certain: true },
  'a database locked by another': { begin: lockDatabase, total: true, certain: true },
};

const POSTGRES: Record<string, Fault> =
  server === null
    ? {}
    : {
        'a stopped database': { begin: stopping(server), total: true, certain: false },
        ...(LONG && { 'a frozen database': { begin: freezing(server), total: true, certain: false } }),
        'a renamed audit table': { begin: renameTable, total: true, certain: true },
      };

describe('sqlite', () => {
  for (const [name, fault] of Object.entries(SQLITE)) {
    const tests = RARE.includes(name) ? whenChanged(...RECORDED_BY) : test;
    tests.skipIf(fault === null)(`${name}: no verdict, nothing half, recovery`, async () => {
      const found = await inTime(() => measure(`sqlite, ${name}`, fault!, sqliteStore()));
      expect(found).toMatchObject({ violations: 0, others: [], unanswered: 0, late: 0 });
      expect(found.refused).toBeGreaterThanOrEqual(REFUSALS);
    });
  }

  test.skipIf(!MOUNTED)('a full disk: no verdict, nothing half, recovery', async () => {
    const dataDir = mountSmallDisk() as string;
    try {
      const fault = { begin: fillDisk, total: false, certain: true };
      const found = await measure('sqlite, a full disk', fault, { dataDir, env: MANY });
      expect(found).toMatchObject({ violations: 0, others: [], unanswered: 0 });
      expect(found.refused).toBeGreaterThanOrEqual(REFUSALS);
    } finally {
      unmount(dataDir);
    }
  });

  // A limit on the log only: under failing writes SQLite gives up before the commit, where the mutant is right.
  whenChanged(...ANYWAY).skipIf(!LIMITED)('a mutant that answers anyway is found out', async () => {
    const fault = SQLITE['a file size limit']!;
    const found = await withMutant(
      ANYWAY,
      async root => (await measure('sqlite mutant', fault, sqliteStore(root))).violations,
    );
    expect(found).toBeGreaterThan(0);
  });

  test.skipIf(!TRACED)('a failed fsync: the process ends with 70 and no verdict', async () => {
    expect(await measureEnd('a failed fsync', failedSync, sqliteStore())).toBe(0);
  });

  whenChanged(...FORGIVING).skipIf(!TRACED)(
    'a failed fsync: a mutant that goes on is found out',
    async () => {
      const found = await withMutant(FORGIVING, root =>
        measureEnd('a failed fsync', failedSync, sqliteStore(root)),
      );
      expect(found).toBeGreaterThan(0);
    },
  );

  for (const [name, touch] of Object.entries({
    'a removed store': removeStore,
    'a replaced store': replaceStore,
  })) {
    const tests = RARE.includes(name) ? whenChanged(...RECORDED_BY) : test;
    tests(`${name}: the process ends with 70 and no verdict`, async () => {
      expect(await measureEnd(name, touch, sqliteStore())).toBe(0);
    });
  }

  whenChanged(...RECORDED_BY).skipIf(!TRACED)(
    'a log that cannot be moved: checks go on, and it is told once',
    async () => {
      const service = await startService(sqliteStore());
      const errors = async () =>
        Number(
          /^toolgate_store_move_errors_total (\d+)$/m.exec(
            (await service.request('GET', '/metrics')).text,
          )?.[1],
        );
      // SQLite writes to the file itself only when the log is moved.
      const end = await inject(
        service.process.pid,
        'pwrite64:error=EIO',
        join(service.dataDir, 'toolgate.db'),
      );
      await fillLog(service.databaseUrl);
      const received = new Received();
      const load = await keepChecking(service, answer => received.take(answer));
      await until('it failed more than once', async () => (await errors()) > 1);
      expect((await service.request('GET', '/readyz')).status).toBe(200);
      await end();
      await until('the log is moved', () => service.output.includes('can be moved into its file again'));
      await load.stop();
      expect(service.output.split('cannot be moved into its file')).toHaveLength(2);
      expect([...received.refusals]).toEqual([]);
      expect(await againstLog(service.databaseUrl, received.verdicts)).toMatchObject({ lost: 0, twice: 0 });
      await service.close();
    },
  );

  whenChanged(BLIND)('a removed store: a mutant that does not look is found out', async () => {
    const found = await withMutant([BLIND], root =>
      measureEnd('a removed store', removeStore, sqliteStore(root)),
    );
    expect(found).toBeGreaterThan(0);
  });
});

describe.skipIf(server === null)('postgres', () => {
  for (const [name, fault] of Object.entries(POSTGRES)) {
    test(`${name}: no verdict, nothing half, recovery`, async () => {
      const found = await inTime(async () => measure(`postgres, ${name}`, fault, await postgresStore()));
      expect(found).toMatchObject({ violations: 0, others: [], unanswered: 0, late: 0 });
      expect(found.refused).toBeGreaterThanOrEqual(REFUSALS);
    });
  }

  whenChanged(...ANYWAY)('a mutant that answers anyway is found out', async () => {
    const fault = POSTGRES['a renamed audit table']!;
    const found = await withMutant(
      ANYWAY,
      async root => (await measure('postgres mutant', fault, await postgresStore(root))).violations,
    );
    expect(found).toBeGreaterThan(0);
  });
});

// --- measuring -----------------------------------------------------------------------------------

/** Requests sent from here on, and answered until there, met the fault. */
interface Span {
  from: number;
  to: number;
}

async function measure(name: string, fault: Fault, options: ServiceOptions) {
  const service = await startService(options);
  const received = new Received();
  const answers: Answer[] = [];
  const load = await keepChecking(service, answer => {
    received.take(answer);
    answers.push(answer);
  });
  const span: Span = { from: 0, to: 0 };
  const recovery = await throughFault(service, fault, received, span).catch(async error => {
    await Promise.all([load.stop(), service.close()]);
    throw error;
  });
  await load.stop();
  const log = await againstLog(service.databaseUrl, received.verdicts);
  const half = await halfDone(service.databaseUrl);
  await service.close();
  const meanwhile = fault.total ? answers.filter(answer => under(span, answer)).length : 0;
  const given = answers.filter(answer => took(answer) > CHECK_LIMIT_MS && verdictOf(answer) === null).length;
  const orphans = fault.certain ? Math.max(0, log.unanswered - given) : 0;
  const violations = log.lost + log.twice + half + meanwhile + orphans;
  const late = answers.filter(answer => took(answer) > ANSWERED_WITHIN_MS).length;
  const others = [...received.refusals.keys()].filter(status => status !== 500);
  figures(`P3 ${name}`, {
    operations: answers.length,
    faults: 1,
    refused: refusedIn(received),
    slowestMs: Math.round(received.slowestMs),
    recoverySeconds: recovery.toFixed(2),
    violations,
  });
  const refused = refusedIn(received);
  return { violations, refused, others, unanswered: load.unanswered, late };
}

function refusedIn(received: Received): number {
  return received.refusals.get(500) ?? 0;
}

/** A verdict of a request that was sent and answered while the fault was there. */
function under({ from, to }: Span, answer: Answer): boolean {
  return answer.sentAt > from && answer.receivedAt < to && verdictOf(answer) !== null;
}

async function throughFault(
  service: TestService,
  fault: Fault,
  received: Received,
  span: Span,
): Promise<number> {
  await until('verdicts before the fault', () => received.verdicts.length > BEFORE);
  const end = await fault.begin(service);
  span.from = performance.now();
  const before = received.verdicts.length;
  // A mutant answers on: it has shown enough.
  const enough = () => refusedIn(received) >= REFUSALS || received.verdicts.length > before + 2000;
  try {
    await until('answers under the fault', enough);
  } finally {
    span.to = performance.now();
    await end();
  }
  const ended = performance.now();
  const sofar = received.verdicts.length;
  await until('verdicts after the fault', () => received.verdicts.length > sofar + 50);
  return (performance.now() - ended) / 1000;
}

async function keepChecking(service: TestService, answered: (answer: Answer) => void): Promise<Load> {
  const { key } = await service.newKey([
    { tool: 'allowed', action: 'allow' },
    { tool: 'asked', action: 'require_approval' },
  ]);
  const tools = ['allowed', 'asked', 'allowed', 'denied'];
  return startLoad({
    connections: CONNECTIONS,
    url: () => service.url,
    next: connection => ({
      token: key,
      body: JSON.stringify({
        serverName: 'files',
        toolName: tools[connection % tools.length],
        args: { connection },
      }),
    }),
    answered,
  });
}

/** `begin` does what the process must not survive. If the store is still there, its log has every verdict. */
async function measureEnd(name: string, begin: Begin, options: ServiceOptions): Promise<number> {
  const service = await startService(options);
  const received = new Received();
  let late = 0;
  let failingSince = Number.POSITIVE_INFINITY;
  const load = await keepChecking(service, answer => {
    received.take(answer);
    if (verdictOf(answer) !== null && answer.sentAt > failingSince) late++;
  });
  await until('verdicts before the fault', () => received.verdicts.length > BEFORE);
  const end = await begin(service).catch(() => async () => {});
  failingSince = performance.now();
  // A mutant that answers on has shown enough.
  const ended = () => service.process.exitCode !== null || late > 50;
  // Another one's has no end.
  await until('the end of the process', ended, options.root ? 3000 : 60_000).catch(() => {});
  const exitCode = service.process.exitCode;
  await end();
  const stopped = load.stop();
  const { lost, twice } =
    begin === failedSync ? await againstLog(service.databaseUrl, received.verdicts) : NONE;
  await service.close();
  await stopped;
  const violations = lost + twice + late + (exitCode === EXIT_STORE_BROKEN ? 0 : 1);
  const operations = received.verdicts.length;
  figures(`P3 sqlite${options.root ? ' mutant' : ''}, ${name}`, {
    operations,
    faults: 1,
    exitCode: exitCode ?? 'none',
    violations,
  });
  return violations;
}

const NONE = { lost: 0, twice: 0 };

// --- stores and mutants --------------------------------------------------------------------------

const MANY = { TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1000000' };

function sqliteStore(root?: string): ServiceOptions {
  return { env: MANY, ...(root && { root }) };
}

async function postgresStore(root?: string): Promise<ServiceOptions> {
  return {
    databaseUrl: await (server as TestPostgres).createDatabase(),
    env: MANY,
    ...(root && { root }),
  };
}

/** Nobody looks whether the files are still there. */
const BLIND: Patch = {
  file: 'src/store/engine/sqlite-files.ts',
  find: 'verify(): void {',
  replace: 'verify(): void { return;',
};

/** A verdict was made; that its commit failed is only logged. */
const ANYWAY: Patch[] = [
  {
    file: 'src/guard/check/commit.ts',
    find: 'let decided: DecidedGroup<Result>;',
    replace: 'let decided: DecidedGroup<Result> = { results: [], afterCommit: () => {} };',
  },
  {
    file: 'src/guard/check/commit.ts',
    find: 'this.#work.decideGroup(tx, requests),',
    replace: 'this.#work.decideGroup(tx, requests).then(done => (decided = done)),',
  },
  {
    file: 'src/guard/check/commit.ts',
    find: 'if (error instanceof StoreError) throw error;',
    replace: `if (decided.results.length === 0) throw error;
      group.forEach((each, index) => this.#answer(each, decided.results[index] as Outcome<Result>));
      return null;`,
  },
];

const FORGIVING: Patch[] = [
  {
    file: 'src/store/engine/sqlite.ts',
    find: 'if (error instanceof FatalStoreError) this.#broken(error);',
    replace: '',
  },
  { file: 'src/store/engine/sqlite.ts', find: 'this.#onFatal(fatal);', replace: '' },
];
