// Calls a server that takes nothing and hangs up, 1,500 times, over the wire that is named. Prints how many requests were
// under way there at most, and how many calls were refused here. A process of its own, since the runtime's bound on
// outbound requests is read at its start.

import { UpstreamError, type Wire } from '../../src/mcp/wire.ts';
import { HttpWire } from '../../src/mcp/wire-http.ts';
import { SseWire } from '../../src/mcp/wire-sse.ts';
import { newRation } from './channel.ts';

const TIMES = 1500;
const seen = { now: 0, most: 0, last: Promise.withResolvers<void>() };

function stream(): Response {
  const start = (controller: ReadableStreamDefaultController<Uint8Array>) =>
    controller.enqueue(new TextEncoder().encode('event: endpoint\ndata: /\n\n'));
  return new Response(new ReadableStream({ start }), { headers: { 'Content-Type': 'text/event-stream' } });
}

async function hold(request: Request): Promise<Response> {
  seen.most = Math.max(seen.most, ++seen.now);
  request.signal.addEventListener('abort', () => seen.now--);
  if (request.headers.has('last')) seen.last.resolve();
  return new Promise(() => {});
}

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  fetch: request => (request.method === 'GET' ? stream() : hold(request)),
});
const target = { url: server.url.href, headers: {}, rules: { allowPrivate: true } };

async function open(transport: string | undefined): Promise<Wire> {
  if (transport === 'sse') return SseWire.open(target, new AbortController().signal, newRation);
  const wire = new HttpWire(target);
  wire.protocolVersion = '2025-11-25';
  return wire;
}

const wire = await open(process.argv[2]);
let refused = 0;
for (let n = 0; n < TIMES; n++) {
  const cancel = new AbortController();
  const hooks = { signal: cancel.signal, ration: newRation(), onNotification: () => {} };
  const answered = wire.request('tools/call', { name: 'echo' }, hooks).catch(error => {
    if (error instanceof UpstreamError && error.message.includes('does not take')) refused++;
  });
  cancel.abort();
  await answered;
}
fetch(server.url, { method: 'POST', headers: { last: 'yes' } }).catch(() => {});
await seen.last.promise;
console.log(JSON.stringify({ most: seen.most, refused }));
process.exit(0);
