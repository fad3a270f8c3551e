// The lines of the rounds: a bare echo server, policy engines of others, and the service on each engine with few and many rules,
// with conditions, limits, a shadow, details and tracing, and with an empty and a long audit log. This file starts each of
// them. mcp-subjects.ts has the forwarded tool calls; rounds.ts measures the lines.

import { FIELD_CALLS, FIELD_CHECKS, type Peer } from './field/subjects.ts';
import { fillAudit } from './fill.ts';
import type { Request } from './load.ts';
import { MCP_SUBJECTS, openMcp, type Road } from './mcp-subjects.ts';
import {
  asking,
  conditions,
  everything,
  known,
  limited,
  manyConditions,
  manyRules,
  manyStars,
  marked,
  type Policy,
  plainPolicy,
} from './policies.ts';
import { type Server, script } from './process.ts';
import {
  checkAnswer,
  checkRequest,
  createKeys,
  type Engine,
  echoRequest,
  grantTo,
  markAndTell,
  markRun,
  type Place,
  SERVE,
  settings,
  start,
  startEcho,
} from './service.ts';

export interface Subject {
  name: string;
  label: string;
  /** A floor is the least that any server would do; a peer is what people use instead. */
  kind: 'floor' | 'peer' | 'ours';
  /** The line takes minutes to set up, and runs only by name or with --all. */
  slow?: boolean;
  /** What the line records about a call, and how durably. */
  audits: string;
  /** A script beside this file that answers like the echo server. */
  script?: string;
  /** The service, for lines about checks. */
  service?: Service;
  /** What is in front of the upstream, for lines about tool calls. */
  road?: Road;
  /** The policy of such a line, if it is not the plain one. */
  policy?: () => Policy;
  /** The program of others that the line measures. */
  peer?: Peer;
}

interface Service {
  engine: Engine;
  policy: () => Policy;
  /** The policy that judges the calls beside it. */
  shadow?: () => Policy;
  /** What has to happen to a key before the load. */
  prepared?: (url: string, key: string) => Promise<void>;
  /** The keys that share the policy and take turns. */
  keys: number;
  /** More than one process is possible only on PostgreSQL. */
  replicas: number;
  entries: number;
  /** The part of the checks that is traced, if a collector is named. */
  traced?: number;
}

/** A subject that is running, and the request to send to it. */
export interface Running {
  subject: Subject;
  server: Server;
  request: Request;
  check: () => Promise<void>;
  /** Starts it anew with an empty store; called before each measurement. */
  restart?: () => Promise<void>;
  /** What it can be measured with, if it is less than others can. */
  atMost?: { seconds?: number; connections: number };
  /** CPU time that PostgreSQL spends for it. */
  databaseMicroseconds: () => number | null;
}

const MANY_KEYS = 64;

export const SUBJECTS: Subject[] = [
  { name: 'echo', label: 'echo', kind: 'floor', audits: 'nothing', script: 'echo.ts' },
  { name: 'cedar', label: 'cedar-wasm over HTTP', kind: 'peer', audits: 'nothing', script: 'cedar.ts' },
  ...FIELD_CHECKS,
  ...(['sqlite', 'postgres'] as const).flatMap(forEngine),
  ...MCP_SUBJECTS,
  ...FIELD_CALLS,
];

function forEngine(engine: Engine): Subject[] {
  const usual = { engine, policy: plainPolicy, keys: 1, replicas: 1, entries: 0 };
  const line = (name: string, label: string, service: Partial<Service>, slow = false): Subject => ({
    name: `${engine}${name}`,
    label: `check ${engine}, ${label}`,
    kind: 'ours',
    slow,
    audits: 'one entry, synced to disk before the answer',
    service: { ...usual, ...service },
  });
  return [
    line('', '10 rules, empty log', {}),
    line('-rules', '10,000 rules', { policy: manyRules }),
    line('-stars', '10,000 rules like a*b', { policy: manyStars }),
    line('-conditions', '10 rules with conditions', { policy: conditions }),
    line('-shadow', '10 rules, and a shadow with conditions', { shadow: conditions }),
    ...(engine === 'sqlite' ? [line('-traced', 'of which 1 % are traced', { traced: 0.01 })] : []),
    line('-details', '10 rules, a person is asked and shown details, a grant frees the call', {
      policy: asking,
      prepared: grantTo,
    }),
    line('-marks', '10 rules, by the marks of the run', { policy: marked, prepared: markRun }),
    line('-known', '10 rules, by the marks of the run and 3 known values', {
      policy: known,
      prepared: markAndTell,
    }),
    line('-everything', 'conditions, a limit, a shadow, and 1 % are traced', {
      policy: everything,
      shadow: conditions,
      traced: 0.01,
    }),
    line('-many-conditions', '10,000 rules with conditions', { policy: manyConditions }),
    ...limitLines(engine, line),
    line('-entries', '1,000,000 entries', { entries: 1_000_000 }),
    line('-10m-entries', '10,000,000 entries', { entries: 10_000_000 }, true),
  ];
}

/** Limits are measured with many keys, and where that is possible on two replicas, which wait for each other. */
function limitLines(
  engine: Engine,
  line: (name: string, label: string, service: Partial<Service>) => Subject,
): Subject[] {
  const many = { keys: MANY_KEYS, replicas: engine === 'postgres' ? 2 : 1 };
  const told = `${MANY_KEYS} keys${many.replicas > 1 ? `, ${many.replicas} replicas` : ''}`;
  return [
    line('-keys', told, many),
    line('-limits', `${told}, a limit for each`, { ...many, policy: () => limited('key') }),
    line('-shared-limit', `${told}, one limit for all`, { ...many, policy: () => limited('policy') }),
  ];
}

export async function openSubject(subject: Subject, place: Place): Promise<Running> {
  if (subject.peer) return subject.peer.open(subject, place);
  if (subject.road) return openMcp(subject, subject.road, place);
  if (subject.service) return openService(subject, subject.service, place);
  const server = await startEcho(subject.name, subject.script ?? 'echo.ts', place);
  return running(subject, server, echoRequest(server));
}

function running(subject: Subject, server: Server, request: Request): Running {
  return { subject, server, request, check: () => checkAnswer(request), databaseMicroseconds: () => null };
}

/** Settings that send spans to a server that takes them and does nothing else. */
export async function collector(traced: number, place: Place): Promise<Record<string, string>> {
  const { url } = await startEcho('collector', 'collector.ts', place);
  return {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces`,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: String(traced),
  };
}

async function openService(subject: Subject, service: Service, place: Place): Promise<Running> {
  const env = {
    ...(await settings(subject.name, service.engine, place)),
    ...(service.traced !== undefined && (await collector(service.traced, place))),
  };
  const command = script(...SERVE, ...(service.replicas > 1 ? ['--workers', String(service.replicas)] : []));
  let server = await start(subject.name, command, env, place);
  const made = await createKeys(server.url, service.policy(), service.keys, service.shadow?.());
  const keys = made.map(({ key }) => key);
  await Promise.all(keys.map(key => service.prepared?.(server.url, key)));
  if (service.entries > 0) {
    // One real entry, which the fill multiplies.
    await checkAnswer(checkRequest(server, ...keys));
    await server.stop();
    await fillAudit(env.TOOLGATE_DATABASE_URL!, service.entries, done => {
      place.tell(`filling the log of ${subject.label}: ${done.toLocaleString('en')}`);
    });
    server = await start(subject.name, command, env, place);
  }
  const opened = running(subject, server, checkRequest(server, ...keys));
  if (service.engine === 'sqlite') return opened;
  return { ...opened, databaseMicroseconds: () => place.postgres?.cpuMicroseconds() ?? null };
}
