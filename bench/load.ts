// Sends one request to one server, over and over, on a fixed number of keep-alive connections: each sends its next
// request when the last is answered. It uses wrk if it is installed, and generator.ts otherwise; both run as a separate
// process, on another core than the server.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { onCore } from './process.ts';

export interface Request {
  /** The default is POST. */
  method?: 'GET';
  url: string;
  headers: Record<string, string>;
  /** For a server that is asked with lines over a Unix socket, which the URL names: what the answers contain. */
  lines?: { allow: string };
  /** Sent in turn, each with its own request. */
  credentials?: string[];
  body: string;
}

export interface Load {
  requests: number;
  /** Answers outside 2xx, and connections that failed. */
  failures: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
}

export const CONNECTIONS = 64;
export const GENERATOR = Bun.which('wrk') ? 'wrk' : 'bench/generator.ts';

/**
 * A placeholder in a body for a number that no other has: two concurrent calls in one MCP session must not share their
 * id. Only wrk counts across requests; the other generator sends the same numbers with all.
 */
export const ID = '"$id"';

export function withId(request: Request): Request {
  let id = 0;
  return { ...request, body: request.body.replaceAll(ID, () => String(++id)) };
}

/** One request for each credential. */
export function single({ credentials, ...request }: Request): Request[] {
  return (
    credentials?.map(each => ({
      ...request,
      headers: { ...request.headers, authorization: `Bearer ${each}` },
    })) ?? [request]
  );
}

export async function drive(
  request: Request,
  seconds: number,
  folder: string,
  connections = CONNECTIONS,
): Promise<Load> {
  const command =
    GENERATOR === 'wrk' && !request.lines
      ? wrk(request, seconds, folder, connections)
      : own(request, seconds, connections);
  const child = Bun.spawn(onCore(1, command), { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  const output = await child.stdout.text();
  if ((await child.exited) !== 0) throw new Error(`${GENERATOR} failed:\n${output}`);
  const load = JSON.parse(output.trim().split('\n').at(-1)!) as Load;
  if (load.failures > 0)
    throw new Error(`${load.failures} of ${load.requests} requests failed: ${request.url}`);
  return load;
}

function own(request: Request, seconds: number, connections: number): string[] {
  const [file, sent] = request.lines ? ['field/lines.ts', request] : ['generator.ts', withId(request)];
  const order = JSON.stringify({ ...sent, seconds, connections });
  return [process.execPath, path.join(import.meta.dirname, file), order];
}

let scripts = 0;

function wrk(request: Request, seconds: number, folder: string, connections: number): string[] {
  const script = path.join(folder, `request-${scripts++}.lua`);
  fs.writeFileSync(script, luaScript(request));
  return ['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, request.url];
}

const quoted = (text: string) => `[==[${text}]==]`;

/** `done` prints exact figures, because the report of wrk rounds them. */
function luaScript(request: Request): string {
  const lines = Object.entries(request.headers).map(
    ([name, value]) => `wrk.headers[ ${quoted(name)} ] = ${quoted(value)}`,
  );
  return `
wrk.method = '${request.method ?? 'POST'}'
${lines.join('\n')}
${bodyScript(request.body)}
${credentialScript(request.credentials)}
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"failures":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f}\\n',
    summary.requests, e.status + e.connect + e.read + e.write + e.timeout, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
`;
}

function bodyScript(body: string): string {
  const parts = body.split(ID).map(quoted);
  if (parts.length === 1) return body === '' ? '' : `wrk.body = ${quoted(body)}`;
  return `
local last = 0
local function id()
  last = last + 1
  return last
end
function request()
  return wrk.format(nil, nil, nil, table.concat({ ${parts.join(', id(), ')} }))
end`;
}

function credentialScript(credentials: string[] = []): string {
  return credentials.length === 0
    ? ''
    : `
local made, sent = {}, 0
function init()
  for index, each in ipairs({ ${credentials.map(quoted).join(', ')} }) do
    wrk.headers['authorization'] = 'Bearer ' .. each
    made[index] = wrk.format()
  end
end
function request()
  sent = sent % #made + 1
  return made[sent]
end`;
}

/** The figures of a generator of our own. */
export function figures(latencies: readonly number[], failures: number, seconds: number): Load {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { requests: sorted.length, failures, seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}
