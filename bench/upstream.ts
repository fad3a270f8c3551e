// A minimal MCP server: a tool with a short result and one with 4 KB of it, answered at once and as JSON, over HTTP in the older era, or over stdio with
// `--stdio`. The benchmark measures what is in front of it.

interface Message {
  id?: string | number;
  method: string;
  params?: Record<string, unknown>;
}

const tool = (name: string, description: string) => ({
  name,
  description,
  inputSchema: { type: 'object', properties: { title: { type: 'string' } } },
});

const TOOLS = [tool('create_issue', 'Creates an issue.'), tool('read_log', 'Reads 4 KB of a log.')];

/** What tools often return: words, paths, times, ids and addresses, and nothing that a detector of secrets finds. */
const LOG = Array.from({ length: 64 }, (_, at) =>
  [
    `2026-03-0${(at % 9) + 1}T08:${10 + (at % 50)}:07.312Z`,
    ['INFO', 'WARN', 'DEBUG'][at % 3],
    ['src/http/server.ts:41', 'GET https://example.com/api/items?page=2', 'user 4711 <ann@example.com>'][
      at % 3
    ],
    ['took 17 ms', `commit 9fceb02d0ae598e95dc970b74767f19372d61af${at % 10}`, '{"ok":true,"n":12}'][at % 3],
  ].join(' '),
)
  .join('\n')
  .slice(0, 4096);

/** Null for a notification. */
function answer({ id, method, params }: Message): object | null {
  if (id === undefined) return null;
  switch (method) {
    case 'initialize':
      return respond(id, {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'bench', version: '1' },
      });
    case 'ping':
      return respond(id, {});
    case 'tools/list':
      return respond(id, { tools: TOOLS });
    case 'tools/call':
      return respond(id, {
        content: [{ type: 'text', text: params?.['name'] === 'read_log' ? LOG : 'Issue 17 was created.' }],
      });
    default:
      return { jsonrpc: '2.0', id, error: { code: -32601, message: `Method not found: ${method}` } };
  }
}

function respond(id: string | number, result: object): object {
  return { jsonrpc: '2.0', id, result };
}

async function serveStdio(): Promise<void> {
  for await (const line of console) {
    const said = answer(JSON.parse(line) as Message);
    if (said !== null) process.stdout.write(`${JSON.stringify(said)}\n`);
  }
}

function serveHttp(): void {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: Number(process.env.TOOLGATE_PORT ?? 0),
    async fetch(request) {
      if (request.method === 'GET')
        return request.url.endsWith('/mcp') ? new Response(null, { status: 405 }) : new Response('ready');
      if (request.method !== 'POST') return new Response(null, { status: 204 });
      const message = (await request.json()) as Message;
      const said = answer(message);
      if (said === null) return new Response(null, { status: 202 });
      return message.method === 'initialize'
        ? Response.json(said, { headers: { 'Mcp-Session-Id': 'bench' } })
        : Response.json(said);
    },
  });
  console.log(`http://127.0.0.1:${server.port}/mcp`);
  process.once('SIGTERM', () => server.stop(true).then(() => process.exit(0)));
}

if (process.argv.includes('--stdio')) await serveStdio();
else serveHttp();

export {};
