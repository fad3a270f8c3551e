// The check of Connected Tools for a program that is not the service: servers on the network are only connected to, and
// commands are looked for on this machine. No tool is called, and no command is started.

import { type Config, targetRules } from '../settings/config.ts';
import { type ConnectedTool, listToolsInUse } from '../store/connected-tools.ts';
import { versionOfAny } from '../store/engine/migrate.ts';
import { bad, type Examination, type Found, good, warning } from './examine.ts';
import { type Examined, withStore } from './examined.ts';
import { unreachable } from './reach.ts';

/** More would need more connections at once than a machine wants to open for a look. */
export const MOST_TOOLS = 100;

type ToolFound = (tool: ConnectedTool, signal: AbortSignal) => Promise<string | null>;

/** `faultOf` says what is wrong with one tool, or null. */
export function toolsCheck(store: Pick<Examined, 'store'>, faultOf: ToolFound): Examination {
  const name = 'connected tools';
  return {
    name,
    run: signal =>
      withStore(store, async db => {
        if ((await versionOfAny(db)) === 0) return [];
        const tools = await listToolsInUse(db, MOST_TOOLS + 1);
        const found = await Promise.all(
          tools.slice(0, MOST_TOOLS).map(each => toolFound(each, faultOf, signal)),
        );
        if (tools.length > MOST_TOOLS)
          found.push(warning(name, `There are more than ${MOST_TOOLS}; only so many were looked at.`));
        return found;
      }),
  };
}

type ToolInUse = Awaited<ReturnType<typeof listToolsInUse>>[number];

async function toolFound(tool: ToolInUse, faultOf: ToolFound, signal: AbortSignal): Promise<Found> {
  const name = `connected tool ${tool.name}`;
  const [what, where] =
    tool.toolServerId === null
      ? [`The MCP server of the key "${tool.keyName}"`, '`toolgate tools list` shows for the key']
      : [
          `The tool server that the key "${tool.keyName}" shares with others`,
          '`toolgate servers show` shows',
        ];
  const fault = await faultOf(tool, signal).catch(() => 'it could not be looked at');
  if (fault === null) return good(name, `${what} can be reached.`);
  return bad(name, `${what}: ${fault.replace(/\.$/, '')}. Look at the server, and at what ${where}.`);
}

/** What can be seen of a tool without the service. */
export function seenFromOutside(config: Config): ToolFound {
  const rules = targetRules(config);
  return async (tool, signal) => {
    if (tool.transport !== 'stdio') return unreachable(tool.target, rules, signal);
    const server = config.stdioServers.get(tool.target);
    if (server === null)
      return `"${tool.target}" is not declared under stdioServers in the server file (toolgate.yaml)`;
    const path = server.env['PATH'] ?? process.env['PATH'] ?? '';
    return Bun.which(server.command, { PATH: path }) === null
      ? `its command ${server.command} is not found on this machine`
      : null;
  };
}
