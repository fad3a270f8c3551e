// Runs the npm package supergateway as its documentation does, on Node, in front of upstream.ts over stdio, and says
// where it serves once it is ready. Idle itself, so that the CPU time of this process and its children is that of
// supergateway and its child.

import * as path from 'node:path';

const port = Number(process.env.TOOLGATE_PORT);
const root = path.join(import.meta.dirname, '..');
const own = Bun.serve({ hostname: '127.0.0.1', port, fetch: ready });
const gatewayPort = freePort();
const child = Bun.spawn(
  [
    Bun.which('node') ?? process.execPath,
    path.join(root, 'node_modules/supergateway/dist/index.js'),
    ...['--stdio', `${process.execPath} ${path.join(import.meta.dirname, 'upstream.ts')} --stdio`],
    ...['--outputTransport', 'streamableHttp', '--stateful', '--port', String(gatewayPort)],
    ...['--healthEndpoint', '/healthz', '--logLevel', 'none'],
  ],
  { stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' },
);

async function ready(): Promise<Response> {
  const alive = await fetch(`http://127.0.0.1:${gatewayPort}/healthz`).then(
    response => response.ok,
    () => false,
  );
  return alive
    ? Response.json({ url: `http://127.0.0.1:${gatewayPort}/mcp` })
    : new Response(null, { status: 503 });
}

function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  listener.stop(true);
  return listener.port;
}

process.once('SIGTERM', async () => {
  child.kill('SIGTERM');
  await child.exited;
  await own.stop(true);
  process.exit(0);
});
