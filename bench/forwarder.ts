// The floor of a forwarded tool call: what any JSON-RPC proxy that prefixes tools with their server has to do. It takes
// a POST, parses it, replaces the tool's name and the id, sends the request to the upstream, and puts the id back. It
// has no key, no policy, no audit, no sessions and no time-outs.

interface Message {
  id: string | number;
  method: string;
  params: { name: string };
}

const UPSTREAM = process.env['BENCH_UPSTREAM'] ?? '';
const PREFIX = 'up__';
const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-session-id': 'bench',
  'mcp-protocol-version': '2025-11-25',
};
let nextId = 1;

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env.TOOLGATE_PORT ?? 0),
  async fetch(request) {
    if (request.method === 'GET') return new Response('ready');
    const call = (await request.json()) as Message;
    const params = { ...call.params, name: call.params.name.slice(PREFIX.length) };
    const response = await fetch(UPSTREAM, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify({ ...call, id: nextId++, params }),
    });
    return Response.json({ ...((await response.json()) as object), id: call.id });
  },
});

process.once('SIGTERM', () => server.stop(true).then(() => process.exit(0)));

export {};
