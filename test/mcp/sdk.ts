// The official SDK clients behind one small face, and the reference servers as programs, for tests of the whole
// way: client, service, upstream.

import net from 'node:net';
import { join } from 'node:path';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { until } from '../support/faults.ts';
import { freePort } from '../support/port.ts';
import { BUN, ROOT } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Any = any;

export interface SdkClient {
  listTools: () => Promise<Any[]>;
  call: (name: string, args?: Any, options?: Any, meta?: Any) => Promise<Any>;
  onLog: (heard: (data: Any) => void) => void;
  onError: (heard: (error: Any) => void) => void;
  close: () => Promise<void>;
}

const ME = { name: 'test', version: '1' };
const requestInit = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });

async function openV1(url: string, token: string): Promise<SdkClient> {
  const client = new ClientV1(ME, { capabilities: {} });
  const transport = new HttpV1(new URL(`${url}/mcp`), { requestInit: requestInit(token) });
  await client.connect(transport as Any);
  return {
    listTools: async () => (await client.listTools()).tools,
    call: (name, args = {}, options, _meta) =>
      client.callTool({ name, arguments: args, ...(_meta && { _meta }) }, undefined, options),
    onLog: heard =>
      client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => heard(params.data)),
    onError: heard => {
      client.onerror = heard;
    },
    close: () => client.close(),
  };
}

async function openV2(url: string, token: string, mode: 'legacy' | 'auto'): Promise<SdkClient> {
  const client: Any = new ClientV2(ME, { versionNegotiation: { mode } } as Any);
  await client.connect(new HttpV2(new URL(`${url}/mcp`), { requestInit: requestInit(token) }));
  return {
    listTools: async () => (await client.listTools()).tools,
    call: (name, args = {}, options, _meta) =>
      client.callTool({ name, arguments: args, ...(_meta && { _meta }) }, options),
    onLog: heard =>
      client.setNotificationHandler('notifications/message', (note: Any) => heard(note.params.data)),
    onError: heard => {
      client.onerror = heard;
    },
    close: () => client.close(),
  };
}

export const CLIENTS: Record<string, (url: string, token: string) => Promise<SdkClient>> = {
  'SDK v1': openV1,
  'SDK v2, older era': (url, token) => openV2(url, token, 'legacy'),
  'SDK v2, newer era': (url, token) => openV2(url, token, 'auto'),
};

const MODULES = join(ROOT, 'node_modules/@modelcontextprotocol');
export const EVERYTHING = join(MODULES, 'server-everything/dist/index.js');
export const FILESYSTEM = join(MODULES, 'server-filesystem/dist/index.js');

/** server-everything as a server on a port of its own. */
export async function startEverything(transport: 'streamableHttp' | 'sse', port?: number) {
  const at = port ?? (await freePort());
  const child = Bun.spawn([BUN, EVERYTHING, transport], {
    env: { PATH: process.env['PATH'] ?? '', PORT: String(at) },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  await until(`server-everything listens (${transport})`, () => reachable(at));
  const url = `http://127.0.0.1:${at}/${transport === 'sse' ? 'sse' : 'mcp'}`;
  const stop = async () => {
    child.kill('SIGKILL');
    await child.exited;
  };
  return { url, port: at, stop };
}

function reachable(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
