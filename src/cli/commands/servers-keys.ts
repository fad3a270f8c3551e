// toolgate servers connect and share: which keys have a tool server. tools.ts lists and removes what a key has.

import type { Command } from 'commander';
import type { ConnectedTool, ToolServer } from '../../core/api/resources.ts';
import { foundTool, pathOf } from '../connected-tools.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { printJson, quoted } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { foundServer } from '../tool-servers.ts';

export function connectCommand(io: IO): Command {
  const examples = [
    'toolgate servers connect github --key ci',
    'toolgate servers connect github --key ci --name hub   # its tools are hub__…',
  ];
  const made = command(
    'connect',
    'Give a key the tools of a tool server. `toolgate tools remove` takes them away again.',
    examples,
  )
    .argument('<server>', 'the tool server, by name or id')
    .requiredOption('--key <key>', 'the key, by name or id')
    .option('--name <name>', 'prefix of its tools for this key, if not the server’s name');
  return withAdmin(made).action(
    async (nameOrId: string, options: AdminOptions & { key: string; name?: string }) => {
      const http = asAdmin(io, options);
      const { server } = await foundServer(http, nameOrId);
      const { key, name } = options;
      const body = { toolServerId: server.id, ...(name !== undefined && { name }) };
      const made = await http.post<ConnectedTool>(await pathOf(http, key), body);
      if (options.json) return printJson(io, made);
      say(io, `The key "${key}" has the tools of "${server.name}", as ${made.name}__….`);
    },
  );
}

export function shareCommand(io: IO): Command {
  const what =
    'Make a tool server of a Connected Tool, for other keys to share. The key keeps it, without a gap; its ' +
    'definitions, their acceptance and its sign-ins become those of the tool server.';
  const made = command('share', what, ['toolgate servers share ci github'])
    .argument('<key>', 'the key, by name or id')
    .argument('<tool>', 'the Connected Tool, by name or id')
    .option('--name <name>', 'the name of the tool server, if not the same');
  return withAdmin(made).action(
    async (key: string, tool: string, options: AdminOptions & { name?: string }) => {
      const http = asAdmin(io, options);
      const { path } = await foundTool(http, key, tool);
      const body = options.name === undefined ? {} : { name: options.name };
      const server = await http.post<ToolServer>(`${path}/share`, body);
      if (options.json) return printJson(io, server);
      say(
        io,
        `"${tool}" is a tool server now. Give it to another key: toolgate servers connect ${quoted(server.name)} --key …`,
      );
    },
  );
}
