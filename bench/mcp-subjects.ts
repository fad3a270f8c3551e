// The lines about the proxy: a tool call to one minimal upstream, made directly, through a bare forwarder, through the
// service, and through the npm packages that peer.ts runs. Each is started and has an MCP session open. The packages
// front a stdio server, which is their child and counted with them, so the service is measured with the same server on
// stdio as well. An HTTP upstream is a separate process and not counted.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { ID, type Request, withId } from './load.ts';
import { hiding, type Policy, plainPolicy } from './policies.ts';
import { onCore, type Server, script } from './process.ts';
import { ARGUMENTS, administer, createKeys, type Place, SERVE, settings, start } from './service.ts';
import type { Running, Subject } from './subjects.ts';

export type Road =
  | 'direct'
  | 'forwarder'
  | 'toolgate'
  | 'toolgate-stdio'
  | 'toolgate-4k'
  | 'mcp-proxy'
  | 'supergateway'
  | 'peer';

/** The tool of the upstream that returns 4 KB. */
export const READS = 'up__read_log';

export const MCP_SUBJECTS: Subject[] = [
  { name: 'mcp-direct', label: 'tools/call, direct', kind: 'floor', road: 'direct', audits: 'nothing' },
  {
    name: 'mcp-floor',
    label: 'tools/call, bare forwarder (HTTP upstream)',
    kind: 'floor',
    road: 'forwarder',
    audits: 'nothing',
  },
  {
    name: 'mcp',
    label: 'tools/call, Toolgate on sqlite (HTTP upstream)',
    kind: 'ours',
    road: 'toolgate',
    audits: 'one entry, synced to disk before the call is forwarded',
  },
  {
    name: 'mcp-stdio',
    label: 'tools/call, Toolgate on sqlite (stdio upstream)',
    kind: 'ours',
    road: 'toolgate-stdio',
    audits: 'one entry, synced to disk before the call is forwarded',
  },
  ...(
    [
      ['mcp-4k', '4 KB back', () => plainPolicy(READS)],
      [
        'mcp-4k-others',
        '4 KB back, secrets are hidden in results of other tools',
        () => hiding(READS, 'crm__*'),
      ],
      ['mcp-4k-hide', '4 KB back, secrets are hidden in them', () => hiding(READS)],
    ] as const
  ).map(
    ([name, what, policy]): Subject => ({
      name,
      label: `tools/call, Toolgate on sqlite (HTTP upstream), ${what}`,
      kind: 'ours',
      road: 'toolgate-4k',
      policy,
      audits: 'one entry, synced to disk before the call is forwarded',
    }),
  ),
  ...(['mcp-proxy', 'supergateway'] as const).map(
    (name): Subject => ({
      name,
      label: `tools/call, ${name} on Node (stdio upstream)`,
      kind: 'peer',
      road: name,
      audits: 'nothing',
    }),
  ),
];

export const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};
const file = (name: string) => path.join(import.meta.dirname, name);

export async function openMcp(subject: Subject, road: Road, place: Place): Promise<Running> {
  const begin = (words: string[], env = {}) => start(subject.name, script(...words), env, place);
  switch (road) {
    case 'direct': {
      const server = await begin([file('upstream.ts')]);
      return running(subject, server, {
        url: `${server.url}/mcp`,
        headers: HEADERS,
        body: call('create_issue'),
      });
    }
    case 'forwarder': {
      const server = await begin([file('forwarder.ts')], { BENCH_UPSTREAM: await openUpstream(place) });
      return running(subject, server, { url: server.url, headers: HEADERS, body: call('up__create_issue') });
    }
    case 'toolgate':
      return openToolgate(subject, place, { name: 'up', transport: 'http', url: await openUpstream(place) });
    case 'toolgate-stdio':
      return openToolgate(subject, place, { name: 'up', transport: 'stdio', server: 'up' });
    case 'toolgate-4k':
      return openToolgate(
        subject,
        place,
        { name: 'up', transport: 'http', url: await openUpstream(place) },
        READS,
      );
    case 'mcp-proxy':
    case 'supergateway': {
      const server = await begin([file('peer.ts'), road]);
      const { url } = (await (await fetch(`${server.url}/readyz`)).json()) as { url: string };
      const headers = await initialize(url, HEADERS);
      return running(subject, server, { url, headers, body: call('create_issue') });
    }
    case 'peer':
      throw new Error(`${subject.name} is opened by its peer`);
  }
}

async function openToolgate(subject: Subject, place: Place, tool: object, called = CALLED): Promise<Running> {
  const config = path.join(place.folder, `${subject.name}.yaml`);
  const up = { command: process.execPath, args: [file('upstream.ts'), '--stdio'] };
  fs.writeFileSync(config, JSON.stringify({ stdioServers: { up } }));
  const env = { ...(await settings(subject.name, 'sqlite', place)), TOOLGATE_CONFIG: config };
  const server = await start(subject.name, script(...SERVE), env, place);
  const policy = subject.policy?.() ?? plainPolicy(called);
  return running(subject, server, await callThrough(server, policy, tool, { called }));
}

/** The tool that the calls through the service are about. */
export const CALLED = 'up__create_issue';

/** The call of a new key, whose only Connected Tool is the upstream. */
export async function callThrough(
  server: Server,
  policy: Policy,
  tool: object,
  { version = HEADERS['mcp-protocol-version'], called = CALLED, name = 'bench' } = {},
): Promise<Request> {
  const [made] = await createKeys(server.url, policy, 1, undefined, name);
  const { id, key } = made!;
  await administer(server.url, `keys/${id}/connected-tools`, tool);
  const url = `${server.url}/mcp`;
  const headers = { ...HEADERS, authorization: `Bearer ${key}`, 'mcp-protocol-version': version };
  return { url, headers: await initialize(url, headers), body: call(called) };
}

function running(subject: Subject, server: Server, request: Request): Running {
  const check = () => checkResult(withId(request));
  return { subject, server, request, check, databaseMicroseconds: () => null };
}

/** An HTTP upstream, on the generator's core: its own work is not counted, and must not slow down what is measured. */
export async function openUpstream(place: Place): Promise<string> {
  const child = Bun.spawn(onCore(1, [process.execPath, file('upstream.ts')]), {
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

/** A call with the same arguments as the checks of the other lines. */
export function call(name: string): string {
  const message = { jsonrpc: '2.0', id: '$id', method: 'tools/call', params: { name, arguments: ARGUMENTS } };
  const text = JSON.stringify(message);
  if (!text.includes(ID)) throw new Error('The call has no place for an id');
  return text;
}

/** Opens an MCP session and returns its headers. */
export async function initialize(
  url: string,
  headers: Record<string, string>,
): Promise<Record<string, string>> {
  const params = {
    protocolVersion: headers['mcp-protocol-version'],
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

/** What one call of that tool answers. */
export async function resultOf(url: string, headers: Record<string, string>, name: string): Promise<string> {
  const { body } = withId({ url, headers, body: call(name) });
  return (await fetch(url, { method: 'POST', headers, body })).text();
}

/** Whole, either the short result or the long one. */
export const ANSWERED = /"text":"(Issue 17 was created\.|2026-03-01T08[^"]*(\\\\.[^"]*)*)"/;

async function checkResult({ url, headers, body }: Request): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers, body });
  const text = await response.text();
  if (response.status !== 200 || !ANSWERED.test(text)) {
    throw new Error(`Expected the tool's result from ${url}, got ${response.status}: ${text}`);
  }
}
