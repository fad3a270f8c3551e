// P21: a clean stop loses nothing. SIGTERM under load: every verdict received is in the log, and the process
// ends by itself, with 0, in time. The mutant keeps entries in memory for a while after it has answered.

import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import {
  againstLog,
  figures,
  newDataDir,
  Received,
  random,
  SEED,
  until,
  withMutant,
} from '../support/faults.ts';
import { startLoad } from '../support/load.ts';
import type { Patch } from '../support/mutant.ts';
import { type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';

const STOPS = sized(20, 3, 1);
const CONNECTIONS = 32;
const STOPPED_WITHIN_MS = 60_000;

/** Entries wait in memory, longer than any stop takes, and the stop does not wait for them. */
const BUFFERED: Patch = {
  file: 'src/guard/check/check.ts',
  find: 'await this.#log.insert(tx, entries);',
  replace:
    'setTimeout(() => this.#deps.db.transaction({}, async later => this.#log.insert(later, entries)).catch(() => {}), 10_000);',
};

for (const engine of await enginesWhenChanged(
  'src/store/**',
  'src/guard/**',
  'src/process/**',
  'src/main.ts',
)) {
  test(`${engine}: SIGTERM under load loses no verdict`, async () => {
    const found = await measure(engine, STOPS);
    expect(found.exitCodes).toEqual([0]);
    expect(found.violations).toBe(0);
  });

  whenChanged(BUFFERED)(`${engine}: a mutant that buffers its entries loses them`, async () => {
    const found = await withMutant([BUFFERED], async root => (await measure(engine, 1, root)).violations);
    expect(found).toBeGreaterThan(0);
  });
}

async function measure(engine: Engine, stops: number, root?: string) {
  const chance = random(SEED);
  const exitCodes = new Set<number>();
  let operations = 0;
  let violations = 0;
  let slowestMs = 0;
  for (let stop = 0; stop < stops; stop++) {
    const dataDir = newDataDir();
    const service = await startService({ engine, dataDir, ...(root && { root }) });
    const received = new Received();
    const startedAt = await stopUnderLoad(service, received, 100 + Math.floor(chance() * 300));
    exitCodes.add(service.process.exitCode ?? -1);
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    const { lost, twice } = await againstLog(service.databaseUrl, received.verdicts);
    operations += received.verdicts.length;
    violations += lost + twice;
    rmSync(dataDir, { recursive: true, force: true });
  }
  const seconds = (slowestMs / 1000).toFixed(2);
  figures(`P21 ${engine}${root ? ' mutant' : ''}`, {
    seed: SEED,
    operations,
    faults: stops,
    seconds,
    violations,
  });
  return { violations, exitCodes: [...exitCodes] };
}

async function stopUnderLoad(service: TestService, received: Received, verdicts: number): Promise<number> {
  const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
  const body = JSON.stringify({ serverName: 'files', toolName: 'read' });
  const load = startLoad({
    connections: CONNECTIONS,
    url: () => service.url,
    next: () => ({ token: key, body }),
    answered: answer => received.take(answer),
  });
  await until('verdicts under load', () => received.verdicts.length >= verdicts);
  const startedAt = performance.now();
  service.process.kill('SIGTERM');
  await until('the end of the process', () => service.process.exitCode !== null, STOPPED_WITHIN_MS);
  await load.stop();
  return startedAt;
}
