// Measures the memory after a million checks, to find anything that grows with each of them.

import { summarise } from './figure.ts';
import { drive } from './load.ts';
import { script } from './process.ts';
import { checkAnswer, checkRequest, createKey, type Place, SERVE, settings, start } from './service.ts';
import type { Finding, Study } from './study.ts';

const CHECKS = 1_000_000;
const STEP_SECONDS = 5;

export const MILLION: Study = {
  name: 'million',
  title: 'Memory over a million checks',
  how: 'Resident memory of the service on SQLite, after checks on 64 connections.',
  slow: true,
  run,
};

async function run(place: Place): Promise<Finding[]> {
  const server = await start('million', script(...SERVE), await settings('million', 'sqlite', place), place);
  const request = checkRequest(server, (await createKey(server.url)).key);
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
