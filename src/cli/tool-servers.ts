// Finds tool servers by name or id, and what is known of one, for the commands of `toolgate servers`.

import type { ConnectedTool } from '../core/api/resources.ts';
import { didYouMean } from '../core/text/did-you-mean.ts';
import { CliError, EXIT } from './exit.ts';
import type { Http } from './http.ts';

export type ToolServer = Omit<ConnectedTool, 'keyId'> & { trust: 'first' | 'reviewed'; keys: number };
export interface ToolServerUse {
  keyId: string;
  keyName: string;
  connectedToolId: string;
  name: string;
}

export async function allServers(http: Http): Promise<ToolServer[]> {
  const found: ToolServer[] = [];
  for await (const each of http.all<ToolServer>('/tool-servers', 'toolServers')) found.push(each);
  return found;
}

export async function foundServer(
  http: Http,
  nameOrId: string,
): Promise<{ path: string; server: ToolServer }> {
  const servers = await allServers(http);
  const server = servers.find(each => each.name === nameOrId || each.id === nameOrId);
  if (server === undefined)
    throw new CliError(
      EXIT.failed,
      `There is no tool server "${nameOrId}"; \`toolgate servers list\` shows those there are.${didYouMean(
        nameOrId,
        servers.map(each => each.name),
      )}`,
    );
  return { path: `/tool-servers/${server.id}`, server };
}

/** The Connected Tools that name a server, the first thousand of them. */
export async function usesOf(http: Http, path: string): Promise<ToolServerUse[]> {
  return (await http.get<{ uses: ToolServerUse[] }>(path)).uses;
}
