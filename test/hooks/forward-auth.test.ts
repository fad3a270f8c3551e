// Real gateways in front of an MCP server, with the configurations of docs/gateways.md and the MCP SDK's client: an
// allowed call arrives, a denied one never does, and nothing passes while the service is away.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { parse } from 'yaml';
import { parsePage } from '../docs/page.ts';
import { until } from '../support/faults.ts';
import { auditOf, type Heard, RecordingUpstream } from '../support/mcp.ts';
import { need } from '../support/need.ts';
import { freePort } from '../support/port.ts';
import { ROOT, startService, type TestService } from '../support/service.ts';

interface Gateway {
  program: string;
  /** Its file in docs/gateways.md. */
  file: string;
  /** What else it needs, and how it is started; `folder` holds the file. */
  start(program: string, folder: string, port: number): string[];
  passes: 'body' | 'headers';
}

const GATEWAYS: Record<string, Gateway> = {
  nginx: {
    program: 'nginx',
    file: 'nginx-mcp.conf',
    start(program, folder) {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const paths = temporary.map(each => `${each}_temp_path ${folder}/${each};`).join(' ');
      writeFileSync(
        join(folder, 'nginx.conf'),
        `daemon off; pid ${folder}/pid; error_log stderr; events {}\nhttp { access_log off; ${paths}\ninclude ${folder}/nginx-mcp.conf; }\n`,
      );
      return [program, '-p', folder, '-c', join(folder, 'nginx.conf')];
    },
    passes: 'headers',
  },
  Caddy: {
    program: 'caddy',
    file: 'Caddyfile',
    start(program, folder) {
      const file = join(folder, 'Caddyfile');
      writeFileSync(
        file,
        `{\n\tadmin off\n\tstorage file_system ${folder}\n}\n${readFileSync(file, 'utf8')}`,
      );
      return [program, 'run', '--config', file, '--adapter', 'caddyfile'];
    },
    passes: 'headers',
  },
  Traefik: {
    program: 'traefik',
    file: 'traefik-mcp.yaml',
    start: (program, folder, port) => [
      program,
      `--providers.file.filename=${join(folder, 'traefik-mcp.yaml')}`,
      `--entryPoints.mcp.address=127.0.0.1:${port}`,
      '--global.checkNewVersion=false',
      '--global.sendAnonymousUsage=false',
    ],
    passes: 'body',
  },
  Envoy: {
    program: 'envoy',
    file: 'envoy.yaml',
    start: (program, folder) => [
      program,
      '-c',
      join(folder, 'envoy.yaml'),
      '--concurrency',
      '1',
      '--use-dynamic-base-id',
      '--log-level',
      'warn',
    ],
    passes: 'body',
  },
};

const { steps } = parsePage(readFileSync(join(ROOT, 'docs/gateways.md'), 'utf8'));
function fileOf(name: string): string {
  const step = steps.find(each => each.kind === 'file' && each.name === name);
  if (step === undefined) throw new Error(`docs/gateways.md has no file ${name}`);
  return step.text;
}

const TOOLS = ['get_customer', 'refund', 'delete_customer'].map(name => ({
  name,
  inputSchema: { type: 'object' },
}));
const result = (resultType?: string) => ({
  content: [{ type: 'text', text: 'done' }],
  ...(resultType && { resultType }),
});

let service: TestService;
let key: string;
let keyId: string;
const servers = {
  body: new RecordingUpstream({ tools: TOOLS, onCall: () => result() }),
  headers: new RecordingUpstream({
    era: 'modern',
    tools: TOOLS,
    onCall: () => result('complete'),
    others: {
      'tools/list': () => ({ resultType: 'complete', tools: TOOLS, ttlMs: 0, cacheScope: 'private' }),
    },
  }),
};
beforeAll(async () => {
  const other = 'initialize,ping,tools/list,notifications/*,server/discover';
  service = await startService({ env: { TOOLGATE_EXT_AUTHZ_OTHER: other } });
  ({ key, keyId } = await service.newKey(parse(fileOf('gateway.yaml')).rules));
});
afterAll(async () => {
  await service.close();
  await Promise.all(Object.values(servers).map(each => each.stop()));
});

/** Runs a gateway, which asks at `toolgate`, while `work` goes on. */
async function running(
  gateway: Gateway,
  program: string,
  toolgate: string,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'toolgate-gateway-'));
  const ports = { 8787: new URL(toolgate).port, 9000: servers[gateway.passes].port, 8080: port };
  const text = fileOf(gateway.file).replace(/\b(?:8787|9000|8080)\b/g, found =>
    String(ports[found as never]),
  );
  writeFileSync(join(folder, gateway.file), text);
  const child = Bun.spawn(gateway.start(program, folder, port), {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder },
    stdout: 'ignore',
    stderr: Bun.file(join(folder, 'log')),
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  try {
    // Traefik answers 404 before it has read its file.
    const answers = async () => {
      if (child.exitCode !== null) throw new Error(readFileSync(join(folder, 'log'), 'utf8'));
      const status = (await fetch(url, { method: 'POST' }).catch(() => null))?.status ?? 404;
      return status !== 404;
    };
    await until('a gateway that asks', answers, 30_000);
    await work(url);
  } finally {
    child.kill();
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

async function connected(url: string, { passes }: Gateway): Promise<Client> {
  const mode = passes === 'headers' ? ({ pin: '2026-07-28' } as const) : 'legacy';
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

const call = (client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> =>
  client.callTool({ name, arguments: args }).then(
    () => 'done',
    error => `${error.status ?? error.data?.status ?? ''} ${error.message}`,
  );

const arrived = (calls: Heard[]) => calls.map(each => [each.params.name, each.params.arguments]);

/** Where `.ci/gateways` has put them, besides the usual places. */
const INSTALLED = process.env['TOOLGATE_TEST_GATEWAYS'] ?? '';
const PLACES = [process.env['PATH'], '/usr/sbin', join(INSTALLED, 'envoy/_bin'), join(INSTALLED, 'bin')];

const programOf = ({ program }: Gateway): string | null => Bun.which(program, { PATH: PLACES.join(':') });

/** nginx has to be there in CI. The others come from an index that some machines do not reach. */
function isThere(name: string, gateway: Gateway): boolean {
  const found = programOf(gateway) !== null;
  const what = `${name} (the program ${gateway.program}; .ci/run installs it)`;
  if (name === 'nginx') return need(found, what);
  if (!found) console.warn(`\n*** SKIPPED, because this machine lacks it: ${what} ***\n`);
  return found;
}

describe('real gateways', () => {
  for (const [name, gateway] of Object.entries(GATEWAYS)) {
    const program = programOf(gateway);
    test.skipIf(!isThere(name, gateway))(
      `${name}: what is allowed arrives at the server, and nothing else`,
      () =>
        running(gateway, program as string, service.url, async url => {
          const server = servers[gateway.passes];
          const [calls, entries] = [server.calls.length, (await auditOf(service, keyId)).length];
          const client = await connected(url, gateway);
          const listed = (await client.listTools()).tools.map(each => each.name);
          expect(listed).toEqual(TOOLS.map(each => each.name));
          const answers = [
            await call(client, 'get_customer', { id: 7 }),
            await call(client, 'refund', { amount: 20 }),
            await call(client, 'refund', { amount: 100 }),
            await call(client, 'delete_customer', { id: 7 }),
          ];
          await client.close();
          const withBody = gateway.passes === 'body';
          expect(answers.map(each => each === 'done')).toEqual([true, withBody, false, false]);
          expect(answers[3]).toContain('403');
          const allowed = [['get_customer', { id: 7 }], ...(withBody ? [['refund', { amount: 20 }]] : [])];
          const heard = server.calls.slice(calls);
          expect(arrived(heard)).toEqual(allowed as never);
          expect(heard.filter(each => each.headers['authorization'] !== undefined)).toEqual([]);
          const recorded = (await auditOf(service, keyId)).slice(entries);
          expect(recorded.map(each => [each.surface, each.toolName, each.decision])).toEqual([
            ['ext-authz', 'get_customer', 'allow'],
            ['ext-authz', 'refund', withBody ? 'allow' : 'deny'],
            ['ext-authz', 'refund', withBody ? 'pending' : 'deny'],
            ['ext-authz', 'delete_customer', 'deny'],
          ]);
          await forged(url, gateway);
          expect(server.calls.length).toBe(calls + allowed.length);
          await upgrading(url);
          expect(server.heard.filter(each => each.headers['upgrade'] !== undefined)).toEqual([]);
        }),
      60_000,
    );
  }

  /** What a client sends to be judged as something else than what it does. None of it may arrive. */
  async function forged(url: string, { passes }: Gateway): Promise<void> {
    const body = (name: string) =>
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } });
    const modern = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call' };
    const attempts: [Record<string, string>, string][] = [
      [{}, body('delete_customer')],
      [{ 'X-Toolgate-Server': 'other' }, body('delete_customer')],
      [{ 'X-Forwarded-Method': 'GET', 'X-Original-Method': 'GET' }, body('delete_customer')],
      [{ ...modern, 'Mcp-Name': 'delete_customer' }, body('delete_customer')],
      [{ ...modern, 'Mcp-Name': 'get_customer, delete_customer' }, body('delete_customer')],
      [{ ...modern, 'Mcp-Method': 'notifications/x, tools/call' }, body('delete_customer')],
      [{}, `[${body('get_customer')},${body('delete_customer')}]`],
      // With headers alone, these would pass: only the server can compare them with the body.
      ...((passes === 'body'
        ? [
            [{ ...modern, 'Mcp-Name': 'get_customer' }, body('delete_customer')],
            [{ ...modern, 'Mcp-Method': 'ping' }, body('delete_customer')],
            [{ 'Content-Encoding': 'br' }, body('get_customer')],
          ]
        : [[{}, body('get_customer')]]) as [Record<string, string>, string][]),
    ];
    for (const [headers, text] of attempts) {
      const all = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers };
      const { status } = await fetch(url, { method: 'POST', headers: all, body: text });
      expect([headers, status]).toEqual([headers, 403]);
    }
  }

  /** Sends an allowed call that wants the connection to change its protocol, and reads the first bytes of the answer. */
  async function upgrading(url: string): Promise<void> {
    const { hostname, port, host } = new URL(url);
    const params = { name: 'get_customer', arguments: {} };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const lines = [
      'POST /mcp HTTP/1.1',
      `Host: ${host}`,
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      'MCP-Protocol-Version: 2026-07-28',
      'Mcp-Method: tools/call',
      'Mcp-Name: get_customer',
      'Connection: Upgrade',
      'Upgrade: websocket',
      `Content-Length: ${body.length}`,
    ];
    await new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`),
      );
      socket.on('data', () => socket.destroy());
      socket.on('close', () => resolve());
      socket.on('error', reject);
    });
  }

  for (const [name, gateway] of Object.entries(GATEWAYS)) {
    const program = programOf(gateway);
    test.skipIf(program === null)(
      `${name}: nothing passes while the service cannot record, is overloaded or is away`,
      async () => {
        let status = 401;
        const failing = Bun.serve({
          hostname: '127.0.0.1',
          port: 0,
          fetch: () => new Response(null, { status }),
        });
        await running(gateway, program as string, failing.url.href, async url => {
          const before = servers[gateway.passes].heard.length;
          const ask = async () => {
            const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
            const headers = { 'Content-Type': 'application/json' };
            expect((await fetch(url, { method: 'POST', headers, body })).status).toBeGreaterThanOrEqual(400);
          };
          for (status of [500, 503, 404]) await ask();
          await failing.stop(true);
          await ask();
          expect(servers[gateway.passes].heard.length).toBe(before);
        });
      },
      60_000,
    );
  }
});
