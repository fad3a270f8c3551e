// ext_authz over gRPC: a client that writes the protocol by itself, and Envoy where it is installed. What is judged and how is
// tested in ext-authz.test.ts; here, that both roads lead to the same, and what strangers can do to this listener.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import fc from 'fast-check';
import type { Rule } from '../../src/core/policy/policy.ts';
import { field, fieldsOf, join, Malformed, messageAt, textOf } from '../../src/core/wire/protobuf.ts';
import { CHECK_PATH, requestOf } from '../../src/http/grpc/check.ts';
import { createLog } from '../../src/log.ts';
import { start } from '../../src/main.ts';
import { loadConfig } from '../../src/settings/config.ts';
import { Canaries, searchFor } from '../faults/canaries.ts';
import { until } from '../support/faults.ts';
import { auditOf } from '../support/mcp.ts';
import { freePort } from '../support/port.ts';
import { failToStart, startService, type TestService } from '../support/service.ts';
import { whenChanged } from '../support/when-changed.ts';

const RULES: Rule[] = [
  { tool: 'github__read', action: 'allow', when: 'args.path != "/etc"' },
  { tool: 'github__list', action: 'allow' },
  { tool: 'github__pay', action: 'require_approval' },
];

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  raw?: Uint8Array;
  server?: string | null;
}

const entry = (number: number, [key, value]: [string, string]) =>
  field(number, join(field(1, key), field(2, value)));

/** A CheckRequest. */
function asked({ method = 'POST', headers = {}, body, raw, server = 'github' }: Asked): Uint8Array {
  const http = join(
    field(2, method),
    ...Object.entries(headers).map(each => entry(3, each)),
    field(4, '/mcp'),
    ...(body === undefined ? [] : [field(9, body.length), field(11, body)]),
    ...(raw === undefined ? [] : [field(12, raw)]),
  );
  const context = server === null ? [] : [entry(10, ['server', server])];
  return field(1, join(field(4, field(2, http)), ...context));
}

const framed = (message: Uint8Array, flag = 0): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
};

interface Answer {
  grpcStatus: string;
  /** 200, or the status of the denial. */
  status: number;
  body: string;
  text: string;
}

const number = (message: Uint8Array): number =>
  message.slice(1).reduceRight((value, byte) => value * 128 + (byte & 0x7f), 0);

function send(session: ClientHttp2Session, bytes: Uint8Array, path = CHECK_PATH): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request(headers);
    const chunks: Uint8Array[] = [];
    let grpcStatus = '';
    const note = (found: Record<string, unknown>) => {
      grpcStatus = String(found['grpc-status'] ?? grpcStatus);
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('data', chunk => chunks.push(chunk as Uint8Array));
    stream.on('error', reject);
    stream.on('close', () => {
      const message = new Uint8Array(Buffer.concat(chunks).subarray(5));
      const denied = messageAt(message, 2);
      const isAllowed = [...fieldsOf(message)].some(each => each.number === 3);
      const status = isAllowed ? 200 : number(messageAt(denied, 1));
      const body = textOf(messageAt(denied, 3));
      resolve({ grpcStatus, status, body, text: Buffer.concat(chunks).toString('latin1') });
    });
    stream.end(bytes);
  });
}

const call = (name: string, args: unknown = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: args } });

describe('ext-authz over gRPC', () => {
  const canaries = new Canaries();
  const answers: string[] = [];
  let service: TestService;
  let port: number;
  let session: ClientHttp2Session;
  let key: string;
  let keyId: string;
  const open = (): ClientHttp2Session => connect(`http://127.0.0.1:${port}`).on('error', () => {});
  beforeAll(async () => {
    port = await freePort();
    service = await startService({ env: { TOOLGATE_GRPC_PORT: String(port) } });
    ({ key, keyId } = await service.newKey(RULES));
    session = open();
  });
  afterAll(async () => {
    session.destroy();
    await service.close();
  });

  const withKey = (more: Record<string, string> = {}) => ({ authorization: `Bearer ${key}`, ...more });
  const ask = async (what: Asked): Promise<Answer> => {
    const answer = await send(session, framed(asked({ headers: withKey(), ...what })));
    answers.push(answer.text);
    return answer;
  };

  test('a call belongs to the run that the header names', async () => {
    const agent = await service.newKey([
      { tool: 'read', action: 'allow', marks: 'untrusted' },
      { tool: 'list', action: 'allow', when: '!("untrusted" in marks)' },
    ]);
    const status = async (name: string, run: string) => {
      const headers = { authorization: `Bearer ${agent.key}`, 'toolgate-run': run };
      return (await ask({ headers, body: call(name) })).status;
    };
    expect(await status('read', 'one')).toBe(200);
    expect([await status('list', 'one'), await status('list', 'two')]).toEqual([403, 200]);
  });

  test('allows, denies and holds, with one entry each, as over HTTP', async () => {
    const marked = (place: string) => ({ path: canaries.at(place) });
    const modern = { 'mcp-method': 'tools/call', 'mcp-protocol-version': '2026-07-28' };
    const sent: [Asked, number][] = [
      [{ body: call('read', marked('allowed')) }, 200],
      [{ raw: new TextEncoder().encode(call('read', marked('as bytes'))) }, 200],
      [{ body: call('read', { path: '/etc' }) }, 403],
      [{ body: call('pay', marked('held')) }, 403],
      [{ headers: withKey({ ...modern, 'mcp-name': 'list', 'content-length': '99' }) }, 200],
      [{ headers: withKey({ ...modern, 'mcp-name': 'read' }) }, 403],
    ];
    for (const [what, status] of sent) expect((await ask(what)).status).toBe(status);
    const held = JSON.parse((await ask({ body: call('pay', marked('held')) })).body);
    expect(held).toMatchObject({ id: 7, error: { code: 403, data: { decision: 'pending' } } });
    const entries = await auditOf(service, keyId);
    expect(entries.map(each => [each.surface, each.decision, each.toolName])).toEqual([
      ['ext-authz', 'allow', 'read'],
      ['ext-authz', 'allow', 'read'],
      ['ext-authz', 'deny', 'read'],
      ['ext-authz', 'pending', 'pay'],
      ['ext-authz', 'allow', 'list'],
      ['ext-authz', 'deny', 'read'],
      ['ext-authz', 'pending', 'pay'],
    ]);
  });

  test('what cannot be read, named or authenticated is a denial, never an error of gRPC', async () => {
    const before = (await auditOf(service, keyId)).length;
    const body = call('list', { path: canaries.at('refused') });
    const refused: [Asked, number][] = [
      [{ body, headers: {} }, 401],
      [{ body, headers: { authorization: 'Bearer garbage' } }, 401],
      [{ body, server: null }, 403],
      [{ body, server: 'other' }, 403],
      [{ body, server: 'git__hub' }, 403],
      [{ body, headers: withKey({ 'x-toolgate-server': 'other' }) }, 403],
      [{ body, headers: withKey({ 'x-envoy-auth-partial-body': 'true' }) }, 403],
      [{ body: body.slice(0, -1) }, 403],
      [{ body, method: 'GET' }, 403],
      [{ body, method: 'no method' }, 403],
      [{ body, headers: withKey({ 'bad name': 'x' }) }, 403],
      [{ raw: new Uint8Array([0xff, 0xfe]) }, 403],
      [{}, 403],
    ];
    for (const [what, status] of refused) {
      const answer = await ask(what);
      expect([what.method, what.server, answer.grpcStatus, answer.status]).toEqual([
        what.method,
        what.server,
        '0',
        status,
      ]);
    }
    const whole = framed(asked({ headers: withKey(), body }));
    const frames = [
      whole.subarray(0, -1),
      Buffer.concat([whole, whole]),
      framed(asked({ body }), 1),
      Buffer.alloc(0),
    ];
    for (const bytes of [...frames, framed(new Uint8Array([0xff, 0xff]))])
      expect(await send(session, bytes)).toMatchObject({ grpcStatus: '0', status: 403 });
    expect(await send(session, whole, '/grpc.health.v1.Health/Check')).toMatchObject({ grpcStatus: '12' });
    const large = framed(asked({ headers: withKey(), body: 'x'.repeat(2 * 1024 * 1024) }));
    expect(await send(open(), large)).toMatchObject({ grpcStatus: '0', status: 403 });
    const left = (await auditOf(service, keyId)).slice(before);
    expect(left.map(each => [each.decision, each.serverName])).toEqual([['deny', 'other']]);
  });

  whenChanged('src/http/grpc/*.ts')(
    'strangers who open, hold and break streams leave the others alone',
    async () => {
      const hostile = open();
      const request = { ':method': 'POST', ':path': CHECK_PATH, 'content-type': 'application/grpc' };
      for (let at = 0; at < 3000 && !hostile.destroyed; at++) {
        try {
          hostile
            .request(request)
            .on('error', () => {})
            .close(constants.NGHTTP2_CANCEL);
        } catch {
          break;
        }
      }
      const holding = Array.from({ length: 3 }, open);
      let refused = 0;
      for (const each of holding)
        for (let at = 0; at < 100; at++)
          each
            .request(request)
            .on('error', () => {})
            .on('response', () => refused++)
            .write(Buffer.alloc(1_000_000));
      const other = open();
      const answer = await send(other, framed(asked({ headers: withKey(), body: call('list') })));
      expect(answer.status).toBe(200);
      await until('the end of what may be held', () => refused > 0);
      for (const each of [hostile, other, ...holding]) each.destroy();
      expect((await ask({ body: call('list') })).status).toBe(200);
    },
  );

  test('many calls at once, some cancelled, are answered one by one', async () => {
    const many = await Promise.all(
      Array.from({ length: 300 }, (_, at) => {
        if (at % 10 === 0) {
          const stream = session.request({
            ':method': 'POST',
            ':path': CHECK_PATH,
            'content-type': 'application/grpc',
          });
          stream.on('error', () => {});
          stream.end(framed(asked({ headers: withKey(), body: call('list') })));
          stream.close(constants.NGHTTP2_CANCEL);
        }
        return ask({ body: call(at % 2 === 0 ? 'list' : 'no') });
      }),
    );
    expect(many.map(each => each.status)).toEqual(
      Array.from({ length: 300 }, (_, at) => (at % 2 === 0 ? 200 : 403)),
    );
  });

  const envoy = Bun.which('envoy', {
    PATH: `${process.env['TOOLGATE_TEST_GATEWAYS'] ?? ''}/envoy/_bin:${process.env['PATH']}`,
  });
  test.skipIf(envoy === null)(
    'Envoy asks by gRPC',
    async () => {
      const folder = mkdtempSync(joinPath(tmpdir(), 'toolgate-envoy-'));
      const listen = await freePort();
      writeFileSync(joinPath(folder, 'envoy.json'), JSON.stringify(envoyConfig(listen, port)));
      const args = [
        '-c',
        joinPath(folder, 'envoy.json'),
        '--concurrency',
        '1',
        '--use-dynamic-base-id',
        '-l',
        'error',
      ];
      const child = Bun.spawn([envoy as string, ...args], { stdout: 'ignore', stderr: 'ignore' });
      const post = (body: string, headers: Record<string, string> = withKey()) =>
        fetch(`http://127.0.0.1:${listen}/mcp`, { method: 'POST', headers, body });
      try {
        await until(
          'Envoy',
          () =>
            post('', {}).then(
              ({ status }) => status === 401,
              () => false,
            ),
          30_000,
        );
        expect(await (await post(call('list'))).text()).toBe('arrived');
        const denied = await post(call('no'));
        expect([denied.status, ((await denied.json()) as { error: { code: number } }).error.code]).toEqual([
          403, 403,
        ]);
        expect((await post(call('pay'))).status).toBe(403);
      } finally {
        child.kill();
        await child.exited;
        rmSync(folder, { recursive: true, force: true });
      }
    },
    60_000,
  );

  test('a stop lets calls in progress end, and no argument was seen anywhere', async () => {
    const under = Promise.allSettled(Array.from({ length: 20 }, () => ask({ body: call('list') })));
    expect(await service.kill('SIGTERM')).toBe(0);
    // Each has an answer, is refused because the service stops, or finds the connection closed.
    for (const each of await under)
      if (each.status === 'fulfilled') expect([200, 403, 0]).toContain(each.value.status);
    expect(searchFor(canaries, [service.dataDir], [service.output, ...answers])).toEqual([]);
  });
});

function envoyConfig(listen: number, grpc: number): unknown {
  const type = (name: string) => ({ '@type': `type.googleapis.com/envoy.extensions.${name}` });
  const at = (port: number) => ({ socket_address: { address: '127.0.0.1', port_value: port } });
  const extAuthz = {
    name: 'ext_authz',
    typed_config: {
      ...type('filters.http.ext_authz.v3.ExtAuthz'),
      transport_api_version: 'V3',
      with_request_body: { max_request_bytes: 1048576, pack_as_bytes: true },
      grpc_service: { envoy_grpc: { cluster_name: 'toolgate' }, timeout: '5s' },
    },
  };
  const perRoute = {
    ext_authz: {
      ...type('filters.http.ext_authz.v3.ExtAuthzPerRoute'),
      check_settings: { context_extensions: { server: 'github' } },
    },
  };
  const route = {
    match: { prefix: '/' },
    direct_response: { status: 200, body: { inline_string: 'arrived' } },
  };
  const host = { name: 'mcp', domains: ['*'], typed_per_filter_config: perRoute, routes: [route] };
  const manager = {
    ...type('filters.network.http_connection_manager.v3.HttpConnectionManager'),
    stat_prefix: 'mcp',
    http_filters: [extAuthz, { name: 'router', typed_config: type('filters.http.router.v3.Router') }],
    route_config: { virtual_hosts: [host] },
  };
  const http2 = {
    ...type('upstreams.http.v3.HttpProtocolOptions'),
    explicit_http_config: { http2_protocol_options: {} },
  };
  const endpoints = [{ lb_endpoints: [{ endpoint: { address: at(grpc) } }] }];
  return {
    static_resources: {
      listeners: [
        {
          address: at(listen),
          filter_chains: [
            { filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }] },
          ],
        },
      ],
      clusters: [
        {
          name: 'toolgate',
          typed_extension_protocol_options: {
            'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': http2,
          },
          load_assignment: { cluster_name: 'toolgate', endpoints },
        },
      ],
    },
  };
}

test('a port that is taken stops the start with the name of the setting', async () => {
  const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const { port } = taken;
  const said = await failToStart({ env: { TOOLGATE_GRPC_PORT: String(port) } });
  await taken.stop(true);
  expect(said).toContain(`TOOLGATE_GRPC_PORT is ${port}: nobody can listen there (EADDRINUSE).`);
});

test('a start that fails there closes what it had opened', async () => {
  const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const dataDir = mkdtempSync(joinPath(tmpdir(), 'toolgate-test-'));
  const plain = { TOOLGATE_DATA_DIR: dataDir, TOOLGATE_PORT: String(await freePort()) };
  const begin = (env: Record<string, string>) =>
    start(loadConfig(env, dataDir).config, {
      readConfig: () => loadConfig(env, dataDir).config,
      log: createLog('silent', () => {}),
      onFatal: () => {},
      print: async () => {},
    });
  await expect(begin({ ...plain, TOOLGATE_GRPC_PORT: String(taken.port) })).rejects.toThrow(
    'nobody can listen there (EADDRINUSE)',
  );
  await taken.stop(true);
  // The port and the store are free again: a store has one process, which holds its lock.
  const running = await begin(plain);
  await running.stop();
  rmSync(dataDir, { recursive: true });
});

test('a message has a bounded number of fields, so that nobody waits for it to be read', () => {
  const many = (length: number) => Object.fromEntries(Array.from({ length }, (_, at) => [`x-${at}`, 'v']));
  expect([...requestOf(asked({ headers: many(900) })).request.headers].length).toBe(901);
  const tiny = Buffer.alloc(200_000).fill(Uint8Array.from([8 * 15, 0]));
  for (const message of [
    asked({ headers: many(1001) }),
    tiny,
    field(1, tiny),
    field(1, field(4, field(2, tiny))),
  ])
    expect(() => requestOf(message)).toThrow(Malformed);
});

test('any bytes are read as a message or refused, and nothing else happens', () => {
  const seed = 17;
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), (bytes, at) => {
      const whole = asked({ headers: { a: 'b' }, body: call('x') });
      for (const message of [
        bytes,
        Uint8Array.from(whole, (byte, index) => (index === at ? (bytes[0] ?? 0) : byte)),
      ])
        try {
          requestOf(message);
        } catch (error) {
          expect(error instanceof Malformed || error instanceof TypeError).toBe(true);
        }
    }),
    { numRuns: 2000, seed },
  );
});
