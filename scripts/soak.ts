// npm run soak: runs two replicas on one PostgreSQL at twice the rate they sustain, while links stall, a replica is
// killed and the database restarts; then, for a fifth of the time, one process on SQLite. It prints a table and writes
// docs/soak.md. The exit code is 1 if an answer was wrong, memory grew, a refused check had to wait, or too few checks
// were answered between the faults. soak/load.ts finds the sustainable rate; soak/report.ts has the limits.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine, TestService } from '../test/support/service.ts';
import { positive, readOptions } from './options.ts';
import { leaveOneCore, measureRates, openLoad, PINNED, type Rates, type Target } from './soak/load.ts';
import { againstLog } from './soak/log.ts';
import { page, print, type Row, rowsOf, type Soaked } from './soak/report.ts';
import { type Fault, open, type Stage } from './soak/stage.ts';
import type { Kind } from './soak/tally.ts';

const USAGE = `Usage: npm run soak -- [options]

  --minutes <n>    how long, at twice the sustainable rate (10)
  --engine <name>  only postgres, or only sqlite; leaves docs/soak.md as it is
  --rate <n>       checks a second that are sustainable, in place of measuring; leaves docs/soak.md as it is
  --help           print this
`;

const PAGE = join(import.meta.dir, '../docs/soak.md');
const SQLITE_SHARE = 0.2;
const LEAST_S = 30;
/** The time between two faults: long enough for the service to recover from one before the next. */
const CALM_S = 45;
/**
 * The time after a fault until checks are answered again: the promised two seconds, and one for the second in which the
 * fault began.
 */
const RECOVERY_S = 3;

const { values } = readOptions(USAGE, {
  minutes: { type: 'string', default: '10' },
  engine: { type: 'string' },
  rate: { type: 'string' },
});
const seconds = Math.round(60 * positive(USAGE, '--minutes', values.minutes));

leaveOneCore();
if (!PINNED) say('The generator shares its core, so its figures include its own delays.');
const plan: [Engine, number][] = [
  ['postgres', seconds],
  ['sqlite', Math.max(LEAST_S, Math.round(seconds * SQLITE_SHARE))],
];
const soaked: { run: Soaked; rows: Row[] }[] = [];
const missing: string[] = [];
for (const [engine, duration] of plan.filter(([engine]) => engine === (values.engine ?? engine))) {
  try {
    const run = await soak(engine, values.engine === undefined ? duration : seconds);
    const rows = rowsOf(run);
    print(run, rows);
    soaked.push({ run, rows });
  } catch (error) {
    missing.push(`${engine}: ${(error as Error).message}`);
    say(`FAILED  ${missing.at(-1)}`);
  }
}
if (values.engine === undefined && values.rate === undefined) writeFileSync(PAGE, page(soaked, missing));
const kept = soaked.length > 0 && soaked.every(({ rows }) => rows.every(row => row.kept));
process.exit(kept && missing.length === 0 ? 0 : 1);

async function soak(engine: Engine, duration: number): Promise<Soaked> {
  const stage = await open(engine);
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-soak-'));
  try {
    const kinds = await makeKinds(stage.steady);
    const target: Target = { urls: stage.urls, kinds, idFile: join(folder, 'ids') };
    const rates = givenRates() ?? (await measureRates(target, say));
    const { sustainable } = rates;
    say(`${stage.name}: ${sustainable} a second are sustainable; now ${2 * sustainable} for ${duration} s`);
    return await overload(stage, target, rates, duration);
  } finally {
    await stage.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function givenRates(): Rates | null {
  const rate = values.rate === undefined ? null : Number(values.rate);
  return rate === null ? null : { saturated: rate, sustainable: rate };
}

async function overload(stage: Stage, target: Target, rates: Rates, duration: number): Promise<Soaked> {
  const memory = watch(stage.steady);
  const stop = new AbortController();
  const [tally, disturbance] = await Promise.all([
    openLoad(target, 2 * rates.sustainable, duration, say, stop.signal),
    disturb(stage.faults, duration),
  ]).finally(() => {
    // If one of them failed, the other is still running.
    stop.abort();
    memory.stop();
  });
  say('comparing verdicts with the log');
  const compared = await againstLog(target.idFile, stage.databaseUrl);
  return {
    name: stage.name,
    rates,
    seconds: duration,
    tally,
    compared,
    memory: memory.stop(),
    ...disturbance,
  };
}

/**
 * Three of four checks are allowed, some are denied, and a few use a session that is revoked before the load begins.
 */
async function makeKinds(service: TestService): Promise<Kind[]> {
  const { key } = await service.newKey([
    { tool: 'soak__no', action: 'deny' },
    { tool: 'soak__yes', action: 'allow' },
  ]);
  const session = (await service.json('POST', '/v1/sessions', key)).body as { id: string; token: string };
  await service.json('DELETE', `/v1/sessions/${session.id}`, key);
  const kinds: Kind[] = Array.from({ length: 20 }, () => ({ token: key, tool: 'yes', decision: 'allow' }));
  for (const index of [3, 7, 11, 15]) kinds[index] = { token: key, tool: 'no', decision: 'deny' };
  kinds[19] = { token: session.token, tool: 'yes', decision: null };
  return kinds;
}

async function disturb(
  faults: readonly Fault[],
  duration: number,
): Promise<Pick<Soaked, 'happened' | 'calm'>> {
  const begun = performance.now();
  const elapsed = () => (performance.now() - begun) / 1000;
  const happened: Soaked['happened'] = [];
  const calm = new Set(Array.from({ length: duration }, (_, second) => second));
  for (let turn = 0; elapsed() + CALM_S < duration - CALM_S + RECOVERY_S; turn++) {
    await Bun.sleep(CALM_S * 1000);
    const fault = faults[turn % faults.length] as Fault;
    const from = Math.floor(elapsed());
    await fault.run();
    const to = Math.ceil(elapsed()) + RECOVERY_S;
    for (let second = from; second <= to; second++) calm.delete(second);
    happened.push({ name: fault.name, until: Math.ceil(elapsed()) });
    say(`${from} s: ${fault.name}, ${(elapsed() - from).toFixed(1)} s`);
  }
  return { happened, calm };
}

function watch(service: TestService): { stop: () => number[] } {
  const samples: number[] = [];
  const timer = setInterval(() => {
    const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8');
    samples.push(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024);
  }, 1000);
  const stop = () => {
    clearInterval(timer);
    return samples;
  };
  return { stop };
}

function say(text: string): void {
  console.error(text);
}
