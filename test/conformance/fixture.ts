// The Connected Tool that the official conformance scenarios expect behind the gateway, by hand, so that what it
// says is only what is written here. Speaks the older era on /legacy and the newer one on /modern. What it offers
// is in fixture-tools.ts, fixture-tasks.ts and fixture-content.ts; the gateway's own rules are none of its business.

import {
  complete,
  getPrompt,
  PROMPTS,
  RESOURCE_TEMPLATES,
  RESOURCES,
  readResource,
} from './fixture-content.ts';
import { answerTask, TASK_TOOLS, TASKS_EXTENSION } from './fixture-tasks.ts';
import { type Context, Fault, type JsonObject, TOOLS as PLAIN_TOOLS, type Result } from './fixture-tools.ts';

type Era = 'legacy' | 'modern';

interface Message {
  id?: string | number;
  method: string;
  params: JsonObject;
}

const TOOLS = { ...PLAIN_TOOLS, ...TASK_TOOLS };
const CAPABILITIES = { tools: {}, resources: {}, prompts: {}, completions: {}, logging: {} };
const INFO = { name: 'conformance-fixture', version: '1.0.0' };
const ENVELOPE = 'io.modelcontextprotocol/';
const CACHEABLE = /^(server\/discover|.*\/list|resources\/read)$/;

export interface Fixture {
  url: (era: Era) => string;
  stop: () => Promise<void>;
}

export function startFixture(): Fixture {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: serve });
  return {
    url: era => `http://127.0.0.1:${server.port}/${era}`,
    stop: () => server.stop(true),
  };
}

async function serve(request: Request): Promise<Response> {
  const era: Era = new URL(request.url).pathname === '/modern' ? 'modern' : 'legacy';
  if (request.method === 'DELETE') return new Response(null, { status: 204 });
  if (request.method !== 'POST') return new Response(null, { status: 405 });
  const { params = {}, ...rest } = (await request.json()) as Message;
  const message = { ...rest, params };
  if (message.id === undefined || message.method === undefined) return new Response(null, { status: 202 });
  if (message.method === 'tools/call') return callTool(era, message, request.headers);
  try {
    checkTaskName(message, request.headers);
    return answer(message, shaped(era, message.method, await handle(era, message)), sessionHeader(message));
  } catch (error) {
    return refuse(message, error);
  }
}

/** Requests about a task name it in a header, so that whoever stands between can find the server that has it. */
function checkTaskName({ method, params }: Message, headers: Headers): void {
  if (method.startsWith('tasks/') && headers.get('mcp-name') !== params['taskId'])
    throw new Fault(-32020, 'Mcp-Name is not what the body says.', { status: 400 });
}

function handle(era: Era, { method, params }: Message): Result {
  switch (`${era} ${method}`) {
    case 'legacy initialize':
      return { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, serverInfo: INFO };
    case 'modern server/discover':
      return {
        supportedVersions: ['2026-07-28'],
        capabilities: { ...CAPABILITIES, extensions: { [TASKS_EXTENSION]: {} } },
        _meta: { [`${ENVELOPE}serverInfo`]: INFO },
      };
    case 'modern tasks/get':
    case 'modern tasks/update':
    case 'modern tasks/cancel':
      return answerTask(method, params, contextOf(era, params, []).capabilities);
    case 'legacy ping':
    case 'legacy logging/setLevel':
      return {};
  }
  switch (method) {
    case 'tools/list':
      return { tools: Object.entries(TOOLS).map(([name, { run: _, ...shown }]) => ({ name, ...shown })) };
    case 'resources/list':
      return { resources: RESOURCES };
    case 'resources/templates/list':
      return { resourceTemplates: RESOURCE_TEMPLATES };
    case 'resources/read':
      return readResource(String(params['uri']));
    case 'prompts/list':
      return { prompts: PROMPTS };
    case 'prompts/get':
      return getPrompt(params);
    case 'completion/complete':
      return complete();
    default:
      throw new Fault(-32601, `Method not found: ${method}`, { status: 404 });
  }
}

/** As a stream once the tool says something before its result, and as JSON otherwise. */
async function callTool(era: Era, message: Message, headers: Headers): Promise<Response> {
  const { params } = message;
  const tool = TOOLS[String(params['name'])];
  if (tool === undefined) return refuse(message, new Fault(-32602, `Unknown tool: ${params['name']}`));
  if (era === 'modern' && headers.get('mcp-name') !== params['name'])
    return refuse(message, new Fault(-32020, 'Mcp-Name is not what the body says.', { status: 400 }));
  const said: JsonObject[] = [];
  try {
    const result = shaped(era, message.method, await tool.run(contextOf(era, params, said)));
    if (said.length === 0) return answer(message, result);
    return stream([...said, { jsonrpc: '2.0', id: message.id, result }]);
  } catch (error) {
    return refuse(message, error);
  }
}

function contextOf(era: Era, params: JsonObject, said: JsonObject[]): Context {
  const meta = (params['_meta'] ?? {}) as JsonObject;
  const logs = era === 'legacy' || meta[`${ENVELOPE}logLevel`] !== undefined;
  return {
    args: (params['arguments'] ?? {}) as JsonObject,
    progressToken: meta['progressToken'] as string | undefined,
    capabilities: (meta[`${ENVELOPE}clientCapabilities`] ?? {}) as JsonObject,
    answers: (params['inputResponses'] ?? {}) as Record<string, JsonObject>,
    state: params['requestState'] as string | undefined,
    notify(method, notified) {
      if (method === 'notifications/message' && !logs) return;
      said.push({ jsonrpc: '2.0', method, params: notified });
    },
  };
}

function shaped(era: Era, method: string, result: Result): Result {
  if (era === 'legacy') return result;
  const cache = CACHEABLE.test(method) ? { ttlMs: 0, cacheScope: 'private' } : {};
  return { resultType: 'complete', ...cache, ...result };
}

function sessionHeader({ method }: Message): Record<string, string> {
  return method === 'initialize' ? { 'Mcp-Session-Id': crypto.randomUUID() } : {};
}

function answer({ id }: Message, result: Result, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: '2.0', id, result }, { headers });
}

function refuse({ id }: Message, error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  const { code, message, data, status } = error;
  return Response.json({ jsonrpc: '2.0', id, error: { code, message, data } }, { status });
}

function stream(messages: JsonObject[]): Response {
  const events = messages.map(each => `event: message\ndata: ${JSON.stringify(each)}\n\n`);
  return new Response(events.join(''), { headers: { 'Content-Type': 'text/event-stream' } });
}
