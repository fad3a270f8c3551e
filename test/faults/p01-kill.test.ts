// P1: every verdict that a client received is in the audit log after kill -9 of the service. On SQLite every other kill
// comes while the write-ahead log is moved into the file; in the long form PostgreSQL is killed as well. The mutants
// answer before their entry is safe, or give the log up before the file has what is in it.

import { SQLiteError } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { closeSync, openSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  againstLog,
  figures,
  fillLog,
  newDataDir,
  Received,
  random,
  SEED,
  withMutant,
} from '../support/faults.ts';
import { startLoad } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG, need } from '../support/need.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';

const KILLS = sized(60, 4, 2);
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
        group.forEach((each, index) => each.answer(early.results[index] as Result));
        await Bun.sleep(50);
        return early;
      });`,
};

/** SQLite discards a log that begins with another word. The mutant's has it again once the pages are in the file. */
const GIVEN_UP_FIRST: Patch[] = [
  {
    file: 'src/store/engine/sqlite-move-thread.ts',
    find: "import { Database } from 'bun:sqlite';",
    replace:
      "import { Database } from 'bun:sqlite'; import { openSync, readSync, writeSync } from 'node:fs';",
  },
  {
    file: 'src/store/engine/sqlite-move-thread.ts',
    find: "db.exec('PRAGMA wal_checkpoint(PASSIVE)');",
    replace: `const log = openSync(\`\${path}-wal\`, 'r+');
    const word = new Uint8Array(4);
    readSync(log, word, 0, 4, 0);
    writeSync(log, new Uint8Array(4), 0, 4, 0);
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    writeSync(log, word, 0, 4, 0);`,
  },
];

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**')) {
  test(`${engine}: every verdict received is in the log after kill -9`, async () => {
    const killedIn = engine === 'sqlite' ? everyOther : never;
    const found = await measure(engine, KILLS, { killedIn });
    expect(found.operations).toBeGreaterThanOrEqual(KILLS * LEAST_VERDICTS);
    expect(found.violations).toBe(0);
    if (engine === 'sqlite') expect(found.inMoves).toBeGreaterThan(0);
  });

  for (const [name, patch] of Object.entries({ LATER, BEFORE_COMMIT })) {
    whenChanged(patch)(`${engine}: a mutant that answers first (${name}) loses verdicts`, async () => {
      const found = await withMutant(
        [patch],
        async root => (await measure(engine, MUTANT_KILLS, { root, untilViolated: true })).violations,
      );
      expect(found).toBeGreaterThan(0);
    });
  }
}

whenChanged(...GIVEN_UP_FIRST)(
  'sqlite: a mutant that gives the log up before it is moved loses verdicts',
  async () => {
    const found = await withMutant(
      GIVEN_UP_FIRST,
      async root =>
        (await measure('sqlite', MUTANT_KILLS, { root, untilViolated: true, killedIn: always })).violations,
    );
    expect(found).toBeGreaterThan(0);
  },
);

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
  /** Whether this kill comes while the write-ahead log of SQLite is moved. */
  killedIn?: (kill: number) => boolean;
}

const never = () => false;
const always = () => true;
const everyOther = (kill: number) => kill % 2 === 1;

async function measure(
  engine: Engine,
  kills: number,
  { root, server, untilViolated = false, killedIn = never }: Options = {},
): Promise<{ operations: number; violations: number; inMoves: number }> {
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
  let inMoves = 0;
  try {
    // A move may be over before the kill comes.
    const more = () => killed < kills || (killedIn !== never && inMoves === 0);
    for (; more() && !(untilViolated && violations > 0); killed++) {
      await answers(received, LEAST_VERDICTS + Math.floor(chance() * 400));
      if (server !== undefined && killed % 2 === 1) {
        await server.stop('immediate');
        await server.start();
      } else {
        const pages = killedIn(killed) ? await moveBegins(service) : null;
        await service.kill('SIGKILL');
        if (pages !== null && isMoving(service, pages)) inMoves++;
        if (untilViolated) violations = await broken(service, received);
        if (violations === 0) service = await startService(again);
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
    ...(engine === 'sqlite' && { inMoves }),
    unanswered: load.unanswered,
    violations,
  });
  return { operations, violations, inMoves };
}

/** The service moves the log when it has so many pages. */
const MOST_PAGES = 8192;

/**
 * Fills the log until a move is seen; the time limit of the test is the only one, since a busy machine misses many.
 * Returns how many pages are moved at least.
 */
async function moveBegins(service: TestService): Promise<number> {
  for (;;) {
    await fillLog(service.databaseUrl);
    const { pages } = logOf(service);
    // All of it may have been moved before somebody looked: then the log begins again, or all of its pages are moved.
    while (pages >= MOST_PAGES && isUnmoved(service, pages)) {
      if (isMoving(service, pages)) return pages;
      await new Promise(setImmediate);
    }
  }
}

function isUnmoved(service: TestService, pages: number): boolean {
  const now = logOf(service);
  return now.pages >= pages && now.moved < pages;
}

/** Whether so many pages of the log are being moved, or were when the process was killed. */
function isMoving(service: TestService, pages: number): boolean {
  const { moved, moving } = logOf(service);
  return moving >= pages && moved < pages;
}

/** What SQLite has in the index of the log, as https://sqlite.org/walformat.html describes it. */
function logOf({ databaseUrl }: TestService): { pages: number; moved: number; moving: number } {
  const index = new DataView(new ArrayBuffer(132));
  const file = openSync(`${databaseUrl.slice('sqlite:'.length)}-shm`, 'r');
  try {
    readSync(file, index, 0, index.byteLength, 0);
  } finally {
    closeSync(file);
  }
  const [pages = 0, moved = 0, moving = 0] = [16, 96, 128].map(at => index.getUint32(at, true));
  return { pages, moved, moving };
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
  // A loop without a pause would take one core of two from the service.
  while (received.verdicts.length < target) await Bun.sleep(1);
}

async function broken(service: TestService, received: Received): Promise<number> {
  try {
    const { lost, twice } = await againstLog(service.databaseUrl, received.verdicts);
    return lost + twice;
  } catch (error) {
    // A store that cannot be read has lost all of them.
    if (error instanceof SQLiteError) return received.verdicts.length;
    throw error;
  }
}
