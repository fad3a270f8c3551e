// The cost of a decision that does not come alone: 50 evaluations of AuthZEN in one request, and 50 tool calls in one
// batch of MCP. Denied calls cost a decision and nothing else; for comparison, others are allowed and forwarded.

import { type Figure, summarise } from './figure.ts';
import { drive, type Request, withId } from './load.ts';
import { CALLED, callThrough, openUpstream } from './mcp-subjects.ts';
import { OTHER_TOOL, plainPolicy } from './policies.ts';
import { type Server, script } from './process.ts';
import { ARGUMENTS, createKey, type Place, SERVE, settings, start } from './service.ts';
import type { Finding, Study } from './study.ts';

const BATCH = 50;
/** As many as fit into one group commit, so that requests are not refused because too many checks wait. */
const CONNECTIONS = 16;
const ROUNDS = 5;
const SECONDS = 1;
const WARM_UP_SECONDS = 4;
/** The only revision of MCP that has batches. */
const WITH_BATCHES = '2025-03-26';

export const BATCHES: Study = {
  name: 'batches',
  title: 'Decisions in batches',
  how: `CPU time of the service on SQLite, with ${BATCH} decisions in each request, on ${CONNECTIONS} connections. The upstream is not counted.`,
  run,
};

interface Side {
  name: string;
  label: string;
  server: Server;
  request: Request;
  /** Appears once in an answer for each decision. */
  says: string;
}

async function run(place: Place): Promise<Finding[]> {
  const upstream = { name: 'up', transport: 'http', url: await openUpstream(place) };
  const calls = (allowed: string) => async (server: Server) =>
    batchOf(await callThrough(server, plainPolicy(allowed), upstream, { version: WITH_BATCHES }));
  const open = async (name: string, label: string, says: string, asks: Asks): Promise<Side> => {
    // All calls of all batches are under way at once.
    const env = { ...(await settings(name, 'sqlite', place)), TOOLGATE_MAX_CALLS_PER_CONNECTED_TOOL: '1000' };
    const server = await start(name, script(...SERVE), env, place);
    return { name, label, says, server, request: await asks(server) };
  };
  const sides = [
    await open('authzen-batch', 'AuthZEN', '"decision":true', evaluations),
    await open('mcp-batch', 'MCP, denied', '"text":"Blocked by policy', calls(OTHER_TOOL)),
    await open('mcp-batch-forwarded', 'MCP, forwarded', '"text":"Issue 17 was created."', calls(CALLED)),
  ];
  for (const side of sides) {
    await check(side);
    await drive(side.request, WARM_UP_SECONDS, place.folder, CONNECTIONS);
  }
  const micros = sides.map((): number[] => []);
  for (let round = 1; round <= ROUNDS; round++) {
    place.tell(`batches, round ${round} of ${ROUNDS}`);
    for (const [index, side] of sides.entries()) micros[index]!.push(await perRequest(side, place.folder));
  }
  for (const side of sides) await check(side);
  return sides.flatMap((side, index) => findings(side, micros[index]!));
}

type Asks = (server: Server) => Promise<Request>;

async function evaluations({ url }: Server): Promise<Request> {
  const { key } = await createKey(url);
  const one = { resource: { type: 'tool', id: 'github__create_issue' }, context: { arguments: ARGUMENTS } };
  const shared = { subject: { type: 'agent', id: 'bench' }, action: { name: 'tools/call' } };
  return {
    url: `${url}/access/v1/evaluations`,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ ...shared, evaluations: Array(BATCH).fill(one) }),
  };
}

function batchOf(request: Request): Request {
  return { ...request, body: `[${Array(BATCH).fill(request.body).join(',')}]` };
}

async function perRequest({ server, request }: Side, folder: string): Promise<number> {
  const before = server.cpuMicroseconds();
  const { requests } = await drive(request, SECONDS, folder, CONNECTIONS);
  return (server.cpuMicroseconds() - before) / requests;
}

function findings({ name, label }: Side, micros: readonly number[]): Finding[] {
  const finding = (suffix: string, what: string, figure: Figure) => ({
    name: `${name}${suffix}`,
    label: `${label}: ${what}`,
    unit: 'µs',
    figure,
  });
  return [
    finding('', 'for each decision', summarise(micros.map(each => each / BATCH))),
    finding('-request', 'for the whole request', summarise(micros)),
  ];
}

async function check({ request, says }: Side): Promise<void> {
  const { url, headers, body } = withId(request);
  const response = await fetch(url, { method: 'POST', headers, body });
  const text = await response.text();
  if (response.status !== 200 || text.split(says).length !== BATCH + 1)
    throw new Error(`Expected ${BATCH} times ${says} from ${url}, got ${response.status}: ${text}`);
}
