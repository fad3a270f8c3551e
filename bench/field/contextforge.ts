// ContextForge, an MCP gateway with users, roles and virtual servers: a call is forwarded if its token may use the virtual
// server and the tool belongs to it. It runs as its documentation starts it, on SQLite, with what its users would switch
// off for speed switched off. It keeps a row with the duration of each call in memory and writes the rows from time to time.

import * as path from 'node:path';
import { SignJWT } from 'jose';
import { call, HEADERS, initialize, openUpstream, resultOf } from '../mcp-subjects.ts';
import { freePort, onCore } from '../process.ts';
import { type Place, start } from '../service.ts';
import type { Running, Subject } from '../subjects.ts';
import { executableOf } from './programs.ts';
import { ALLOWED, checkAnswers, JSON_HEADERS } from './rules.ts';

const ADMIN = 'admin@example.com';
const SECRET = 'a-secret-of-the-benchmark-with-more-than-32-characters';
const PASSWORD = 'Benchmark-17-password';
/** With 64 connections some calls wait longer than a measurement takes. */
const MOST_CONNECTIONS = 8;

export async function openContextForge(subject: Subject, place: Place): Promise<Running> {
  const upstream = await openUpstream(place);
  const port = freePort();
  const options = ['--host', '127.0.0.1', '--port', String(port), '--no-access-log'];
  const command = onCore(0, [executableOf('contextforge'), ...options]);
  const database = path.join(place.folder, `${subject.name}.db`);
  const server = await start(subject.name, command, settings(database, port), place, {
    port,
    health: '/health',
  });
  const authorization = `Bearer ${await token()}`;
  const url = `${server.url}/servers/${await register(server.url, upstream, authorization)}/mcp`;
  const headers = await initialize(url, { ...HEADERS, authorization });
  const tool = (name: string) => (name === ALLOWED ? 'up-create-issue' : name);
  return {
    subject,
    server,
    request: { url, headers, body: call(tool(ALLOWED)) },
    check: () => checkAnswers(name => resultOf(url, headers, tool(name)), 'Issue 17'),
    atMost: { connections: MOST_CONNECTIONS },
    databaseMicroseconds: () => null,
  };
}

function settings(database: string, port: number): Record<string, string> {
  return {
    DATABASE_URL: `sqlite:///${database}`,
    CACHE_TYPE: 'memory',
    HOST: '127.0.0.1',
    PORT: String(port),
    JWT_SECRET_KEY: SECRET,
    AUTH_ENCRYPTION_SECRET: `${SECRET}-of-its-own`,
    PLATFORM_ADMIN_EMAIL: ADMIN,
    PLATFORM_ADMIN_PASSWORD: PASSWORD,
    BASIC_AUTH_PASSWORD: PASSWORD,
    DEFAULT_USER_PASSWORD: PASSWORD,
    // The upstream is on this machine.
    SSRF_ALLOW_LOCALHOST: 'true',
    SSRF_ALLOW_PRIVATE_NETWORKS: 'true',
    // It then keeps one session with the upstream; without, it opens one for each call, which took twice the CPU time.
    USE_STATEFUL_SESSIONS: 'true',
    RATE_LIMITING_ENABLED: 'false',
    COMPRESSION_ENABLED: 'false',
    PLUGINS_ENABLED: 'false',
    MCPGATEWAY_UI_ENABLED: 'false',
    MCPGATEWAY_ADMIN_API_ENABLED: 'false',
    TOKEN_USAGE_LOGGING_ENABLED: 'false',
    LOG_LEVEL: 'ERROR',
  };
}

function token(): Promise<string> {
  return new SignJWT({ username: ADMIN })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(ADMIN)
    .setIssuer('mcpgateway')
    .setAudience('mcpgateway-api')
    .setJti(crypto.randomUUID())
    .setIssuedAt()
    .setExpirationTime('6h')
    .sign(new TextEncoder().encode(SECRET));
}

/** Registers the upstream and a virtual server with its one tool; returns the id of that server. */
async function register(address: string, upstream: string, authorization: string): Promise<string> {
  const headers = { ...JSON_HEADERS, authorization };
  const send = async (what: string, body?: object): Promise<{ id: string }> => {
    const how = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers };
    const response = await fetch(`${address}/v1/${what}`, how);
    if (!response.ok) throw new Error(`${what} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
  await send('gateways', { name: 'up', url: upstream, transport: 'STREAMABLEHTTP' });
  const [tool] = (await send('tools')) as unknown as { id: string }[];
  const { id } = await send('servers', { server: { name: 'bench', associated_tools: [tool?.id] } });
  return id;
}
