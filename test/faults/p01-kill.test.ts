// P1: every verdict that a client received is in the audit log after kill -9 of the service; in the long
// form the database is killed as well. The mutants answer before their entry is safe.

import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { againstLog, figures, newDataDir, Received, random, SEED, withMutant } from '../support/faults.ts';
import { startLoad } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG, need } from '../support/need.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { type Engine, engines, startService, type TestService } from '../support/service.ts';

const KILLS = LONG ? 60 : 4;
/** At most; a mutant's run ends with its first violation. */
const MUTANT_KILLS = 60;
const CONNECTIONS = 32;
/** Before each kill. */
const LEAST_VERDICTS = 50;

/** The audit log fed from a buffer in the background, as other systems do it. */
const LATER: Patch = {
  file: 'src/guard/check/check.ts',
  find: 'await this.#log.insert(tx, entries);',
  replace:
    'setTimeout(() => this.#deps.db.transaction({}, async later => this.#log.insert(later, entries)).catch(() => {}), 100);',
};
/** The verdict resolved inside the transaction, before it is committed. */
const BEFORE_COMMIT: Patch = {
  file: 'src/guard/check/commit.ts',
  find: `tx =>
        this.#work.decideGroup(tx, requests),
      );`,
  replace: `async tx => {
        const early = await this.#work.decideGroup(tx, requests);
        group.forEach((each, index) => each.answer(early[index] as Result));
        await Bun.sleep(50);
        return early;
      });`,
};

for (const engine of await engines()) {
  test(`${engine}: every verdict received is in the log after kill -9`, async () => {
    const found = await measure(engine, KILLS);
    expect(found.operations).toBeGreaterThanOrEqual(KILLS * LEAST_VERDICTS);
    expect(found.violations).toBe(0);
  });

  for (const [name, patch] of Object.entries({ LATER, BEFORE_COMMIT })) {
    test(`${engine}: a mutant that answers first (${name}) loses verdicts`, async () => {
      const found = await withMutant(
        [patch],
        async root => (await measure(engine, MUTANT_KILLS, { root, untilViolated: true })).violations,
      );
      expect(found).toBeGreaterThan(0);
    });
  }
}

test.skipIf(!LONG)('postgres: nor is one lost when the database is killed', async () => {
  const server = await startPostgres();
  if (!need(server?.owned === true, 'a PostgreSQL that the test may kill') || server === null) return;
  try {
    const found = await measure('postgres', KILLS, { server });
    expect(found.violations).toBe(0);
  } finally {
    await server.close();
  }
});

interface Options {
  root?: string;
  /** Killed every other time, instead of the service. */
  server?: TestPostgres;
  /** Enough is known after the first violation. */
  untilViolated?: boolean;
}

async function measure(
  engine: Engine,
  kills: number,
  { root, server, untilViolated = false }: Options = {},
): Promise<{ operations: number; violations: number }> {
  const chance = random(SEED);
  const dataDir = newDataDir();
  const databaseUrl =
    engine === 'sqlite' ? `sqlite:${join(dataDir, 'toolgate.db')}` : await server?.createDatabase();
  const options = { engine, dataDir, ...(databaseUrl && { databaseUrl }), ...(root && { root }) };
  let service = await startService(options);
  const again = { ...options, databaseUrl: service.databaseUrl };
  const received = new Received();
  const load = await keepChecking(() => service, received);
  let killed = 0;
  let violations = 0;
  try {
    for (; killed < kills && !(untilViolated && violations > 0); killed++) {
      await answers(received, LEAST_VERDICTS + Math.floor(chance() * 400));
      if (server !== undefined && killed % 2 === 1) {
        await server.stop('immediate');
        await server.start();
      } else {
        await service.kill('SIGKILL');
        if (untilViolated) violations = await broken(service, received);
        service = await startService(again);
      }
    }
  } finally {
    await load.stop();
    await service.close();
  }
  violations = await broken(service, received);
  rmSync(dataDir, { recursive: true, force: true });
  const operations = received.verdicts.length;
  figures(`P1 ${engine}${root ? ' mutant' : ''}${server ? ' with database kills' : ''}`, {
    seed: SEED,
    operations,
    faults: killed,
    unanswered: load.unanswered,
    violations,
  });
  return { operations, violations };
}

async function keepChecking(service: () => TestService, received: Received) {
  const { key } = await service().newKey([
    { tool: 'allowed', action: 'allow' },
    { tool: 'denied', action: 'deny' },
  ]);
  return startLoad({
    connections: CONNECTIONS,
    url: () => service().url,
    next: connection => ({
      token: key,
      body: JSON.stringify({ serverName: 'files', toolName: connection % 4 === 0 ? 'denied' : 'allowed' }),
    }),
    answered: answer => received.take(answer),
  });
}

/** Waits for so many more verdicts: the kill comes at a random point of the work, not of the clock. */
async function answers(received: Received, more: number): Promise<void> {
  const target = received.verdicts.length + more;
  const end = performance.now() + 60_000;
  while (received.verdicts.length < target) {
    if (performance.now() > end) throw new Error('no verdicts for a minute');
    await new Promise(setImmediate);
  }
}

async function broken(service: TestService, received: Received): Promise<number> {
  const { lost, twice } = await againstLog(service.databaseUrl, received.verdicts);
  return lost + twice;
}
