// Checks without limits beside checks that all count against one limit, on two replicas: the former must not wait for the
// locks that the latter wait for. For comparison, the same load is measured with a policy that has no limit.

import { openLoop } from './extras.ts';
import { summarise } from './figure.ts';
import { drive } from './load.ts';
import { limited, OTHER_TOOL, type Policy, plainPolicy, withOther } from './policies.ts';
import { script } from './process.ts';
import {
  checkAnswer,
  checkRequest,
  createKeys,
  ofTool,
  type Place,
  SERVE,
  settings,
  start,
} from './service.ts';
import type { Finding, Study } from './study.ts';

const KEYS = 64;
/** At more, two cores are busy with the commits, and a wait shows that and not the locks. */
const RATE = 400;
const ROUNDS = 5;
const WARM_UP_SECONDS = 4;
const SECONDS = 2;

export const BESIDE: Study = {
  name: 'beside',
  title: 'Beside a shared limit',
  how: `The wait of checks without limits on PostgreSQL with two replicas, at ${RATE / 2} a second, while as many others count against one limit that all keys share; and while those others have no limit.`,
  run,
};

async function run(place: Place): Promise<Finding[]> {
  const sides = [
    await open('beside-none', plainPolicy(), place),
    await open('beside-limit', limited('policy'), place),
  ];
  for (let round = 1; round <= ROUNDS; round++) {
    for (const side of sides) {
      place.tell(`beside a shared limit, round ${round} of ${ROUNDS}`);
      side.waits.push(await openLoop({ ...side.measured, beside: side.other, rate: RATE, seconds: SECONDS }));
    }
  }
  const [none, limit] = sides as [Side, Side];
  return [
    ...findings('beside-none', 'beside others without a limit', none),
    ...findings('beside-limit', 'beside others with one limit', limit),
    {
      name: 'beside',
      label: 'the median wait beside one limit, against beside none',
      unit: '×',
      figure: summarise(limit.waits.map(({ p50Ms }, round) => p50Ms / none.waits[round]!.p50Ms)),
    },
  ];
}

async function open(name: string, policy: Policy, place: Place) {
  const command = script(...SERVE, '--workers', '2');
  const server = await start(name, command, await settings(name, 'postgres', place), place);
  const keys = await createKeys(server.url, withOther(policy), KEYS);
  const other = checkRequest(server, ...keys.map(({ key }) => key));
  const measured = ofTool(OTHER_TOOL, other);
  for (const request of [other, measured]) {
    await checkAnswer(request);
    await drive(request, WARM_UP_SECONDS, place.folder);
  }
  return { measured, other, waits: [] as Awaited<ReturnType<typeof openLoop>>[] };
}

type Side = Awaited<ReturnType<typeof open>>;

function findings(name: string, label: string, { waits }: Side): Finding[] {
  return (['p50Ms', 'p99Ms'] as const).map(what => ({
    name: `${name}-${what}`,
    label: `${label}: ${what.slice(0, 3)}`,
    unit: 'ms',
    figure: summarise(waits.map(each => each[what])),
  }));
}
