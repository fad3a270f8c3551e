// A check made alone, compared with its two floors: an echo made alone, and one fsync on the same disk. They are
// interleaved and subtracted round by round, since the speed of the disk changes from second to second.

import { fsync } from './fsync.ts';
import { drive, type Request } from './load.ts';
import { echoAndCheck, type Place } from './service.ts';
import { type Finding, millisecondsOf, type Study } from './study.ts';

const WARM_UP_SECONDS = 3;
const ROUNDS = 7;
const SECONDS = 1;

export const LONE: Study = {
  name: 'lone',
  title: 'A check made alone',
  how: `Median latency on one connection, which sends its next request when the last is answered, over ${ROUNDS} rounds; and of one fsync on the same disk, in between.`,
  run,
};

interface Round {
  echo: number;
  check: number;
  append: number;
  overwrite: number;
}

async function run(place: Place): Promise<Finding[]> {
  const { echo, check } = await echoAndCheck('lone', place);
  for (const request of [echo, check]) await drive(request, WARM_UP_SECONDS, place.folder);
  const rounds: Round[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    place.tell(`a lone check, round ${round} of ${ROUNDS}`);
    rounds.push({
      echo: await alone(echo, place),
      check: await alone(check, place),
      append: (await fsync('append', SECONDS, place)).p50Ms,
      overwrite: (await fsync('overwrite', SECONDS, place)).p50Ms,
    });
  }
  return findings(rounds);
}

async function alone(request: Request, { folder }: Place): Promise<number> {
  return (await drive(request, SECONDS, folder, 1)).p50Ms;
}

/** The log is reused all the time, so the cheaper fsync is the floor. */
function findings(rounds: Round[]): Finding[] {
  const finding = millisecondsOf(rounds);
  return [
    finding('lone-echo', 'echo', round => round.echo),
    finding('lone-fsync', 'fsync of 8 KB over what is there, as in a log', round => round.overwrite),
    finding('lone-append', 'fsync of 8 KB appended', round => round.append),
    finding('lone-check', 'check on sqlite', round => round.check),
    finding(
      'lone-added',
      'the check less echo and fsync',
      round => round.check - round.echo - round.overwrite,
    ),
  ];
}
