// A slow disk: every fsync of the service takes 10 ms more. Checks then have to share commits, and whatever needs no
// commit must not wait for one. Beside it the same without the delay, and under strace as well, which costs by itself.

import { summarise } from './figure.ts';
import { drive } from './load.ts';
import { onCore } from './process.ts';
import { checkAnswer, checkRequest, createKey, type Place, SERVE, settings, start } from './service.ts';
import type { Finding, Study } from './study.ts';

const CALLS = 'fdatasync,fsync';
const DELAY_MS = 10;
const WARM_UP_SECONDS = 3;
const SECONDS = 5;

export const SLOW_DISK: Study = {
  name: 'slow-disk',
  title: `Every fsync of the service on SQLite delayed by ${DELAY_MS} ms, 64 connections; /healthz is asked meanwhile`,
  slow: true,
  run,
};

async function run(place: Place): Promise<Finding[]> {
  if (Bun.which('strace') === null) throw new Error('strace is not installed');
  return [
    ...(await measure('undelayed', 'as the disk is', [], place)),
    ...(await measure('delayed', 'delayed', ['-e', `inject=${CALLS}:delay_exit=${DELAY_MS}ms`], place)),
  ];
}

async function measure(name: string, label: string, fault: string[], place: Place): Promise<Finding[]> {
  place.tell(`slow disk: ${label}`);
  const tracer = [
    'strace',
    '-f',
    '--seccomp-bpf',
    '-qq',
    '-o',
    '/dev/null',
    '-e',
    `trace=${CALLS}`,
    ...fault,
  ];
  const command = onCore(0, [...tracer, process.execPath, ...SERVE]);
  const server = await start(name, command, await settings(name, 'sqlite', place), place);
  const request = checkRequest(server, (await createKey(server.url)).key);
  await checkAnswer(request);
  await drive(request, WARM_UP_SECONDS, place.folder);
  const health = { method: 'GET' as const, url: `${server.url}/healthz`, headers: {}, body: '' };
  const [checks, asked] = await Promise.all([
    drive(request, SECONDS, place.folder),
    drive(health, SECONDS, place.folder, 1),
  ]);
  await server.stop();
  const finding = (what: string, unit: string, told: string, value: number) => ({
    name: `${name}-${what}`,
    label: `${label}: ${told}`,
    unit,
    figure: summarise([value]),
  });
  return [
    finding('checks', '/s', 'checks', checks.requests / checks.seconds),
    finding('p50', 'ms', 'p50 of a check', checks.p50Ms),
    finding('p99', 'ms', 'p99 of a check', checks.p99Ms),
    finding('health', 'ms', 'p50 of /healthz', asked.p50Ms),
    finding('health-p99', 'ms', 'p99 of /healthz', asked.p99Ms),
  ];
}
