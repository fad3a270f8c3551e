// MCP on both sides of the service, for tests: an upstream over Streamable HTTP that records what reaches it and
// answers as it is told, plain clients of both eras that show every byte, and a service with declared stdio
// servers. The real SDK clients and servers have tests of their own.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newDataDir, sql } from './faults.ts';
import type { Answer, Sent } from './load.ts';
import { nextPort } from './port.ts';
import { said } from './said.ts';
import { BUN, ROOT, type ServiceOptions, startService, type TestService, unlessStalled } from './service.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Any = any;

export interface Heard {
  id: Any;
  method: string;
  params: Any;
  headers: Record<string, string>;
  /** The very bytes. */
  text: string;
  /** Aborted when the gateway goes away. */
  signal: AbortSignal;
  /** Turned away, because its session was forgotten. */
  refused: boolean;
}

/** A result, or any answer at all. */
export type Answering = (call: Heard) => unknown | Response | Promise<unknown | Response>;

export interface UpstreamOptions {
  era?: 'legacy' | 'modern';
  tools?: Any[];
  onCall?: Answering;
  port?: number;
  /** Answers to other methods. */
  others?: Record<string, Answering>;
  capabilities?: Any;
  /** Without sessions, as some servers of the older era are. */
  stateless?: boolean;
}

export const ECHO = { name: 'echo', description: 'Says it again.', inputSchema: { type: 'object' } };

export class RecordingUpstream {
  readonly heard: Heard[] = [];
  readonly options: Required<Omit<UpstreamOptions, 'port'>>;
  readonly sessions = new Set<string>();
  readonly #listeners = new Set<ReadableStreamDefaultController<Uint8Array>>();
  #server: Bun.Server<undefined>;

  constructor(options: UpstreamOptions = {}) {
    this.options = {
      era: 'legacy',
      tools: [ECHO],
      onCall: call => ({ content: [{ type: 'text', text: JSON.stringify(call.params.arguments ?? {}) }] }),
      others: {},
      capabilities: { tools: { listChanged: true }, logging: {} },
      stateless: false,
      ...options,
    };
    this.#server = options.port === undefined ? this.#listenSomewhere() : this.#listen(options.port);
  }

  #listen(port: number): Bun.Server<undefined> {
    return Bun.serve({ hostname: '127.0.0.1', port, idleTimeout: 0, fetch: request => this.#take(request) });
  }

  /** Where it can come back to. */
  #listenSomewhere(): Bun.Server<undefined> {
    for (;;) {
      try {
        return this.#listen(nextPort());
      } catch (error) {
        if ((error as { code?: string }).code !== 'EADDRINUSE') throw error;
      }
    }
  }

  get port(): number {
    return this.#server.port ?? 0;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  /** The calls that ran. */
  get calls(): Heard[] {
    return this.of('tools/call').filter(each => !each.refused);
  }

  get listening(): number {
    return this.#listeners.size;
  }

  of(method: string): Heard[] {
    return this.heard.filter(each => each.method === method);
  }

  /** Says something unasked on every open stream. */
  say(method: string, params: Any = {}): void {
    for (const each of this.#listeners) each.enqueue(encode(event({ jsonrpc: '2.0', method, params })));
  }

  /** Ends every open stream, as proxies on the way do after a while. */
  endStreams(): void {
    for (const each of this.#listeners) each.close();
    this.#listeners.clear();
  }

  stop(): Promise<void> {
    this.sessions.clear();
    this.#listeners.clear();
    return this.#server.stop(true);
  }

  /** Comes back on the same port, having forgotten its sessions. */
  async restart(): Promise<void> {
    const { port } = this;
    await this.stop();
    this.#server = this.#listen(port);
  }

  async #take(request: Request): Promise<Response> {
    const session = request.headers.get('mcp-session-id');
    if (request.method === 'GET') return this.#stream(request);
    if (request.method === 'DELETE') {
      this.sessions.delete(session ?? '');
      return new Response(null, { status: 204 });
    }
    const text = await request.text();
    const { id, method, params } = JSON.parse(text);
    const headers = Object.fromEntries(request.headers.entries());
    const heard: Heard = { id, method, params, headers, text, signal: request.signal, refused: false };
    this.heard.push(heard);
    if (this.options.era === 'legacy' && !this.options.stateless && method !== 'initialize') {
      const wrong = session === null ? 400 : 404;
      heard.refused = !this.sessions.has(session ?? '');
      if (heard.refused) return refusal(wrong, -32001, 'Session not found');
    }
    if (id === undefined) return new Response(null, { status: 202 });
    const answer = await this.#answer(heard);
    return answer instanceof Response ? answer : Response.json({ jsonrpc: '2.0', id, result: answer });
  }

  #answer(heard: Heard): unknown {
    const { tools, onCall, others, capabilities, era, stateless } = this.options;
    const complete = era === 'modern' ? { resultType: 'complete' } : {};
    const other = others[heard.method];
    if (other !== undefined) return other(heard);
    switch (heard.method) {
      case 'initialize': {
        const id = crypto.randomUUID();
        this.sessions.add(id);
        const { protocolVersion } = heard.params;
        const result = { protocolVersion, capabilities, serverInfo: { name: 'recorder', version: '1' } };
        const headers: Record<string, string> = stateless ? {} : { 'Mcp-Session-Id': id };
        return Response.json({ jsonrpc: '2.0', id: heard.id, result }, { headers });
      }
      case 'server/discover':
        if (era === 'legacy') return refusal(400, -32000, 'Bad Request: No valid session ID provided');
        return {
          ...complete,
          supportedVersions: ['2026-07-28'],
          capabilities,
          ttlMs: 0,
          cacheScope: 'private',
        };
      case 'tools/list':
        return { ...complete, tools };
      case 'tools/call':
        return onCall(heard);
      default:
        return error(heard, -32601, 'Method not found');
    }
  }

  #stream(request: Request): Response {
    if (this.options.era === 'modern') return new Response(null, { status: 405 });
    const body = new ReadableStream<Uint8Array>({
      start: controller => {
        this.#listeners.add(controller);
        controller.enqueue(encode(': open\n\n'));
        request.signal.addEventListener('abort', () => this.#listeners.delete(controller));
      },
    });
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
  }
}

export function error(heard: Heard, code: number, message: string, data?: Any): Response {
  return Response.json({ jsonrpc: '2.0', id: heard.id, error: { code, message, ...(data && { data }) } });
}

function refusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
}

/** An answer as a stream of events, written by the given work; ends when the work does. */
export function streamed(work: (send: (message: Any) => void) => Promise<void> | void): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      try {
        await work(message => controller.enqueue(encode(event(message))));
        controller.close();
      } catch {}
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
}

/** Raw bytes of a body, written by the given work. */
export function raw(type: string, work: (write: (text: string) => void) => Promise<void> | void): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      try {
        await work(text => controller.enqueue(encode(text)));
        controller.close();
      } catch {}
    },
  });
  return new Response(body, { headers: { 'Content-Type': type } });
}

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const event = (message: Any): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

// --- clients -------------------------------------------------------------------------------------

export interface Answered {
  status: number;
  headers: Headers;
  text: string;
  /** Every message of the answer, in order; one when it came as JSON. */
  messages: Any[];
  /** The last one. */
  message: Any;
  result: Any;
  error: Any;
}

/** Whether the call got no verdict because its entry was not written in time. */
export const unrecorded = ({ error }: Answered): boolean =>
  error?.message?.includes('could not be recorded') === true;

export interface Sending {
  headers?: Record<string, string>;
  signal?: AbortSignal;
  id?: Any;
}

export async function postMcp(
  service: TestService,
  token: string | null,
  body: unknown,
  { headers = {}, signal }: Sending = {},
): Promise<Answered> {
  const response = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
  return read(response);
}

async function read(response: Response): Promise<Answered> {
  const text = await response.text();
  const streamed = response.headers.get('content-type')?.includes('text/event-stream') === true;
  const messages = streamed ? events(text) : parsed(text);
  const message = messages.at(-1);
  const { status, headers } = response;
  return { status, headers, text, messages, message, result: message?.result, error: message?.error };
}

export function events(text: string): Any[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(found => JSON.parse(found[1] as string));
}

function parsed(text: string): Any[] {
  try {
    return [JSON.parse(text)];
  } catch {
    return [];
  }
}

let nextId = 1;

/** A client of the older era, on one session. */
export class LegacyClient {
  readonly service: TestService;
  readonly token: string;
  readonly sessionId: string;
  readonly initialized: Answered;

  constructor(service: TestService, token: string, initialized: Answered) {
    this.service = service;
    this.token = token;
    this.initialized = initialized;
    this.sessionId = initialized.headers.get('mcp-session-id') ?? '';
  }

  static async open(
    service: TestService,
    token: string,
    protocolVersion = '2025-11-25',
    id: Any = 'init',
    capabilities: Any = {},
  ) {
    const params = { protocolVersion, capabilities, clientInfo: { name: 'test', version: '1' } };
    const answered = await postMcp(service, token, { jsonrpc: '2.0', id, method: 'initialize', params });
    if (answered.status !== 200) throw new Error(`not initialized: ${answered.text}`);
    return new LegacyClient(service, token, answered);
  }

  /** The same session, asked of another replica. */
  at(service: TestService): LegacyClient {
    return new LegacyClient(service, this.token, this.initialized);
  }

  request(method: string, params: Any = {}, sending: Sending = {}): Promise<Answered> {
    const { id = nextId++ } = sending;
    return this.post({ jsonrpc: '2.0', id, method, params }, sending);
  }

  notify(method: string, params: Any = {}): Promise<Answered> {
    return this.post({ jsonrpc: '2.0', method, params });
  }

  post(body: unknown, sending: Sending = {}): Promise<Answered> {
    const headers = { 'Mcp-Session-Id': this.sessionId, ...sending.headers };
    return postMcp(this.service, this.token, body, { ...sending, headers });
  }

  call(name: string, args?: Any, meta?: Any, sending: Sending = {}): Promise<Answered> {
    const params = { name, ...(args && { arguments: args }), ...(meta && { _meta: meta }) };
    return unlessStalled(() => this.request('tools/call', params, sending), unrecorded);
  }

  async tools(): Promise<Any[]> {
    return (await this.request('tools/list')).result.tools;
  }

  listen(signal?: AbortSignal): Promise<Response> {
    return fetch(`${this.service.url}/mcp`, {
      headers: {
        Authorization: `Bearer ${this.token}`,
        Accept: 'text/event-stream',
        'Mcp-Session-Id': this.sessionId,
      },
      ...(signal && { signal }),
    });
  }
}

export const META = 'io.modelcontextprotocol/';

export function envelope(more: Any = {}): Any {
  return { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientCapabilities`]: {}, ...more };
}

/** A request of the newer era, with the headers it wants. */
export function modern(
  service: TestService,
  token: string,
  method: string,
  params: Any = {},
  { headers = {}, id = nextId++, ...sending }: Sending = {},
): Promise<Answered> {
  const name = params.name ?? params.uri ?? params.taskId;
  const wanted: Record<string, string> = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method };
  if (typeof name === 'string') wanted['Mcp-Name'] = name;
  const body = { jsonrpc: '2.0', id, method, params: { ...params, _meta: envelope(params._meta) } };
  return postMcp(service, token, body, { ...sending, headers: { ...wanted, ...headers } });
}

/** A call without arguments, for a load over plain connections (load.ts). */
export function callOf(token: string, name: string): Sent {
  const params = { name, _meta: envelope() };
  return {
    token,
    path: '/mcp',
    headers:
      'Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n' +
      `Mcp-Method: tools/call\r\nMcp-Name: ${name}\r\n`,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  };
}

/** Whether such a call was allowed: the recording server answers with the arguments. */
export function hasRun({ text }: Answer): boolean {
  return text.includes('"jsonrpc"') && JSON.parse(text).result?.content?.[0]?.text === '{}';
}

// --- the service ---------------------------------------------------------------------------------

export interface StdioDeclared {
  command: string;
  args?: string[];
  env?: Record<string, string>;
}

/** The scripted stdio server, with its way of behaving and the file where it writes what it gets. */
export function stdioScript(behaviour: string, file: string): StdioDeclared {
  return { command: BUN, args: [join(ROOT, 'test/mcp/stdio-server.ts'), behaviour, file] };
}

/** A service whose server file declares stdio servers; `end` also removes its folder. */
export async function startWithStdio(
  stdioServers: Record<string, StdioDeclared>,
  options: ServiceOptions = {},
): Promise<{ service: TestService; end: () => Promise<void> }> {
  const dataDir = options.dataDir ?? newDataDir();
  writeFileSync(join(dataDir, 'toolgate.yaml'), JSON.stringify({ stdioServers }));
  const service = await startService({ ...options, dataDir });
  const end = async () => {
    await service.close();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { service, end };
}

export async function connect(
  service: TestService,
  keyId: string,
  name: string,
  where: Any,
): Promise<string> {
  const body = typeof where === 'string' ? { transport: 'http', url: where } : where;
  const made = await service.admin('POST', `/keys/${keyId}/connected-tools`, { name, ...body });
  if (made.status !== 201) throw new Error(`not connected: ${made.text}`);
  return made.body.id;
}

export interface AuditRow {
  id: string;
  decision: string;
  surface: string;
  serverName: string;
  toolName: string;
  reason: string;
}

export async function auditOf(service: TestService, keyId: string): Promise<AuditRow[]> {
  const rows = await sql<AuditRow & { name: string }>(
    service.databaseUrl,
    `SELECT id, decision, surface, server_name AS "serverName", tool_name AS "toolName", reason,
       server_name || '__' || tool_name AS name
     FROM audit WHERE key_id = '${keyId}' ORDER BY id`,
  );
  return said(rows).map(({ name: _, ...row }) => row);
}

export async function outcomesOf(service: TestService, keyId: string): Promise<string[]> {
  const rows = await sql<{ outcome: string }>(
    service.databaseUrl,
    `SELECT o.outcome AS outcome FROM outcomes o JOIN audit a ON a.id = o.tool_call_id
     WHERE a.key_id = '${keyId}' ORDER BY a.id`,
  );
  return rows.map(each => each.outcome);
}

export const text = (answered: Answered): string => answered.result?.content?.[0]?.text ?? '';
