// What is measured: a bare echo server, and the service on each engine with few and many rules and an
// empty and a long audit log; forwarded tool calls are mcp-subjects.ts. Brings each of them up, ready to be
// asked. Driving them is load.ts.

import * as path from 'node:path';
import { fillAudit } from './fill.ts';
import type { Request } from './load.ts';
import { MCP_SUBJECTS, openMcp, type Road } from './mcp-subjects.ts';
import { type Server, startServer } from './process.ts';

type Engine = 'sqlite' | 'postgres';

export interface Subject {
  name: string;
  label: string;
  /** Takes minutes to set up. */
  onlyByName?: boolean;
  /** What it records of a call, and how durably. */
  audits: string;
  /** A script beside this file that answers like the echo server. */
  script?: string;
  /** For checks; the echo server has neither this nor a road. */
  service?: Service;
  /** For tool calls: what stands before the upstream. */
  road?: Road;
}

interface Service {
  engine: Engine;
  rules: number;
  pattern: (index: number) => string;
  entries: number;
}

/** A subject that runs, and the request that it is to be asked. */
export interface Running {
  subject: Subject;
  server: Server;
  request: Request;
  /** One request, read in full: a load that is answered fast and wrong would look good. */
  check: () => Promise<void>;
}

const FEW_RULES = 10;
const MANY_RULES = 10_000;
const MANY_ENTRIES = 1_000_000;
const MOST_ENTRIES = 10_000_000;
const ADMIN_TOKEN = 'bench-admin-token-of-more-than-32-characters';

/** Rules as people write them: mostly single tools, some whole servers, some kinds of tool everywhere. */
function usualPattern(index: number): string {
  if (index % 10 === 3) return `server${index}__*`;
  if (index % 10 === 7) return `*__drop_${index}`;
  return `server${index % 100}__tool_${index}`;
}

/** A star in the middle, which no table can look up. */
const middlePattern = (index: number): string => `server${index}__*_tool_${index}`;

const NOTHING = 'nothing';

export const SUBJECTS: Subject[] = [
  { name: 'echo', label: 'echo', audits: NOTHING, script: 'echo.ts' },
  { name: 'cedar', label: 'cedar-wasm over HTTP', audits: NOTHING, script: 'cedar.ts' },
  ...(['sqlite', 'postgres'] as const).flatMap(forEngine),
  ...MCP_SUBJECTS,
];

function forEngine(engine: Engine): Subject[] {
  return linesOf(engine).map(line => ({ ...line, audits: 'one entry, synced to disk before the answer' }));
}

function linesOf(engine: Engine): Omit<Subject, 'audits'>[] {
  const usual = { engine, rules: FEW_RULES, pattern: usualPattern, entries: 0 };
  return [
    { name: engine, label: `check ${engine}, 10 rules, empty log`, service: usual },
    {
      name: `${engine}-rules`,
      label: `check ${engine}, 10,000 rules`,
      service: { ...usual, rules: MANY_RULES },
    },
    {
      name: `${engine}-stars`,
      label: `check ${engine}, 10,000 rules like a*b`,
      service: { ...usual, rules: MANY_RULES, pattern: middlePattern },
    },
    {
      name: `${engine}-entries`,
      label: `check ${engine}, 1,000,000 entries`,
      service: { ...usual, entries: MANY_ENTRIES },
    },
    {
      name: `${engine}-10m-entries`,
      label: `check ${engine}, 10,000,000 entries`,
      service: { ...usual, entries: MOST_ENTRIES },
      onlyByName: true,
    },
  ];
}

const HEADERS = { 'content-type': 'application/json' };
const CALL = JSON.stringify({
  serverName: 'github',
  toolName: 'create_issue',
  args: {
    owner: 'example',
    repo: 'example',
    title: 'The importer stops at the first empty line',
    body: 'Steps: import the attached file, which has an empty line after the header. Expected: it is skipped.',
    labels: ['bug', 'import'],
  },
});

/** Where a subject lives: its folder, its PostgreSQL, and what is taken down at the end. */
export interface Place {
  folder: string;
  newDatabase(): Promise<string>;
  resources: AsyncDisposableStack;
}

export async function openSubject(subject: Subject, place: Place): Promise<Running> {
  if (subject.road)
    return openMcp(subject, subject.road, place, (command, env) => start(subject, command, env, place));
  return subject.service ? openService(subject, subject.service, place) : openEcho(subject, place);
}

function running(subject: Subject, server: Server, request: Request): Running {
  return { subject, server, request, check: () => checkAnswer(request) };
}

async function openEcho(subject: Subject, place: Place): Promise<Running> {
  const server = await start(
    subject,
    [path.join(import.meta.dirname, subject.script ?? 'echo.ts')],
    {},
    place,
  );
  return running(subject, server, { url: `${server.url}/`, headers: HEADERS, body: CALL });
}

async function openService(subject: Subject, service: Service, place: Place): Promise<Running> {
  const dataDir = path.join(place.folder, subject.name);
  const databaseUrl =
    service.engine === 'sqlite' ? `sqlite:${path.join(dataDir, 'bench.db')}` : await place.newDatabase();
  const command = [path.join(import.meta.dirname, '..', 'src', 'cli', 'main.ts'), 'serve'];
  const env = {
    TOOLGATE_DATA_DIR: dataDir,
    TOOLGATE_DATABASE_URL: databaseUrl,
    TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    TOOLGATE_LOG_LEVEL: 'warn',
  };
  let server = await start(subject, command, env, place);
  const key = await createKey(server.url, service);
  if (service.entries > 0) {
    // One real entry, for the fill to multiply.
    await checkAnswer(checkRequest(server, key));
    await server.stop();
    await fillAudit(databaseUrl, service.entries);
    server = await start(subject, command, env, place);
  }
  return running(subject, server, checkRequest(server, key));
}

async function start(
  subject: Subject,
  command: string[],
  env: Record<string, string>,
  place: Place,
): Promise<Server> {
  const server = await startServer(command, env, path.join(place.folder, `${subject.name}.log`));
  place.resources.defer(() => server.stop());
  return server;
}

async function checkAnswer({ url, headers, body }: Request): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers, body });
  const text = await response.text();
  if (response.status !== 200 || (JSON.parse(text) as { decision: string }).decision !== 'allow') {
    throw new Error(`Expected an allow from ${url}, got ${response.status}: ${text}`);
  }
}

function checkRequest(server: Server, key: string): Request {
  return {
    url: `${server.url}/v1/check`,
    headers: { ...HEADERS, authorization: `Bearer ${key}` },
    body: CALL,
  };
}

/** A key whose policy allows the call by its last rule, so that all others have to be ruled out. */
async function createKey(url: string, service: Service): Promise<string> {
  const deny = (index: number) => ({ tool: service.pattern(index), action: 'deny' });
  const others = Array.from({ length: service.rules - 1 }, (_, index) => deny(index));
  const rules = [...others, { tool: 'github__create_issue', action: 'allow' }];
  const policy = await administer<{ id: string }>(url, 'policies', { name: 'bench', rules });
  const { key } = await administer<{ key: string }>(url, 'keys', { name: 'bench', policyId: policy.id });
  return key;
}

async function administer<Answer>(url: string, what: string, body: object): Promise<Answer> {
  const response = await fetch(`${url}/admin/v1/${what}`, {
    method: 'POST',
    headers: { ...HEADERS, authorization: `Bearer ${ADMIN_TOKEN}` },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${what} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}
