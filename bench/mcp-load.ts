// Drives an MCP endpoint with one tool call. As load.ts, but every request has an id of its own: two calls that
// are under way in one MCP session must not share theirs, and some servers mix them up.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { CONNECTIONS, drive, GENERATOR, type Load, type Request } from './load.ts';
import { onCore } from './process.ts';

/** Stands in the body where the id goes. */
export const ID = '"$id"';

/** Without wrk, ids are all the same and there are always as many connections as in the other lines. */
export async function driveCalls(
  request: Request,
  seconds: number,
  folder: string,
  connections = CONNECTIONS,
): Promise<Load> {
  if (GENERATOR !== 'wrk') return drive(withId(request), seconds, folder);
  const script = path.join(folder, 'call.lua');
  fs.writeFileSync(script, luaScript(request));
  const command = ['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s'];
  const child = Bun.spawn(onCore(1, [...command, '-s', script, request.url]), {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const output = await child.stdout.text();
  if ((await child.exited) !== 0) throw new Error(`wrk failed:\n${output}`);
  const load = JSON.parse(output.trim().split('\n').at(-1)!) as Load;
  if (load.failures > 0) throw new Error(`${load.failures} of ${load.requests} calls failed: ${request.url}`);
  return load;
}

export const withId = (request: Request): Request => ({ ...request, body: request.body.replace(ID, '1') });

function luaScript({ headers, body }: Request): string {
  const quoted = (text: string) => `[==[${text}]==]`;
  const [before = '', after = ''] = body.split(ID);
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers[ ${quoted(name)} ] = ${quoted(value)}`,
  );
  return `
wrk.method = 'POST'
${lines.join('\n')}
local id = 0
function request()
  id = id + 1
  return wrk.format(nil, nil, nil, ${quoted(before)} .. id .. ${quoted(after)})
end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"failures":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f}\\n',
    summary.requests, e.status + e.connect + e.read + e.write + e.timeout, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
`;
}
