// Finds the Connected Tools of a key by name or id, for the commands of `toolgate tools`.

import type { ConnectedTool } from '../core/api/resources.ts';
import { visible } from '../core/text/visible.ts';
import { keyId } from './admin.ts';
import { CliError, EXIT } from './exit.ts';
import type { Http } from './http.ts';

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
