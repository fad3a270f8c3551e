// The wait for a check at the load of a busy installation, compared with an echo and with one fsync on the same disk. They
// are measured in turn and subtracted round by round, since the speed of the disk and of the machine changes.

import { openLoop } from './extras.ts';
import { fsync } from './fsync.ts';
import { drive } from './load.ts';
import { echoAndCheck, type Place } from './service.ts';
import { type Finding, millisecondsOf, type Study } from './study.ts';

const WARM_UP_SECONDS = 5;
const ROUNDS = 7;
const SECONDS = 2;
const RATE = 2000;

export const LATENCY: Study = {
  name: 'latency',
  title: 'Checks at a fixed rate',
  how: `${RATE.toLocaleString('en')} requests per second, whether or not the last ones are answered, for ${SECONDS} seconds in each of ${ROUNDS} rounds; and one fsync after another on the same disk, in between.`,
  run,
};

interface Round {
  echo: number;
  check: number;
  fsync: number;
}

async function run(place: Place): Promise<Finding[]> {
  const { echo, check } = await echoAndCheck('latency', place);
  const order = (request: object) => openLoop({ ...request, rate: RATE, seconds: SECONDS });
  for (const request of [echo, check]) {
    await drive(request, WARM_UP_SECONDS, place.folder);
    await order(request);
  }
  const rounds: Round[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    place.tell(`checks at a fixed rate, round ${round} of ${ROUNDS}`);
    rounds.push({
      echo: (await order(echo)).p99Ms,
      check: (await order(check)).p99Ms,
      fsync: (await fsync('overwrite', 1, place)).p99Ms,
    });
  }
  return findings(rounds);
}

function findings(rounds: Round[]): Finding[] {
  const finding = millisecondsOf(rounds);
  return [
    finding('p99-echo', 'p99 of an echo', round => round.echo),
    finding('p99-fsync', 'p99 of an fsync', round => round.fsync),
    finding('p99-check', 'p99 of a check on sqlite', round => round.check),
    finding('p99-added', 'the check less the fsync', round => round.check - round.fsync),
  ];
}
