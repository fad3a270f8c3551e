// What is measured of the proxy: a tool call to one minimal upstream, made directly, through a bare forwarder,
// through the service, and through the npm package mcp-proxy. Brings each of them up with an MCP session open.

import * as path from 'node:path';
import type { Request } from './load.ts';
import { ID, withId } from './mcp-load.ts';
import { onCore, type Server } from './process.ts';
import type { Place, Running, Subject } from './subjects.ts';

export type Road = 'direct' | 'forwarder' | 'toolgate' | 'mcp-proxy' | 'supergateway';

export const MCP_SUBJECTS: Subject[] = [
  { name: 'mcp-direct', label: 'tools/call, direct', road: 'direct', audits: 'nothing' },
  { name: 'mcp-floor', label: 'tools/call, bare forwarder', road: 'forwarder', audits: 'nothing' },
  {
    name: 'mcp',
    label: 'tools/call, Toolgate on sqlite',
    road: 'toolgate',
    audits: 'one entry, synced to disk before the call is forwarded',
  },
  {
    name: 'mcp-proxy',
    label: 'tools/call, mcp-proxy on Node (stdio upstream)',
    road: 'mcp-proxy',
    audits: 'nothing',
  },
  {
    name: 'supergateway',
    label: 'tools/call, supergateway on Node (stdio upstream)',
    road: 'supergateway',
    audits: 'nothing',
  },
];

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};
const ADMIN_TOKEN = 'bench-admin-token-of-more-than-32-characters';
const script = (name: string) => path.join(import.meta.dirname, name);

type Start = (command: string[], env: Record<string, string>) => Promise<Server>;

export async function openMcp(subject: Subject, road: Road, place: Place, start: Start): Promise<Running> {
  switch (road) {
    case 'direct': {
      const server = await start([script('upstream.ts')], {});
      return running(subject, server, {
        url: `${server.url}/mcp`,
        headers: HEADERS,
        body: call('create_issue'),
      });
    }
    case 'forwarder': {
      const server = await start([script('forwarder.ts')], { BENCH_UPSTREAM: await openUpstream(place) });
      return running(subject, server, { url: server.url, headers: HEADERS, body: call('up__create_issue') });
    }
    case 'toolgate':
      return openToolgate(subject, place, start);
    case 'mcp-proxy':
    case 'supergateway': {
      const server = await start([script(`${road}.ts`)], {});
      const { url } = (await (await fetch(`${server.url}/readyz`)).json()) as { url: string };
      const headers = await initialize(url, HEADERS);
      return running(subject, server, { url, headers, body: call('create_issue') });
    }
  }
}

async function openToolgate(subject: Subject, place: Place, start: Start): Promise<Running> {
  const upstream = await openUpstream(place);
  const dataDir = path.join(place.folder, subject.name);
  const server = await start([script('../src/cli/main.ts'), 'serve'], {
    TOOLGATE_DATA_DIR: dataDir,
    TOOLGATE_DATABASE_URL: `sqlite:${path.join(dataDir, 'bench.db')}`,
    TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    TOOLGATE_LOG_LEVEL: 'warn',
  });
  const key = await createKey(server.url, upstream);
  const headers = await initialize(`${server.url}/mcp`, { ...HEADERS, authorization: `Bearer ${key}` });
  return running(subject, server, { url: `${server.url}/mcp`, headers, body: call('up__create_issue') });
}

function running(subject: Subject, server: Server, request: Request): Running {
  return { subject, server, request, check: () => checkResult(withId(request)) };
}

/** On the generator's core: its own work is not measured and must not wait for what is. */
async function openUpstream(place: Place): Promise<string> {
  const child = Bun.spawn(onCore(1, [process.execPath, script('upstream.ts')]), {
    env: { ...process.env, TOOLGATE_PORT: '0' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  place.resources.defer(async () => {
    child.kill('SIGTERM');
    await child.exited;
  });
  const { value } = await child.stdout.getReader().read();
  return new TextDecoder().decode(value).trim();
}

/** The same arguments as those of a check in the other lines. */
function call(name: string): string {
  const args = {
    owner: 'example',
    repo: 'example',
    title: 'The importer stops at the first empty line',
    body: 'Steps: import the attached file, which has an empty line after the header. Expected: it is skipped.',
    labels: ['bug', 'import'],
  };
  const message = { jsonrpc: '2.0', id: '$id', method: 'tools/call', params: { name, arguments: args } };
  const text = JSON.stringify(message);
  if (!text.includes(ID)) throw new Error('The call has no place for an id');
  return text;
}

/** The headers of a session that is open. */
async function initialize(url: string, headers: Record<string, string>): Promise<Record<string, string>> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  };
  const opened = await post(url, headers, { id: 0, method: 'initialize', params });
  const session = opened.headers.get('mcp-session-id');
  if (!opened.ok || session === null) throw new Error(`initialize answered ${opened.status}: ${url}`);
  await opened.text();
  const inSession = { ...headers, 'mcp-session-id': session };
  await post(url, inSession, { method: 'notifications/initialized' });
  return inSession;
}

function post(url: string, headers: Record<string, string>, message: object): Promise<Response> {
  return fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
}

async function checkResult({ url, headers, body }: Request): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers, body });
  const text = await response.text();
  if (response.status !== 200 || !text.includes('"text":"Issue 17 was created."')) {
    throw new Error(`Expected the tool's result from ${url}, got ${response.status}: ${text}`);
  }
}

/** Ten rules, of which the last allows the call, and the upstream as the key's only Connected Tool. */
async function createKey(url: string, upstream: string): Promise<string> {
  const others = Array.from({ length: 9 }, (_, index) => ({ tool: `server${index}__*`, action: 'deny' }));
  const rules = [...others, { tool: 'up__create_issue', action: 'allow' }];
  const policy = await administer(url, 'policies', { name: 'bench', rules });
  const key = await administer(url, 'keys', { name: 'bench', policyId: policy.id });
  await administer(url, `keys/${key.id}/connected-tools`, { name: 'up', transport: 'http', url: upstream });
  return key.key;
}

async function administer(url: string, what: string, body: object): Promise<{ id: string; key: string }> {
  const headers = { ...HEADERS, authorization: `Bearer ${ADMIN_TOKEN}` };
  const response = await fetch(`${url}/admin/v1/${what}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${what} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: string; key: string };
}
