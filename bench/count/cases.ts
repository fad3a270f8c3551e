// What is counted: an echo, and checks with each feature that a check may use, and with several of them. Cases that need the
// same settings share a server, in this order, so that a count always has the same history.

import * as path from 'node:path';
import { ID, type Request, single } from '../load.ts';
import { ANSWERED, callThrough, openUpstream, READS } from '../mcp-subjects.ts';
import {
  asking,
  conditions,
  everything,
  hiding,
  known,
  limited,
  marked,
  type Policy,
  plainPolicy,
} from '../policies.ts';
import { script } from '../process.ts';
import {
  checkRequest,
  createKeys,
  echoRequest,
  grantTo,
  markAndTell,
  markRun,
  type Place,
  SERVE,
  settings,
  start,
} from '../service.ts';
import { collector } from '../subjects.ts';
import { Counted, GROUP } from './counted.ts';

export interface Case {
  name: string;
  label: string;
  server: 'echo' | 'service' | 'traced' | 'proxy';
  policy?: () => Policy;
  shadow?: () => Policy;
  /** What has to happen to the key first. */
  prepared?: (url: string, key: string) => Promise<void>;
  /** One request of each group is traced. */
  traced?: boolean;
}

export const CASES: Case[] = [
  { name: 'echo', label: 'echo', server: 'echo' },
  { name: 'check', label: 'check, everything off', server: 'service' },
  {
    name: 'everything',
    label: 'conditions, a limit and a shadow',
    server: 'service',
    policy: everything,
    shadow: conditions,
  },
  { name: 'conditions', label: '3 conditions', server: 'service', policy: conditions },
  { name: 'limit', label: 'a limit', server: 'service', policy: () => limited('key') },
  { name: 'shadow', label: 'a shadow with 3 conditions', server: 'service', shadow: conditions },
  {
    name: 'details',
    label: 'a person is asked and shown details, a grant frees the call',
    server: 'service',
    policy: asking,
    prepared: grantTo,
  },
  { name: 'marks', label: 'marks of the run', server: 'service', policy: marked, prepared: markRun },
  {
    name: 'known',
    label: 'marks of the run and 3 known values',
    server: 'service',
    policy: known,
    prepared: markAndTell,
  },
  { name: 'untraced', label: 'tracing on, no call is traced', server: 'traced' },
  { name: 'traced', label: 'tracing on, 1 call of 64 is traced', server: 'traced', traced: true },
  {
    name: 'traced-everything',
    label: 'conditions, a limit, a shadow, and 1 call of 64 traced',
    server: 'traced',
    policy: everything,
    shadow: conditions,
    traced: true,
  },
  {
    name: 'call',
    label: 'a forwarded call with 4 KB back',
    server: 'proxy',
    policy: () => plainPolicy(READS),
  },
  {
    name: 'call-others',
    label: 'the same, secrets are hidden in results of other tools',
    server: 'proxy',
    policy: () => hiding(READS, 'crm__*'),
  },
  {
    name: 'call-hide',
    label: 'the same, secrets are hidden in it',
    server: 'proxy',
    policy: () => hiding(READS),
  },
];

/** By then no window is much above the next: the optimizing compiler is done with what every check executes. */
const WARM_UP_GROUPS = 350;
/** For a further case of the same server, whose policy is new and nothing else. */
const FURTHER_GROUPS = 200;

/** Counts cases that share a server. */
export async function countCases(cases: Case[], place: Place): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const open = { echo: openEcho, service: openService, traced: openService, proxy: openProxy };
  const { counted, requests, wanted } = await open[cases[0]!.server](cases, place);
  for (const [index, { name, label }] of cases.entries()) {
    place.tell(`counting: ${label}`);
    counts[name] = await counted.perRequest(
      requests[index]!,
      index === 0 ? WARM_UP_GROUPS : FURTHER_GROUPS,
      wanted,
    );
  }
  await counted.server.stop();
  return counts;
}

interface Opened {
  counted: Counted;
  /** What a group of each case consists of. */
  requests: Request[][];
  /** What an answer has in it, if it is not a verdict. */
  wanted?: RegExp;
}

async function openEcho(_: Case[], place: Place): Promise<Opened> {
  const counted = await Counted.start('echo', [path.join(import.meta.dirname, '../echo.ts')], {}, place);
  return { counted, requests: [[echoRequest(counted.server)]] };
}

async function openService(cases: Case[], place: Place): Promise<Opened> {
  const { server: name } = cases[0]!;
  const env = {
    ...(await settings(name, 'sqlite', place)),
    ...(name === 'traced' && (await collector(0, place))),
    // Sealing goes on between the groups, for as long as the machine takes for them.
    TOOLGATE_SEALING: 'false',
  };
  // The store is prepared without Valgrind, which is faster.
  const preparing = await start(name, script(...SERVE), env, place);
  const keys: string[] = [];
  for (const { name: key, policy = plainPolicy, shadow, prepared } of cases) {
    const [made] = await createKeys(preparing.url, policy(), 1, shadow?.(), key);
    await prepared?.(preparing.url, made!.key);
    keys.push(made!.key);
  }
  await preparing.stop();
  const counted = await Counted.start(name, SERVE, env, place);
  const requests = cases.map(({ traced }, index) => {
    const [request] = single(checkRequest(counted.server, keys[index]!));
    return groupOf(request!, traced ? 1 : 0);
  });
  return { counted, requests };
}

/** Calls through the proxy to an HTTP upstream, which is not counted. */
async function openProxy(cases: Case[], place: Place): Promise<Opened> {
  const env = { ...(await settings('proxy', 'sqlite', place)), TOOLGATE_SEALING: 'false' };
  const tool = { name: 'up', transport: 'http', url: await openUpstream(place) };
  const preparing = await start('proxy', script(...SERVE), env, place);
  const made: Request[] = [];
  for (const { name, policy = plainPolicy } of cases)
    made.push(await callThrough(preparing, policy(), tool, { called: READS, name }));
  await preparing.stop();
  const counted = await Counted.start('proxy', SERVE, env, place);
  // The MCP sessions are kept in the store. Calls of one session at the same time have ids of their own.
  const requests = made.map(request =>
    Array.from({ length: GROUP }, (_, index) => ({
      ...request,
      url: `${counted.server.url}/mcp`,
      body: request.body.replaceAll(ID, String(index + 1)),
    })),
  );
  return { counted, requests, wanted: ANSWERED };
}

const TRACED = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };

/** The caller says whether a request is traced, because chance would change the count. */
function groupOf(request: Request, traced: number): Request[] {
  const { headers } = request;
  return Array.from({ length: GROUP }, (_, index) =>
    index < GROUP - traced ? request : { ...request, headers: { ...headers, ...TRACED } },
  );
}
