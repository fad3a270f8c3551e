// P22: a kill -9 during the first start never leaves a store that the next start cannot use, and every
// migration is recorded once. The kills come at chosen system calls, spread over the whole start: writes to
// disk on SQLite, sends to the server on PostgreSQL. The mutant records a migration in a second transaction.

import { expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { canTrace, figures, newDataDir, random, SEED, sql, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { need } from '../support/need.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { type Engine, startService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';

const KILLS = sized(20, 6, 3);
const CALLS: Record<Engine, string> = { sqlite: 'fsync,fdatasync,pwrite64', postgres: 'sendto' };
/** The service makes its own secrets, as on a real first start. */
const FIRST_START = { TOOLGATE_MASTER_KEY: '', TOOLGATE_ADMIN_TOKEN: '' };
const TRACED = need(canTrace(), 'strace, and the right to trace');

const TWO_STEPS: Patch = {
  file: 'src/store/engine/migrate.ts',
  find: "await tx.script(migration.sql);\n    await tx.run('INSERT",
  replace:
    "await tx.script(migration.sql);\n  });\n  await lane.transaction({}, async () => {});\n  await lane.transaction({}, async tx => {\n    await tx.run('INSERT",
};

/** Where the mutant has its seam, found among few calls. */
const SEAM: Record<Engine, { calls: string; points: number[] }> = {
  // Counted by thread, and two take turns: the mutant's empty step keeps one from getting all the even ones.
  sqlite: { calls: 'fdatasync', points: range(1, 10) },
  postgres: { calls: 'sendto', points: range(32, 44) },
};

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**', 'src/process/**')) {
  test.skipIf(!TRACED)(`${engine}: a first start killed anywhere can be started again`, async () => {
    const found = await measure(engine, spread(await callsOfAStart(engine), KILLS));
    expect(found.kills).toBeGreaterThan(KILLS / 2);
    expect(found.faults).toEqual([]);
  });

  whenChanged(TWO_STEPS).skipIf(!TRACED)(
    `${engine}: a mutant that migrates in two steps is found out`,
    async () => {
      // Of all commits one is at the seam; the first store that is left half ends the search.
      const { calls, points } = SEAM[engine];
      const found = await withMutant(
        [TWO_STEPS],
        async root => (await measure(engine, points, { calls, root, untilViolated: true })).faults.length,
      );
      expect(found).toBeGreaterThan(0);
    },
  );
}

/** Each secret is synced under another name, linked to its own, and its folder synced. */
const SECRET_STEPS = [
  'fsync:when=1',
  'link,linkat:when=1',
  'fsync:when=2',
  'fsync:when=3',
  'link,linkat:when=2',
];

for (const [at, step] of SECRET_STEPS.entries()) {
  const tests = at === 0 ? test : whenChanged('src/process/**', 'src/guard/**');
  tests.skipIf(!TRACED)(
    `a kill while the secrets are written, at ${step}, leaves no empty file`,
    async () => {
      const dataDir = newDataDir();
      const where = { dataDir, env: FIRST_START };
      const killed = ['-e', `inject=${step.replace(':', ':signal=SIGKILL:')}`];
      await expect(startService({ ...where, wrap: traced(...killed) })).rejects.toThrow('SIGKILL');
      const service = await startService(where);
      await service.close();
      for (const file of ['master.key', 'admin.token']) {
        expect(readFileSync(join(dataDir, file), 'utf8').trim().length).toBeGreaterThan(40);
      }
      rmSync(dataDir, { recursive: true });
    },
  );
}

function traced(...options: string[]): string[] {
  // -D: the service stays our own child, with its own signals and exit code.
  return ['strace', '-D', '-f', '-q', '-o', '/dev/null', ...options];
}

async function freshStore(engine: Engine, dataDir: string): Promise<string> {
  if (engine === 'sqlite') return `sqlite:${join(dataDir, 'toolgate.db')}`;
  return (await (await sharedPostgres())?.createDatabase()) ?? '';
}

/** How many of the calls a whole first start makes. */
async function callsOfAStart(engine: Engine): Promise<number> {
  const dataDir = newDataDir();
  const file = join(dataDir, 'calls');
  const service = await startService({
    engine,
    dataDir,
    env: FIRST_START,
    wrap: ['strace', '-D', '-f', '-q', '-o', file, '-e', `trace=${CALLS[engine]}`],
  });
  const calls = readFileSync(file, 'utf8').split('\n').length - 1;
  await service.close();
  rmSync(dataDir, { recursive: true });
  return calls;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** One call at random out of each of so many equal stretches. */
function spread(calls: number, parts: number): number[] {
  const chance = random(SEED);
  return Array.from({ length: parts }, (_, part) => 1 + Math.floor(((part + chance()) * calls) / parts));
}

async function measure(
  engine: Engine,
  points: number[],
  {
    root,
    calls = CALLS[engine],
    untilViolated = false,
  }: { root?: string; calls?: string; untilViolated?: boolean } = {},
): Promise<{ kills: number; faults: string[] }> {
  const faults: string[] = [];
  let kills = 0;
  for (const point of points) {
    if (untilViolated && faults.length > 0) break;
    const dataDir = newDataDir();
    const databaseUrl = await freshStore(engine, dataDir);
    const options = { dataDir, databaseUrl, env: FIRST_START, ...(root && { root }) };
    if (await killedAt(options, `${calls}:signal=SIGKILL:when=${point}`)) kills++;
    const fault = await faultOfNextStart(options);
    if (fault !== null) faults.push(`killed at call ${point}: ${fault}`);
    rmSync(dataDir, { recursive: true, force: true });
  }
  figures(`P22 ${engine}${root ? ' mutant' : ''}`, {
    seed: SEED,
    operations: points.length,
    faults: kills,
    violations: faults.length,
  });
  return { kills, faults };
}

type Start = { dataDir: string; databaseUrl: string; env: Record<string, string> };

async function killedAt(options: Start, fault: string): Promise<boolean> {
  try {
    const service = await startService({ ...options, wrap: traced('-e', `inject=${fault}`) });
    await service.kill('SIGKILL');
    return true;
  } catch (error) {
    if (/ended with SIGKILL/.test(String(error))) return true;
    throw error;
  }
}

async function faultOfNextStart(options: Start): Promise<string | null> {
  try {
    const service = await startService(options);
    const ready = await service.request('GET', '/readyz');
    await service.close();
    if (ready.status !== 200) return `not ready: ${ready.text}`;
  } catch (error) {
    return String(error);
  }
  const rows = await sql<{ version: number; times: number }>(
    options.databaseUrl,
    'SELECT version, count(*) AS times FROM migrations GROUP BY version',
  );
  return rows.length > 0 && rows.every(row => Number(row.times) === 1) ? null : JSON.stringify(rows);
}
