// Runs one of the npm packages with which people forward MCP, as its documentation says, on Node, in front of
// upstream.ts over stdio (which both packages support), and prints its address once it is ready. This process is idle
// itself, so its CPU time and that of its children is that of the package and its child. The package is the first
// argument.

import * as path from 'node:path';
import { packagesOf } from '../scripts/extras.ts';
import { freePort } from './process.ts';

interface Peer {
  program: string;
  options: string[];
  /** The path that answers 200 once the package serves. */
  health: string;
}

const port = String(freePort());
const upstream = [process.execPath, path.join(import.meta.dirname, 'upstream.ts'), '--stdio'];

const PEERS: Record<string, Peer> = {
  'mcp-proxy': {
    program: 'mcp-proxy/dist/bin/mcp-proxy.mjs',
    options: ['--host', '127.0.0.1', '--port', port, '--server', 'stream', '--', ...upstream],
    health: '/ping',
  },
  supergateway: {
    program: 'supergateway/dist/index.js',
    options: [
      ...['--stdio', upstream.join(' '), '--outputTransport', 'streamableHttp', '--stateful', '--port', port],
      ...['--healthEndpoint', '/healthz', '--logLevel', 'none'],
    ],
    health: '/healthz',
  },
};

const peer = PEERS[process.argv[2] ?? ''];
if (peer === undefined) throw new Error(`Name one of: ${Object.keys(PEERS).join(', ')}`);
const address = `http://127.0.0.1:${port}`;
const program = packagesOf('bench', peer.program);
const child = Bun.spawn([Bun.which('node') ?? process.execPath, program, ...peer.options], {
  stdin: 'ignore',
  stdout: 'inherit',
  stderr: 'inherit',
});
const own = Bun.serve({ hostname: '127.0.0.1', port: Number(process.env.TOOLGATE_PORT), fetch: ready });

async function ready(): Promise<Response> {
  const alive = await fetch(`${address}${peer?.health}`).then(
    response => response.ok,
    () => false,
  );
  return alive ? Response.json({ url: `${address}/mcp` }) : new Response(null, { status: 503 });
}

process.once('SIGTERM', async () => {
  child.kill('SIGTERM');
  await child.exited;
  await own.stop(true);
  process.exit(0);
});
