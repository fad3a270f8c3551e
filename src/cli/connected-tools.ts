// Finds the Connected Tools of a key by name or id, for the commands of `toolgate tools`; what `toolgate servers` does in
// the same way is here, too.

import type { ConnectedTool, ToolTest } from '../core/api/resources.ts';
import { visible } from '../core/text/visible.ts';
import { keyId } from './admin.ts';
import { CliError, EXIT } from './exit.ts';
import type { Http } from './http.ts';
import type { IO } from './io.ts';
import { printJson } from './print.ts';

export async function pathOf(http: Http, key: string): Promise<string> {
  return `/keys/${await keyId(http, key)}/connected-tools`;
}

export async function connectedTools(
  http: Http,
  key: string,
): Promise<{ path: string; list: ConnectedTool[] }> {
  const path = await pathOf(http, key);
  const { connectedTools } = await http.get<{ connectedTools: ConnectedTool[] }>(path);
  return { path, list: connectedTools };
}

export async function toolPath(http: Http, key: string, nameOrId: string): Promise<string> {
  return (await foundTool(http, key, nameOrId)).path;
}

export async function foundTool(
  http: Http,
  key: string,
  nameOrId: string,
): Promise<{ path: string; tool: ConnectedTool }> {
  const { path, list } = await connectedTools(http, key);
  const tool = list.find(each => each.id === nameOrId || each.name === nameOrId);
  if (tool === undefined)
    throw new CliError(
      EXIT.failed,
      `This key has no Connected Tool "${nameOrId}". These are its own: ${names(list)}.`,
    );
  return { path: `${path}/${tool.id}`, tool };
}

function names(list: readonly ConnectedTool[]): string {
  return list.length === 0 ? 'none' : list.map(each => each.name).join(', ');
}

/** The URL of a remote server, or the name of a declared command. */
export function targetOf({ url, server }: Pick<ConnectedTool, 'url' | 'server'>): string {
  return visible(url ?? server ?? '');
}

export function healthOf({ health }: Pick<ConnectedTool, 'health'>): string {
  return health.error === null ? health.state : `${health.state}: ${visible(health.error)}`;
}

/** Has the service connect to a server now, and prints the names of its tools. */
export async function test(
  io: IO,
  http: Http,
  path: string,
  server: Pick<ConnectedTool, 'name' | 'url' | 'server'>,
  json: boolean | undefined,
): Promise<void> {
  const tried = await http.post<ToolTest>(`${path}/test`);
  if (json) printJson(io, tried);
  else for (const each of tried.tools) io.stdout.write(`${visible(each)}\n`);
  if (!tried.ok)
    throw new CliError(
      EXIT.failed,
      `"${server.name}" (${targetOf(server)}) cannot be used: ${visible(tried.error ?? 'no reason')}.`,
    );
}
