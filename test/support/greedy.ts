// A program whose requests are all valid, or nearly so, and take as much as they can get: bodies in chunks of one byte and
// bodies that never end, arguments of thousands of members, batches of long lists, answers that nobody reads, sessions
// with thousands of names. It has the tool server that gives large answers too. It prints the address of that server,
// reads what to attack, and goes on until its input ends; then it prints how each request was answered. What must hold
// meanwhile is the tests' business.

import { createConnection } from 'node:net';

/** What one attack asks with, how often at once, and from how many addresses. */
export interface Greed {
  kind: keyof typeof KINDS;
  key?: string;
  atOnce: number;
}

export interface GreedyOptions {
  url: string;
  greeds: Greed[];
}

/** By kind: how often each status came; 0 is an end without an answer. */
export type GreedyAnswers = Record<string, Record<string, number>>;

/** The header by which the service, told to trust this machine as a proxy, knows many addresses. */
const addressOf = (n: number): string => `X-Forwarded-For: 10.9.${n >> 8}.${n & 255}`;

const PATIENCE_MS = 20_000;
/** After a refusal, as somebody who goes on asking would do. */
const REFUSED_MS = 20;
const UNREAD_BYTES = 12 * 1024 * 1024;
const LINES = 4_000_000;

interface Target extends Greed {
  host: string;
  hostname: string;
  port: number;
  /** The number of the connection, by which it has its address. */
  n: number;
  mcpSession?: string;
}

const bearer = ({ key = '' }: Target): string => `Authorization: Bearer ${key}`;

function message(target: Target, path: string, body: string, ...lines: string[]): string {
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${target.host}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...lines,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

const get = ({ host }: Target, path: string, ...lines: string[]): string =>
  `${[`GET ${path} HTTP/1.1`, `Host: ${host}`, ...lines].join('\r\n')}\r\n\r\n`;

const members = (count: number): string =>
  `{"serverName":"x","toolName":"greedy","args":{${Array.from({ length: count }, (_, n) => `"k${n}":${n}`).join()}}}`;

const check = (target: Target, body: string): string => message(target, '/v1/check', body, bearer(target));
const ACCEPTED = members(19_000);
const REFUSED = members(70_000);
const CHUNKS = `${'1\r\n \r\n'.repeat(60_000)}0\r\n\r\n`;
const NAMES = Array.from({ length: 2400 }, (_, n) => `server__tool-${n}`);

function rpc(target: Target, body: unknown): string {
  const session = target.mcpSession === undefined ? [] : [`Mcp-Session-Id: ${target.mcpSession}`];
  return message(target, '/mcp', JSON.stringify(body), bearer(target), ...session);
}

const hundred = (method: string) =>
  Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, method, params: {} }));
const call = (tool: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: `greedy__${tool}` },
});

interface Kind {
  /** What is sent. */
  text: (target: Target) => string;
  /** Whether the answer is left unread, or never comes because the request does not end. */
  holds?: true;
  /** Whether it needs an MCP session. */
  inSession?: true;
}

const KINDS = {
  /** A body without a credential, in chunks of one byte. */
  chunks: {
    text: target =>
      `${['POST /admin/v1/sign-in HTTP/1.1', `Host: ${target.host}`, 'Content-Type: application/json', 'Sec-Fetch-Site: same-origin', addressOf(target.n), 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n${CHUNKS}`,
  },
  /** Bodies of a megabyte, of which the last byte is never sent. */
  hoard: { text: target => check(target, 'x'.repeat(1024 * 1024)).slice(0, -1), holds: true },
  /** Arguments with as many members as are accepted. */
  members: { text: target => check(target, ACCEPTED) },
  manyMembers: { text: target => check(target, REFUSED) },
  lists: { text: target => rpc(target, hundred('tools/list')), inSession: true },
  pings: { text: target => rpc(target, hundred('ping')), inSession: true },
  unread: { text: target => rpc(target, call('large')), holds: true, inSession: true },
  shortLines: { text: target => rpc(target, call('lines')), inSession: true },
  mint: {
    text: target => message(target, '/v1/sessions', JSON.stringify({ scopeTools: NAMES }), bearer(target)),
  },
  sessions: { text: target => get(target, '/v1/sessions', bearer(target)), holds: true },
  pages: { text: target => get(target, '/openapi.json', addressOf(target.n)), holds: true },
} satisfies Record<string, Kind>;

/** The status of the answer, once the whole of it is read; a request that holds is left as it is until the end. */
function exchange(target: Target, kind: Kind, state: { stopped: boolean }): Promise<number> {
  return new Promise(resolve => {
    const socket = createConnection(target.port, target.hostname);
    let head = '';
    let status = 0;
    let left = Number.POSITIVE_INFINITY;
    const end = () => {
      clearTimeout(timer);
      clearInterval(looking);
      socket.destroy();
      resolve(status);
    };
    const timer = setTimeout(end, kind.holds ? 2 ** 30 : PATIENCE_MS);
    const looking = setInterval(() => state.stopped && end(), 100);
    socket.on('data', (chunk: Buffer) => {
      if (status !== 0) left -= chunk.length;
      else {
        head += chunk.toString('latin1');
        const ends = head.indexOf('\r\n\r\n');
        if (ends < 0) return;
        status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0);
        const length = /\r\ncontent-length: *(\d+)/i.exec(head.slice(0, ends + 2))?.[1];
        left = length === undefined ? left : Number(length) - (head.length - ends - 4);
        if (kind.holds && status === 200) socket.pause();
      }
      if (left <= 0 || /\r\n0\r\n\r\n$/.test(chunk.toString('latin1').slice(-7))) end();
    });
    socket.on('close', end);
    socket.on('error', end);
    socket.once('connect', () => socket.write(kind.text(target)));
  });
}

async function openSession(target: Target): Promise<string> {
  const params = {
    protocolVersion: '2025-03-26',
    capabilities: {},
    clientInfo: { name: 'greedy', version: '1' },
  };
  const response = await fetch(`http://${target.host}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${target.key}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  });
  await response.text();
  return response.headers.get('mcp-session-id') ?? '';
}

async function attack({ url, greeds }: GreedyOptions, state: { stopped: boolean }): Promise<GreedyAnswers> {
  const { host, hostname, port } = new URL(url);
  const answers: GreedyAnswers = {};
  const keep = async (greed: Greed, n: number) => {
    const kind: Kind = KINDS[greed.kind];
    const target: Target = { ...greed, host, hostname, port: Number(port), n };
    if (kind.inSession) target.mcpSession = await openSession(target);
    while (!state.stopped) {
      const status = await exchange(target, kind, state);
      answers[greed.kind] ??= {};
      const counts = answers[greed.kind] as Record<string, number>;
      counts[status] = (counts[status] ?? 0) + 1;
      if (status !== 200 && status !== 201) await Bun.sleep(REFUSED_MS);
    }
  };
  await Promise.all(greeds.flatMap(each => Array.from({ length: each.atOnce }, (_, n) => keep(each, n))));
  return answers;
}

// --- the tool server -----------------------------------------------------------------------------

const LARGE = `{"content":[{"type":"text","text":"${'x'.repeat(UNREAD_BYTES)}"}]}`;
const TOOLS = [
  ...['large', 'lines'].map(name => ({ name, description: '', inputSchema: { type: 'object' } })),
  ...Array.from({ length: 1000 }, (_, n) => ({
    name: `tool-${n}`,
    description: 'd'.repeat(3500),
    inputSchema: { type: 'object' },
  })),
];

function toolServer(): string {
  const shortLines = new TextEncoder().encode('data:\n'.repeat(LINES));
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async request => {
      if (request.method !== 'POST') return new Response(null, { status: 405 });
      const { id, method, params } = (await request.json()) as {
        id?: unknown;
        method: string;
        params: { name?: string; protocolVersion?: string };
      };
      if (id === undefined) return new Response(null, { status: 202 });
      const answer = (result: string) =>
        new Response(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`, {
          headers: { 'Content-Type': 'application/json' },
        });
      if (method === 'initialize')
        return answer(
          JSON.stringify({
            protocolVersion: params.protocolVersion,
            capabilities: { tools: {} },
            serverInfo: { name: 'greedy', version: '1' },
          }),
        );
      if (method === 'tools/list') return answer(JSON.stringify({ tools: TOOLS }));
      if (method === 'tools/call' && params.name === 'lines')
        return new Response(shortLines, { headers: { 'Content-Type': 'text/event-stream' } });
      if (method === 'tools/call') return answer(LARGE);
      return Response.json({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
    },
  });
  return `http://127.0.0.1:${server.port}/mcp`;
}

// --- from the test -------------------------------------------------------------------------------

export interface Greedy {
  /** The address of its tool server. */
  toolServer: string;
  begin: (options: GreedyOptions) => void;
  stop: () => Promise<GreedyAnswers>;
}

/** The program in a process of its own. */
export async function startGreedy(): Promise<Greedy> {
  const child = Bun.spawn([process.execPath, import.meta.path], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let said = '';
  while (!said.includes('\n')) said += (await reader.read()).value ?? '\n';
  const stop = async () => {
    child.stdin.end();
    let text = '';
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    return JSON.parse(text) as GreedyAnswers;
  };
  const begin = (options: GreedyOptions) => {
    child.stdin.write(`${JSON.stringify(options)}\n`);
    child.stdin.flush();
  };
  return { toolServer: said.trim(), begin, stop };
}

if (import.meta.main) {
  process.stdout.write(`${toolServer()}\n`);
  const state = { stopped: false };
  let attacking: Promise<GreedyAnswers> = Promise.resolve({});
  process.stdin.once('data', (line: Buffer) => {
    attacking = attack(JSON.parse(line.toString()), state);
  });
  process.stdin.on('end', async () => {
    state.stopped = true;
    process.stdout.write(JSON.stringify(await attacking), () => process.exit(0));
  });
}
