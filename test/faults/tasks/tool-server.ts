// The tool server of this world, a process that is killed at any moment: `tool-server.ts <port> <ledger> <era>`.
// Each run is in the ledger before it is answered. A task of its own needs no memory: its id says how it ends, and when.

import { openSync } from 'node:fs';
import { type Manner, writeLine } from './ledger.ts';
import { TOOLS } from './orders.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const SERVED_MS = 150;

// biome-ignore lint/suspicious/noExplicitAny: messages of MCP
type Any = any;

const [port, file, era] = process.argv.slice(2) as [string, string, 'legacy' | 'modern'];
const ledger = openSync(file, 'a');
const sessions = new Set<string>();
const tools = TOOLS.map(name => ({ name, inputSchema: { type: 'object' } }));

const complete = (result: Any): Any => (era === 'modern' ? { resultType: 'complete', ...result } : result);
const said = (text: string): Any => complete({ content: [{ type: 'text', text }] });
const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('this is never reached');
};

function run(tool: string, n: string): string {
  const nonce = crypto.randomUUID();
  writeLine(ledger, { tool, n, nonce });
  return nonce;
}

async function call({ name, arguments: args, _meta }: Any): Promise<Any> {
  const { n, manner, ms = 0 } = args as { n: string; manner: Manner; ms?: number };
  if (manner === 'dies first') die();
  if (manner === 'slow') await Bun.sleep(ms);
  const nonce = run(name, n);
  if (manner === 'dies after') die();
  if (manner === 'slow') await Bun.sleep(ms);
  const declared = _meta?.['io.modelcontextprotocol/clientCapabilities']?.extensions?.[TASKS] !== undefined;
  if (manner === 'served' && era === 'modern' && declared)
    return { resultType: 'task', ...taskOf(`${nonce}.${Date.now()}`, 'working') };
  return said(nonce);
}

function taskOf(taskId: string, status: string): Any {
  const at = new Date(Number(taskId.split('.')[1])).toISOString();
  return { taskId, status, createdAt: at, lastUpdatedAt: at, ttlMs: 600_000, pollIntervalMs: 50 };
}

function task({ taskId }: Any): Any {
  const [nonce, at] = (taskId as string).split('.') as [string, string];
  if (Date.now() < Number(at) + SERVED_MS) return complete(taskOf(taskId, 'working'));
  return complete({ ...taskOf(taskId, 'completed'), result: said(nonce) });
}

function answer(method: string, params: Any): Any {
  switch (method) {
    case 'server/discover':
      if (era === 'legacy') return null;
      return complete({
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {}, extensions: { [TASKS]: {} } },
        ttlMs: 0,
        cacheScope: 'private',
      });
    case 'tools/list':
      return complete({ tools });
    case 'tools/call':
      return call(params);
    case 'tasks/get':
      return task(params);
    case 'tasks/cancel':
      return complete({});
    default:
      return null;
  }
}

function initialized(id: Any, { protocolVersion }: Any): Response {
  const session = crypto.randomUUID();
  sessions.add(session);
  const serverInfo = { name: 'ledger', version: '1' };
  const result = { protocolVersion, capabilities: { tools: {} }, serverInfo };
  return Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'Mcp-Session-Id': session } });
}

const refused = (id: Any, status: number, code: number): Response =>
  Response.json({ jsonrpc: '2.0', id, error: { code, message: 'refused' } }, { status });

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  idleTimeout: 0,
  fetch: async request => {
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const { id, method, params } = (await request.json()) as Any;
    if (era === 'legacy') {
      if (method === 'initialize') return initialized(id, params);
      // A server that comes back has forgotten its sessions, and has not run what it refuses for that.
      const session = request.headers.get('mcp-session-id');
      if (!sessions.has(session ?? '')) return refused(id ?? null, session === null ? 400 : 404, -32001);
    }
    if (id === undefined) return new Response(null, { status: 202 });
    const result = await answer(method, params);
    return result === null ? refused(id, 404, -32601) : Response.json({ jsonrpc: '2.0', id, result });
  },
});
