// Measures `serve --workers N` on PostgreSQL with one and two workers. On a machine with two cores the generator and
// PostgreSQL need a share of both, so a gain of more than a factor of two cannot be seen; the CPU time per check of
// each of them shows what more cores would give.

import { summarise } from './figure.ts';
import { drive } from './load.ts';
import { checkAnswer, checkRequest, createKey, type Place, SERVE, settings, start } from './service.ts';
import type { Finding, Study } from './study.ts';

const COUNTS = [1, 2];
const ROUNDS = 3;
const WARM_UP_SECONDS = 4;
const SECONDS = 4;

export const WORKERS: Study = {
  name: 'workers',
  title: 'Workers',
  how: 'Processes of `serve --workers` on PostgreSQL, 64 connections. Workers and PostgreSQL run on all cores, the generator on one of them: on two cores that bounds what a second worker can show.',
  slow: true,
  run,
};

interface Round {
  perSecond: number;
  workers: number;
  database: number;
  cores: number;
}

async function run(place: Place): Promise<Finding[]> {
  const all = await Promise.all(COUNTS.map(count => open(count, place)));
  for (const { request } of all) await drive(request, WARM_UP_SECONDS, place.folder);
  for (let round = 1; round <= ROUNDS; round++) {
    for (const one of all) {
      place.tell(`workers: ${one.count}, round ${round} of ${ROUNDS}`);
      one.rounds.push(await measure(one, place));
    }
  }
  return all.flatMap(({ count, rounds }) => findings(count, rounds));
}

async function open(count: number, place: Place) {
  const name = `workers-${count}`;
  const command = [process.execPath, ...SERVE, '--workers', String(count)];
  const server = await start(name, command, await settings(name, 'postgres', place), place);
  const request = checkRequest(server, (await createKey(server.url)).key);
  await checkAnswer(request);
  return { count, server, request, rounds: [] as Round[] };
}

type Open = Awaited<ReturnType<typeof open>>;

async function measure({ server, request }: Open, { folder, postgres }: Place): Promise<Round> {
  const [before, databaseBefore] = [server.cpuMicroseconds(), postgres?.cpuMicroseconds() ?? 0];
  const { requests, seconds } = await drive(request, SECONDS, folder);
  const database = (postgres?.cpuMicroseconds() ?? 0) - databaseBefore;
  const workers = server.cpuMicroseconds() - before;
  return {
    perSecond: requests / seconds,
    workers: workers / requests,
    database: database / requests,
    cores: (workers + database) / 1e6 / seconds,
  };
}

function findings(count: number, rounds: Round[]): Finding[] {
  const told = `${count} worker${count > 1 ? 's' : ''}`;
  const finding = (what: keyof Round, unit: string, label: string) => ({
    name: `workers-${count}-${what}`,
    label: `${told}: ${label}`,
    unit,
    figure: summarise(rounds.map(round => round[what])),
  });
  return [
    finding('perSecond', '/s', 'checks'),
    finding('workers', 'µs', 'CPU per check, workers'),
    finding('database', 'µs', 'CPU per check, PostgreSQL'),
    finding('cores', 'cores', 'busy with both'),
  ];
}
