// The rounds: all lines are opened at the same time, warmed up, and measured in turn, again and again, so that a slow
// minute of the machine affects all of them. A line that cannot be opened or answers wrongly is reported and left out.

import { spawnSync } from 'node:child_process';
import { requireExtra } from '../scripts/extras.ts';
import { drive, GENERATOR } from './load.ts';
import type { Sample, Series } from './report.ts';
import type { Place } from './service.ts';
import { openSubject, type Running, type Subject } from './subjects.ts';

/**
 * By then the optimizing compiler is done: CPU time per request falls over the first 20,000 to 30,000 requests, and not
 * after.
 */
const WARM_UP_REQUESTS = 50_000;
/** The limit for slow lines: mcp-proxy falls from 2,200 µs to 750 within its first 6,000 requests, in 7 s. */
const WARM_UP_SECONDS = 12;
const WARM_UP_STEP_SECONDS = 2;
const ALONE_SECONDS = 1;

/** Runs a step for each line; one that fails is reported and left out from then on. */
export async function each<T extends { subject: Subject }>(
  all: T[],
  what: string,
  place: Place,
  failed: Map<string, string>,
  work: (one: T) => Promise<void>,
): Promise<void> {
  for (const one of all) {
    if (failed.has(one.subject.name)) continue;
    place.tell(`${what}: ${one.subject.label}`);
    await work(one).catch(error => failed.set(one.subject.name, `${one.subject.label}: ${error.message}`));
  }
}

/** Opens all servers at once: the others are idle while one is measured, and rounds can go from one to the next. */
export async function openAll(
  subjects: Subject[],
  place: Place,
  failed: Map<string, string>,
): Promise<Running[]> {
  const running: Running[] = [];
  const wanted = subjects.map(subject => ({ subject }));
  await each(wanted, 'starting', place, failed, async ({ subject }) => {
    if (subject.kind === 'peer' && !subject.peer) requireExtra('bench');
    if ((subject.road === 'mcp-proxy' || subject.road === 'supergateway') && GENERATOR !== 'wrk')
      throw new Error('answers in streams, which only wrk reads');
    running.push(await openSubject(subject, place));
  });
  // Otherwise the data of the fills would be written while others wait for the disk.
  spawnSync('sync');
  return running;
}

export async function measureRounds(
  running: Running[],
  rounds: number,
  seconds: number,
  place: Place,
  failed: Map<string, string>,
): Promise<Series[]> {
  await each(running, 'warming up', place, failed, async one => {
    await one.check();
    await warmUp(one, place.folder);
  });
  const series = new Map(running.map(({ subject }) => [subject.name, { ...subject, samples: [] } as Series]));
  for (let round = 1; round <= rounds; round++) {
    await each(running, `round ${round} of ${rounds}`, place, failed, async one => {
      series.get(one.subject.name)!.samples.push(await takeSample(one, seconds, place.folder));
    });
  }
  await each(running, 'checking', place, failed, ({ check }) => check());
  return [...series.values()].filter(({ name }) => !failed.has(name));
}

async function warmUp({ request, atMost }: Running, folder: string): Promise<void> {
  const most = Math.min(WARM_UP_SECONDS, atMost?.seconds ?? WARM_UP_SECONDS);
  for (let requests = 0, seconds = 0; requests < WARM_UP_REQUESTS && seconds < most; ) {
    requests += (await drive(request, WARM_UP_STEP_SECONDS, folder, atMost?.connections)).requests;
    seconds += WARM_UP_STEP_SECONDS;
  }
}

async function takeSample(one: Running, seconds: number, folder: string): Promise<Sample> {
  await one.restart?.();
  const { subject, server, request, databaseMicroseconds, atMost } = one;
  const [before, databaseBefore] = [server.cpuMicroseconds(), databaseMicroseconds()];
  const load = await drive(
    request,
    Math.min(seconds, atMost?.seconds ?? seconds),
    folder,
    atMost?.connections,
  );
  const [after, databaseAfter] = [server.cpuMicroseconds(), databaseMicroseconds()];
  // Under full load a latency shows the length of the queue; a call made alone shows the time it takes itself.
  const lone = subject.road ? await drive(request, ALONE_SECONDS, folder, 1) : null;
  return {
    cpuMicros: (after - before) / load.requests,
    databaseMicros:
      databaseAfter === null || databaseBefore === null
        ? null
        : (databaseAfter - databaseBefore) / load.requests,
    aloneP50Ms: lone?.p50Ms ?? null,
    perSecond: load.requests / load.seconds,
    p50Ms: load.p50Ms,
    p99Ms: load.p99Ms,
  };
}
