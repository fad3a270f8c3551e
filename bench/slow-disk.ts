// A slow disk: every fsync of the service takes 10 ms longer. Checks then have to share commits, and requests that need
// no commit must not wait for one. For comparison, the same is measured without the delay, also under strace, which has
// a cost of its own.

import { summarise } from './figure.ts';
import { drive, type Request } from './load.ts';
import { onCore, type Server } from './process.ts';
import { checkAnswer, checkRequest, createKey, type Place, SERVE, settings, start } from './service.ts';
import type { Finding, Study } from './study.ts';

const CALLS = 'fdatasync,fsync';
const DELAY_MS = 10;
const WARM_UP_SECONDS = 3;
const SECONDS = 4;
/** More connections allow larger groups. */
const CONNECTED = [64, 256];

export const SLOW_DISK: Study = {
  name: 'slow-disk',
  title: 'A slow disk',
  how: `Every fsync of the service on SQLite takes ${DELAY_MS} ms more (strace delays it; the other side runs under strace as well). /healthz is asked meanwhile, one at a time.`,
  slow: true,
  run,
};

async function run(place: Place): Promise<Finding[]> {
  if (Bun.which('strace') === null) throw new Error('strace is not installed');
  return [
    ...(await measure('undelayed', 'as the disk is', [], place)),
    ...(await measure('delayed', 'delayed', [`-einject=${CALLS}:delay_exit=${DELAY_MS}ms`], place)),
  ];
}

async function measure(name: string, label: string, fault: string[], place: Place): Promise<Finding[]> {
  place.tell(`slow disk: ${label}`);
  // strace runs beside the service (-D) and not as its parent, because the signal to stop has to reach the service.
  const tracer = ['strace', '-D', '-f', '--seccomp-bpf', '-qq', '-o/dev/null', `-etrace=${CALLS}`, ...fault];
  const command = onCore(0, [...tracer, process.execPath, ...SERVE]);
  const server = await start(name, command, await settings(name, 'sqlite', place), place);
  const request = checkRequest(server, (await createKey(server.url)).key);
  await checkAnswer(request);
  await drive(request, WARM_UP_SECONDS, place.folder);
  const findings: Finding[] = [];
  for (const connections of CONNECTED) findings.push(...(await load(server, request, connections, place)));
  await server.stop();
  return findings.map(each => ({ ...each, name: `${name}-${each.name}`, label: `${label}, ${each.label}` }));
}

async function load(
  { url }: Server,
  request: Request,
  connections: number,
  { folder }: Place,
): Promise<Finding[]> {
  const health: Request = { method: 'GET', url: `${url}/healthz`, headers: {}, body: '' };
  const [checks, asked] = await Promise.all([
    drive(request, SECONDS, folder, connections),
    drive(health, SECONDS, folder, 1),
  ]);
  const finding = (what: string, unit: string, label: string, value: number) => ({
    name: `${what}-${connections}`,
    label: `${connections} connections: ${label}`,
    unit,
    figure: summarise([value]),
  });
  return [
    finding('checks', '/s', 'checks', checks.requests / checks.seconds),
    finding('p50', 'ms', 'p50 of a check', checks.p50Ms),
    finding('health', 'ms', 'p50 of /healthz', asked.p50Ms),
    finding('health-p99', 'ms', 'p99 of /healthz', asked.p99Ms),
  ];
}
