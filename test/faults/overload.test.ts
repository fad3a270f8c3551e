// Overload: two replicas on one PostgreSQL, at twice the rate that they were measured at, while the link of one is
// lost and the database ends every connection. Nothing is answered wrongly or lost, what is refused is told when to
// come again and leaves nothing in the store, and no more wait than may. The long form is `npm run soak`.

import { afterAll, describe, expect } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from '../../scripts/soak/load.ts';
import { againstLog } from '../../scripts/soak/log.ts';
import { count, type Kind, type Tally } from '../../scripts/soak/tally.ts';
import { mintToken } from '../../src/guard/secrets.ts';
import { figures, sql, until, withMutant } from '../support/faults.ts';
import { Link } from '../support/link.ts';
import type { Patch } from '../support/mutant.ts';
import { need } from '../support/need.ts';
import { sharedPostgres, type TestPostgres } from '../support/postgres.ts';
import { startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const QUEUE_LIMIT = 50;
/** Those that wait, and those whose commit is under way: never more than had waited. */
const MOST_WAITING = 2 * QUEUE_LIMIT;
const CONNECTIONS = 1000;
const LOST_MS = 1000;
/** A second: while its link is lost, a replica then gets ten times what may wait, whatever was measured. */
const LEAST_RATE = 1000;
const ENV = { TOOLGATE_QUEUE_LIMIT: String(QUEUE_LIMIT), TOOLGATE_LOG_LEVEL: 'silent' };

const NO_LIMIT: Patch = {
  file: 'src/guard/check/check-queue.ts',
  find: 'if (this.#queue.length >= this.#limit) return true;',
  replace: '',
};
const VERDICT_WITHOUT_ENTRY: Patch = {
  file: 'src/http/server.ts',
  find: 'problem(OVERLOADED, Bun.randomUUIDv7());',
  replace: "Response.json({ decision: 'allow', toolCallId: Bun.randomUUIDv7() });",
};

const server = await sharedPostgres();
const folder = mkdtempSync(join(tmpdir(), 'toolgate-overload-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What refuses and decides where too much comes. */
const UNDER_LOAD = ['src/guard/check/**', 'src/http/server.ts', 'src/store/engine/**'];

describe.if(need(server !== null, 'PostgreSQL'))('two replicas on postgres', () => {
  whenChanged(...UNDER_LOAD)(
    'at twice the rate, with faults: nothing wrong or lost, every verdict recorded',
    async () => {
      const { tally, compared, entries, deepest, answeredAfter } = await overload(5);
      expect([tally.wrong, tally.lost]).toEqual([[], 0]);
      expect(compared).toMatchObject({ twice: 0, missing: 0 });
      // What is refused left nothing in the store; a check that failed closed may have been recorded all the same.
      const { statuses } = tally;
      expect(statuses['503']).toBeGreaterThan(0);
      expect(entries).toBeLessThanOrEqual((statuses['200'] ?? 0) + (statuses['500'] ?? 0));
      expect(entries).toBeGreaterThanOrEqual(statuses['200'] ?? 0);
      expect(deepest).toBeLessThanOrEqual(MOST_WAITING);
      expect(answeredAfter).toBe(true);
    },
  );

  whenChanged(NO_LIMIT)('a mutant without a limit is found out', async () => {
    const tooDeep = await withMutant([NO_LIMIT], async root => {
      const { deepest } = await overload(2, root);
      return Math.max(0, deepest - MOST_WAITING);
    });
    expect(tooDeep).toBeGreaterThan(0);
  });

  whenChanged(VERDICT_WITHOUT_ENTRY)('a mutant that answers a verdict instead is found out', async () => {
    const found = await withMutant(
      [VERDICT_WITHOUT_ENTRY],
      async root => (await overload(2, root)).compared.missing,
    );
    expect(found).toBeGreaterThan(0);
  });
});

interface Found {
  tally: Tally;
  compared: Awaited<ReturnType<typeof againstLog>>;
  entries: number;
  deepest: number;
  answeredAfter: boolean;
}

async function overload(seconds: number, root?: string): Promise<Found> {
  const stage = await open(root);
  const { near, far, databaseUrl, link } = stage;
  const idFile = join(folder, crypto.randomUUID());
  try {
    const kinds = await makeKinds(near);
    const target = { urls: [near.url, far.url], kinds };
    const measured = await generate(
      { ...target, rate: null, seconds: 1, connections: QUEUE_LIMIT / 2, idFile: `${idFile}-before` },
      () => {},
    );
    const before = await entriesOf(databaseUrl);
    const rate = Math.max(2 * count(measured.verdictMs), LEAST_RATE);
    const watch = watchDepth([near, far]);
    const load = generate({ ...target, rate, seconds, connections: CONNECTIONS, idFile }, () => {});
    await Bun.sleep((seconds * 1000) / 3);
    link.lose();
    await Bun.sleep(LOST_MS);
    link.mend();
    await endConnections(databaseUrl);
    const tally = await load;
    const deepest = await watch.stop();
    const compared = await againstLog(idFile, databaseUrl);
    const entries = (await entriesOf(databaseUrl)) - before;
    const answeredAfter = await answers(far, kinds[0]!.token);
    const violations = tally.wrong.length + tally.lost + compared.missing + compared.twice;
    figures(`overload, two on postgres${root ? ' mutant' : ''}`, {
      operations: tally.sent,
      faults: 2,
      rate,
      verdicts: count(tally.verdictMs),
      shed: count(tally.shedMs),
      failed: count(tally.failedMs),
      deepest,
      violations: violations + Math.max(0, deepest - MOST_WAITING),
    });
    return { tally, compared, entries, deepest, answeredAfter };
  } finally {
    await stage.close();
  }
}

interface Stage {
  near: TestService;
  /** Reaches the database over the link. */
  far: TestService;
  databaseUrl: string;
  link: Link;
  close: () => Promise<void>;
}

async function open(root?: string): Promise<Stage> {
  const databaseUrl = await (server as TestPostgres).createDatabase();
  const link = await Link.to(databaseUrl);
  const start = (url: string) => startService({ databaseUrl: url, env: ENV, ...(root && { root }) });
  const near = await start(databaseUrl);
  const far = await start(link.through(databaseUrl));
  const close = async () => {
    await Promise.all([near.close(), far.close()]);
    await link.close();
  };
  return { near, far, databaseUrl, link, close };
}

async function makeKinds(service: TestService): Promise<Kind[]> {
  const { key } = await service.newKey([
    { tool: 'soak__yes', action: 'allow' },
    { tool: 'soak__no', action: 'deny' },
  ]);
  return [
    { token: key, tool: 'yes', decision: 'allow' },
    { token: key, tool: 'no', decision: 'deny' },
    { token: mintToken('session').token, tool: 'yes', decision: null },
  ];
}

async function entriesOf(databaseUrl: string): Promise<number> {
  const [row] = await sql<{ count: number }>(databaseUrl, 'SELECT count(*) AS count FROM audit');
  return Number(row?.count);
}

async function endConnections(databaseUrl: string): Promise<void> {
  await sql(
    databaseUrl,
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
}

/** The most checks that a replica said were waiting. */
function watchDepth(services: readonly TestService[]): { stop: () => Promise<number> } {
  let [deepest, stopping] = [0, false];
  const watching = Promise.all(
    services.map(async service => {
      while (!stopping) {
        const { text } = await service.request('GET', '/metrics');
        deepest = Math.max(deepest, Number(/^toolgate_queue_depth (\d+)/m.exec(text)?.[1]));
        await Bun.sleep(10);
      }
    }),
  );
  const stop = async () => {
    stopping = true;
    await watching;
    return deepest;
  };
  return { stop };
}

async function answers(service: TestService, token: string): Promise<boolean> {
  await until(
    'a verdict after the faults',
    async () => (await service.check(token, 'soak', 'yes')).status === 200,
  );
  return true;
}
