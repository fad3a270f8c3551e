// Measures the cost of reading a long audit log: pages by every kind of filter, statistics, replays and an export, over HTTP,
// with ten million entries of many keys, tools and sessions. It prints medians, and fails only when an answer is wrong.

import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres } from '../test/support/postgres.ts';
import { type Filled, fillVaried } from './fill.ts';
import { type Server, script, startServer } from './process.ts';

const USAGE = `Usage: npm run bench:reads -- [options]

  --entries <n>      length of the log (10000000)
  --engines <names>  sqlite, postgres, or both by comma (sqlite,postgres)
  --wait <seconds>   how long to wait until the log is counted; statistics and replays are left out if it is not by then (1200)
  --help             print this
`;
const ADMIN_TOKEN = 'bench-admin-token-of-more-than-32-characters';
const TIMES = 7;

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '10000000' },
    engines: { type: 'string', default: 'sqlite,postgres' },
    wait: { type: 'string', default: '1200' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const entries = Number(values.entries);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'toolgate-reads-'));

try {
  for (const engine of values.engines.split(',')) {
    if (engine === 'sqlite') await measure(engine, `sqlite:${path.join(folder, 'reads.db')}`);
    else await onPostgres();
  }
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}

async function onPostgres(): Promise<void> {
  const postgres = await startPostgres();
  if (postgres === null) return console.error('No PostgreSQL found: its lines are left out.');
  try {
    await measure('postgres', await postgres.createDatabase());
  } finally {
    await postgres.close();
  }
}

async function measure(engine: string, databaseUrl: string): Promise<void> {
  // The first start creates the tables.
  const first = await open(engine, databaseUrl);
  const policy = await newPolicy(first, 'read', [{ tool: '*', action: 'allow' }]);
  await first.stop();
  const begun = performance.now();
  const filled = await fillVaried(databaseUrl, entries, policy);
  console.log(`\n${engine}, ${entries.toLocaleString('en')} entries, filled in ${seconds(begun)} s`);
  const server = await open(engine, databaseUrl);
  try {
    const counted = await rolledUp(server);
    for (const [what, query] of Object.entries(requests(filled))) {
      if (counted || !query.startsWith('stats')) await time(server, what, query);
    }
    if (counted) await replayed(server, policy.id);
    await time(server, 'an approval with its context', `approvals/${await heldCall(server)}`);
    await search(server, 'a pair that never meets, to the end', neverMet(filled));
    await exported(server);
  } finally {
    await server.stop();
  }
}

function open(engine: string, databaseUrl: string): Promise<Server> {
  const command = script(path.join(import.meta.dirname, '../src/cli/main.ts'), 'serve');
  const env = {
    TOOLGATE_DATA_DIR: path.join(folder, engine),
    TOOLGATE_DATABASE_URL: databaseUrl,
    TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    TOOLGATE_LOG_LEVEL: 'warn',
    // Otherwise the sealing of ten million entries would be measured too.
    TOOLGATE_SEALING: 'false',
  };
  return startServer(command, env, path.join(folder, `${engine}.log`));
}

function requests({ keyIds, tools, sessionIds, from, to }: Filled): Record<string, string> {
  const [key, tool, session] = [keyIds[3], tools[3], sessionIds[sessionIds.length >> 1]];
  const middle = new Date((from + to) / 2).toISOString();
  const hour = new Date((from + to) / 2 + 3_600_000).toISOString();
  return {
    'newest page': 'audit?limit=50',
    'page in the middle': `audit?limit=50&to=${middle}`,
    'an hour in the middle': `audit?limit=50&from=${middle}&to=${hour}`,
    'one key': `audit?limit=50&keyId=${key}`,
    'one tool': `audit?limit=50&tool=${tool}`,
    'one session': `audit?limit=50&sessionId=${session}`,
    denied: 'audit?limit=50&decision=deny',
    'over MCP': 'audit?limit=50&surface=mcp',
    'a tool nobody called': 'audit?limit=50&tool=nothing',
    'a part of one name': 'audit?limit=50&tool=OOL_33',
    'a pattern for eleven tools': 'audit?limit=50&tool=*_3*',
    'a part of a hundred names': 'audit?limit=50&tool=tool',
    'a part of a hundred names, one key': `audit?limit=50&tool=tool&keyId=${key}`,
    'eleven tools, denied': 'audit?limit=50&tool=*_3*&decision=deny',
    'suggestions for a name': 'audit/tools?like=3',
    'one key, denied': `audit?limit=50&keyId=${key}&decision=deny`,
    'one session, one tool': `audit?limit=50&sessionId=${session}&tool=${tool}`,
    'one key, its tool, allowed, over MCP': `audit?limit=50&keyId=${key}&tool=${tool}&decision=allow&surface=mcp`,
    'a pair that never meets, one page': neverMet({ keyIds, tools, sessionIds, from, to }),
    'statistics of an hour': 'stats?window=1h',
    'statistics of a day': 'stats?window=24h',
    'statistics of 7 days': 'stats?window=7d',
    'statistics of 90 days': 'stats?window=90d',
  };
}

/** Each tool belongs to one key. */
function neverMet({ keyIds, tools }: Filled): string {
  return `audit?limit=50&keyId=${keyIds[0]}&tool=${tools[1]}`;
}

function time(server: Server, what: string, query: string): Promise<void> {
  return repeat(what, () => get(server, query));
}

async function repeat(what: string, work: () => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < TIMES; n++) times.push(await timeOf(work));
  line(what, spread(times));
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** The median, and in brackets the shortest and the longest time. */
function spread(times: number[]): string {
  times.sort((a, b) => a - b);
  return `${times[times.length >> 1]?.toFixed(1)} ms (${times[0]?.toFixed(1)}-${times.at(-1)?.toFixed(1)})`;
}

async function search(server: Server, what: string, query: string): Promise<void> {
  const begun = performance.now();
  let pages = 0;
  for (let cursor: string | null = ''; cursor !== null; pages++) {
    const page: { nextCursor: string | null } = await get(server, `${query}${cursor && `&cursor=${cursor}`}`);
    cursor = page.nextCursor;
  }
  line(what, `${seconds(begun)} s, ${pages} pages`);
}

async function exported(server: Server): Promise<void> {
  const begun = performance.now();
  const response = await ask(server, 'audit/export');
  let bytes = 0;
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    bytes += chunk.length;
    if (performance.now() - begun > 5000) break;
  }
  line('export', `${Math.round(bytes / 1e6 / ((performance.now() - begun) / 1000))} MB/s`);
}

/** Waits until the service has counted the log, because only then are statistics as fast as in production. */
async function rolledUp(server: Server): Promise<boolean> {
  const begun = performance.now();
  const end = begun + Number(values.wait) * 1000;
  let counted = false;
  while (!counted && performance.now() < end) {
    await Bun.sleep(500);
    counted = (await lag(server)) < 120;
  }
  line(
    'counting the whole log, in the background',
    counted ? `${seconds(begun)} s` : `not in ${values.wait} s`,
  );
  return counted;
}

async function lag(server: Server): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^toolgate_rollup_lag_seconds (\S+)/m.exec(text)?.[1] ?? Number.POSITIVE_INFINITY);
}

/** Makes a call that waits for approval, and returns its referenceId. */
async function heldCall(server: Server): Promise<string> {
  const rules = [{ tool: '*', action: 'require_approval' }];
  const policy = await newPolicy(server, 'held', rules);
  const key = await newKey(server, 'held', policy.id);
  const call = { serverName: 'server', toolName: 'tool' };
  return (await post<{ referenceId: string }>(server, '/v1/check', key, call)).referenceId;
}

interface Policy {
  id: string;
  name: string;
}

function newPolicy(server: Server, name: string, rules: object[]): Promise<Policy> {
  return post(server, '/admin/v1/policies', ADMIN_TOKEN, { name, rules });
}

async function newKey(server: Server, name: string, policyId: string): Promise<string> {
  const made = await post<{ key: string }>(server, '/admin/v1/keys', ADMIN_TOKEN, { name, policyId });
  return made.key;
}

/** Replays drafts over the whole log, alone and while checks are made one after another. */
async function replayed(server: Server, policyId: string): Promise<void> {
  const drafts = {
    'replay that changes every call': [{ tool: '*', action: 'deny' }],
    'replay that reads arguments': [{ tool: '*', action: 'allow', when: 'args.amount < 5' }],
  };
  const ask = (rules: object[]) =>
    post(server, `/admin/v1/policies/${policyId}/replay`, ADMIN_TOKEN, { rules });
  for (const [what, rules] of Object.entries(drafts)) await repeat(what, () => ask(rules));
  const key = await newKey(server, 'busy', policyId);
  const check = () => post(server, '/v1/check', key, { serverName: 'server', toolName: 'tool' });
  line('a check', spread(await whileOf(() => Bun.sleep(2000), check)));
  const replays = async () => {
    for (let n = 0; n < TIMES; n++) for (const rules of Object.values(drafts)) await ask(rules);
  };
  line('a check during replays', spread(await whileOf(replays, check)));
}

/** The times of `work`, which is done again and again until the other has ended. */
async function whileOf(other: () => Promise<void>, work: () => Promise<unknown>): Promise<number[]> {
  let ended = false;
  const end = other().finally(() => {
    ended = true;
  });
  const times: number[] = [];
  while (!ended) times.push(await timeOf(work));
  await end;
  return times;
}

async function post<Answer>(server: Server, address: string, token: string, body: unknown): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(server.url + address, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${address} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

async function ask(server: Server, query: string): Promise<Response> {
  const response = await fetch(`${server.url}/admin/v1/${query}`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  if (!response.ok) throw new Error(`${query} answered ${response.status}: ${await response.text()}`);
  return response;
}

async function get<Answer>(server: Server, query: string): Promise<Answer> {
  return (await (await ask(server, query)).json()) as Answer;
}

function line(what: string, figure: string): void {
  console.log(`  ${what.padEnd(44)} ${figure}`);
}

function seconds(begun: number): string {
  return ((performance.now() - begun) / 1000).toFixed(1);
}
