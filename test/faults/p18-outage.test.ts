// P18: a database outage is bounded and fails closed. The database is stopped under load, the link to it is lost
// (nothing is closed, nothing answers), it takes no more connections, or everything that is asked of it waits until
// the pool is exhausted: meanwhile nobody gets a verdict without an entry, everybody is answered in time, also with
// a credential that was not seen before, and checks are allowed again, with no restart, soon after. The mutants
// allow what they cannot record, and wait for ever.

import { afterAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import {
  againstLog,
  figures,
  inTime,
  Received,
  sql,
  until,
  verdictOf,
  withMutant,
} from '../support/faults.ts';
import { Link } from '../support/link.ts';
import { ANSWERED_WITHIN_MS, type Answer, type Load, startLoad, took } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG, need } from '../support/need.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { startService, type TestService } from '../support/service.ts';
import { sized, whenChanged } from '../support/when-changed.ts';

const CONNECTIONS = 16;
/** Credentials that are first used while the database is out. */
const SESSIONS = LONG ? 200 : 60;
/** At least; then until some have been refused. */
const OUTAGE_MS = sized(10_000, 1000, 300);
/** A lost link shows after as long as a check may take. */
const LOST_MS = LONG ? 10_000 : 4000;
const REFUSALS = LONG ? 2 * CONNECTIONS : CONNECTIONS;
const ROLE = 'toolgate_service';
/** The one that runs whatever has changed. */
const QUICK = 'a stopped database';

const started = await startPostgres();
const server = need(started?.owned === true, 'a PostgreSQL that the test may stop') ? started : null;
if (server !== null) await sql(server.url, `CREATE ROLE ${ROLE} LOGIN`);
afterAll(() => started?.close());

interface Store {
  database: TestPostgres;
  link: Link;
  /** As a superuser, and not by the link. */
  url: string;
}

/** Begins an outage and returns what ends it. */
type Outage = (store: Store) => Promise<() => Promise<unknown>>;

const OUTAGES: Record<string, Outage> = {
  'a lost link': async ({ link }) => {
    link.lose();
    return async () => link.mend();
  },
  'a stopped database': async ({ database }) => {
    await database.stop('immediate');
    return () => database.start();
  },
  'no free connection': async ({ url }) => {
    await sql(url, `ALTER ROLE ${ROLE} CONNECTION LIMIT 0`);
    // One that was let in before may be there only now.
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${ROLE}'`;
    await until('every connection has ended', async () => (await sql(url, end)).length === 0);
    return () => sql(url, `ALTER ROLE ${ROLE} CONNECTION LIMIT -1`);
  },
  'an exhausted pool': async ({ url }) => {
    const other = new SQL(url, { max: 1 });
    await other.unsafe('BEGIN; LOCK TABLE keys, sessions IN ACCESS EXCLUSIVE MODE');
    return () => other.close({ timeout: 0 });
  },
};

const FAIL_OPEN: Patch = {
  file: 'src/guard/check/commit.ts',
  find: 'for (const each of group) each.answer(failed);',
  replace: `const made = { decision: 'allow', reason: '', policyId: '', toolCallId: crypto.randomUUID(), latencyMs: 0 };
      for (const each of group) each.answer(failed ? (made as Result) : failed);`,
};
const PATIENT: Patch[] = [
  {
    file: 'src/store/engine/postgres-connection.ts',
    find: 'const TRANSACTION_MS = 2500;',
    replace: 'const TRANSACTION_MS = 60_000;',
  },
  {
    file: 'src/guard/check/check-queue.ts',
    find: 'const CHECK_LIMIT_MS = 2900;',
    replace: 'const CHECK_LIMIT_MS = 60_000;',
  },
];

describe.skipIf(server === null)('postgres', () => {
  for (const name of Object.keys(OUTAGES)) {
    const tests = name === QUICK ? test : whenChanged('src/store/**', 'src/guard/**');
    tests(`${name}: no verdict without an entry, answers in time, recovery`, async () => {
      const found = await inTime(() => measure(name, name === 'a lost link' ? LOST_MS : OUTAGE_MS));
      expect(found).toMatchObject({ unrecorded: 0, meanwhile: 0, late: 0, odd: [] });
    });
  }

  whenChanged(...PATIENT)('a mutant without time limits is found out', async () => {
    const found = await withMutant(
      PATIENT,
      async root => (await measure('a lost link', ANSWERED_WITHIN_MS + 1000, { root, refusals: 0 })).late,
    );
    expect(found).toBeGreaterThan(0);
  });

  whenChanged(FAIL_OPEN)('a mutant that allows what it cannot record is found out', async () => {
    const found = await withMutant(
      [FAIL_OPEN],
      async root => (await measure('no free connection', OUTAGE_MS, { root })).unrecorded,
    );
    expect(found).toBeGreaterThan(0);
  });
});

interface Options {
  root?: string;
  /** So many answers end the outage, once its time is over. */
  refusals?: number;
}

async function measure(name: string, outageMs: number, { root, refusals = REFUSALS }: Options = {}) {
  const store = await newStore();
  const databaseUrl = store.link.through(store.url).replace('//toolgate@', `//${ROLE}@`);
  const service = await startService({ databaseUrl, ...(root && { root }) });
  const received = new Received();
  const answers: Answer[] = [];
  const span = { from: Number.POSITIVE_INFINITY, to: Number.POSITIVE_INFINITY };
  const under = () => answers.filter(each => each.sentAt > span.from && each.receivedAt < span.to);
  const load = await keepChecking(service, span, answer => {
    received.take(answer);
    answers.push(answer);
  });
  try {
    await until('verdicts before the outage', () => received.verdicts.length > 100);
    const end = await OUTAGES[name]!(store);
    span.from = performance.now();
    const enough = () => performance.now() - span.from > outageMs && under().length >= refusals;
    await until('answers under the outage', enough, outageMs + 60_000);
    span.to = performance.now();
    await end();
    const recovery = await untilVerdict(received);
    await load.stop();
    const { lost, twice } = await againstLog(store.url, received.verdicts);
    const late = answers.filter(each => took(each) > ANSWERED_WITHIN_MS).length;
    const found = {
      unrecorded: lost + twice,
      meanwhile: under().filter(each => verdictOf(each) !== null).length,
      late,
      odd: [...received.refusals.keys()].filter(status => status !== 500 && status !== 503),
    };
    figures(`P18 postgres, ${name}${root ? ' mutant' : ''}`, {
      operations: answers.length,
      faults: 1,
      refused: under().length,
      longestMs: Math.round(received.slowestMs),
      recoverySeconds: (recovery / 1000).toFixed(2),
      violations: found.unrecorded + found.meanwhile + late + found.odd.length,
    });
    return found;
  } finally {
    await load.stop();
    await service.close();
    await store.link.close();
  }
}

async function newStore(): Promise<Store> {
  const database = server as TestPostgres;
  const url = await database.createDatabase();
  await sql(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} OWNER TO ${ROLE}`);
  return { database, url, link: await Link.to(url) };
}

/** How many milliseconds it takes from now to the next verdict. */
async function untilVerdict(received: Received): Promise<number> {
  const ended = performance.now();
  const before = received.verdicts.length;
  await until('verdicts after the outage', () => received.verdicts.length > before);
  return performance.now() - ended;
}

/**
 * From the outage on, more connections than the pool has come with another credential each time, as long as there
 * are any.
 */
async function keepChecking(
  service: TestService,
  outage: { from: number },
  answered: (answer: Answer) => void,
): Promise<Load> {
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const minted = Array.from({ length: SESSIONS }, () => service.json('POST', '/v1/sessions', key, {}));
  const fresh = (await Promise.all(minted)).map(reply => reply.body.token as string);
  const body = JSON.stringify({ serverName: 'files', toolName: 'read' });
  const next = (connection: number) => {
    const out = performance.now() > outage.from;
    return { token: (out && connection % 4 !== 0 && fresh.pop()) || key, body };
  };
  return startLoad({ connections: CONNECTIONS, url: () => service.url, next, answered });
}
