// Finds tool servers by name or id, for the commands of `toolgate servers`.

import type { ToolServer } from '../core/api/resources.ts';
import { didYouMean } from '../core/text/did-you-mean.ts';
import { CliError, EXIT } from './exit.ts';
import type { Http } from './http.ts';

/** The most that the API gives of tool servers, and of their tools, in one page. */
export const PAGE = 200;

export async function allServers(http: Http): Promise<ToolServer[]> {
  const found: ToolServer[] = [];
  const all = http.all<ToolServer>('/tool-servers', 'toolServers', { limit: PAGE });
  for await (const each of all) found.push(each);
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
