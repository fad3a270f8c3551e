// toolgate tools add and edit: registers an MCP server for a key, and changes one that is registered. Secrets are stored
// encrypted and never shown again.

import { type Command, Option } from 'commander';
import type { ConnectedTool } from '../../core/api/resources.ts';
import { foundTool, pathOf } from '../connected-tools.ts';
import { usageError } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { printJson, quoted } from '../print.ts';
import {
  type ChangeOptions,
  changesOf,
  fieldsOf,
  type OAuthOptions,
  type TargetOptions,
  withChanges,
  withTarget,
} from '../server-fields.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

interface AddOptions extends AdminOptions, TargetOptions {
  /** The API's name for `--stdio`. */
  server?: string;
}

const KEY = 'the key, by name or id';

export function addCommand(io: IO): Command {
  const examples = [
    'toolgate tools add ci github --url https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN"',
    'toolgate tools add ci linear --url https://mcp.linear.app/mcp --oauth key',
    'toolgate tools add ci files --stdio files   # declared under stdioServers in toolgate.yaml',
  ];
  const made = command('add', 'Register an MCP server for a key.', examples)
    .argument('<key>', KEY)
    .argument('<name>', 'prefix of its tools: lower-case letters, digits and "-"');
  withTarget(made, 'the key').addOption(new Option('--server <server>').hideHelp());
  return withAdmin(made).action(async (key: string, name: string, options: AddOptions) => {
    if (options.server !== undefined)
      throw usageError(
        '--server is not an option here: --stdio names a command of stdioServers in toolgate.yaml.',
      );
    const http = asAdmin(io, options);
    const body = { name, ...(await fieldsOf(io, options)) };
    const tool = await http.post<ConnectedTool>(await pathOf(http, key), body);
    if (options.json) return printJson(io, tool);
    say(io, `Connected Tool "${name}" is registered. ${next(key, name, options)}`);
  });
}

function next(key: string, name: string, { oauth }: OAuthOptions): string {
  if (oauth === 'person')
    return 'People sign in to it for themselves: in the dashboard, or when a call needs it.';
  const [word, verb] = oauth === 'key' ? ['Sign in to it', 'connect'] : ['Try it', 'test'];
  return `${word}: toolgate tools ${verb} ${quoted(key)} ${quoted(name)}`;
}

export function editCommand(io: IO): Command {
  const examples = [
    'toolgate tools edit ci github --header "Authorization: Bearer $NEW_TOKEN"',
    'toolgate tools edit ci github --no-headers --oauth person --scopes repo read:org',
  ];
  const what =
    'Change a Connected Tool. What is not named stays as it is, and so do the accepted definitions. Another address,\n' +
    'another client id or another --oauth ends its sign-ins. With --oauth, the next sign-in may be with another\n' +
    'authorization server than the first one was.';
  const made = command('edit', what, examples)
    .argument('<key>', KEY)
    .argument('<tool>', 'the Connected Tool, by name or id');
  return withAdmin(
    withChanges(made, 'the key', 'the prefix of its tools from now on; policies have to name it'),
  ).action(async (key: string, name: string, options: AdminOptions & ChangeOptions) => {
    const http = asAdmin(io, options);
    const { path, tool } = await foundTool(http, key, name);
    const changes = await changesOf(io, tool, options);
    const fields = Object.keys(changes);
    if (fields.length === 0) throw usageError('Nothing to change; see toolgate tools edit --help.');
    const changed = await http.patch<ConnectedTool>(path, changes);
    if (options.json) return printJson(io, changed);
    say(io, `Connected Tool "${changed.name}" is changed: ${fields.join(', ')}.`);
  });
}
