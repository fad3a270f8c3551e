// Measures the memory after a million checks with every feature on, to find anything that grows with each of them.

import { summarise } from './figure.ts';
import { drive } from './load.ts';
import { asking, conditions, everything } from './policies.ts';
import { script } from './process.ts';
import { ask, checkAnswer, checkRequest, createKeys, type Place, SERVE, settings, start } from './service.ts';
import type { Finding, Study } from './study.ts';
import { collector } from './subjects.ts';

const CHECKS = 1_000_000;
const STEP_SECONDS = 5;
/** As many as a key may have. */
const WAITING = 100;

export const MILLION: Study = {
  name: 'million',
  title: 'Memory over a million checks',
  how: 'Resident memory of the service on SQLite, after checks on 64 connections with conditions, a limit, a shadow and tracing of 1 %, while 100 approvals with details wait.',
  slow: true,
  run,
};

async function run(place: Place): Promise<Finding[]> {
  const env = { ...(await settings('million', 'sqlite', place)), ...(await collector(0.01, place)) };
  const server = await start('million', script(...SERVE), env, place);
  const [key] = await createKeys(server.url, everything(), 1, conditions());
  const [waiting] = await createKeys(server.url, asking(), 1, undefined, 'asking');
  for (let asked = 0; asked < WAITING; asked++) await ask(server.url, waiting!.key);
  const request = checkRequest(server, key!.key);
  await checkAnswer(request);
  let checks = 0;
  const half: number[] = [];
  while (checks < CHECKS) {
    place.tell(`a million checks: ${checks.toLocaleString('en')}`);
    checks += (await drive(request, STEP_SECONDS, place.folder)).requests;
    if (checks >= CHECKS / 2 && half.length === 0) half.push(server.memoryMegabytes());
  }
  return [
    megabytes('million-half', 'after half a million', half[0]!),
    megabytes('million', 'after a million', server.memoryMegabytes()),
    megabytes('million-peak', 'the most that it ever was', server.peakMegabytes()),
  ];
}

function megabytes(name: string, label: string, value: number): Finding {
  return { name, label, unit: 'MB', figure: summarise([value]) };
}
