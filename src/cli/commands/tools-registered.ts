// toolgate tools add and edit: registers an MCP server for a key, and changes one that is registered. Secrets are stored
// encrypted and never shown again; a client secret is read from standard input, so that it is in no list of processes.

import { type Command, Option } from 'commander';
import type { ConnectedTool } from '../../core/api/resources.ts';
import { foundTool, pathOf } from '../connected-tools.ts';
import { usageError } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { printJson, quoted } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

interface OAuthOptions {
  oauth?: 'key' | 'person';
  clientId?: string;
  clientSecretStdin?: boolean;
  scopes?: string[];
  trustedHosts?: string[];
}

interface AddOptions extends AdminOptions, OAuthOptions {
  url?: string;
  sse?: boolean;
  stdio?: string;
  /** The API's name for `--stdio`. */
  server?: string;
  header?: string[];
}

const KEY = 'the key, by name or id';
const HEADER = 'a header for every request to it, "Name: value"; stored encrypted';

function withOAuth(made: Command): Command {
  return made
    .addOption(
      new Option('--oauth <as>', 'it wants OAuth: one sign-in for the key, or one of each person').choices([
        'key',
        'person',
      ]),
    )
    .option('--client-id <id>', 'for servers that register no clients: the id of your app there')
    .option('--client-secret-stdin', 'read that app’s secret from standard input; stored encrypted')
    .option('--scopes <scope...>', 'what to ask the server for, if not what it says by itself')
    .option('--trusted-hosts <host...>', 'hosts besides the issuer’s that its authorization server may use');
}

export function addCommand(io: IO): Command {
  const examples = [
    'toolgate tools add ci github --url https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN"',
    'toolgate tools add ci linear --url https://mcp.linear.app/mcp --oauth key',
    'toolgate tools add ci files --stdio files   # declared under stdioServers in toolgate.yaml',
  ];
  const made = command('add', 'Register an MCP server for a key.', examples)
    .argument('<key>', KEY)
    .argument('<name>', 'prefix of its tools: lower-case letters, digits and "-"')
    .option('--url <url>', 'its MCP endpoint')
    .option('--sse', 'it speaks the older HTTP+SSE transport')
    .option('--stdio <server>', 'the name of a command declared in the server file')
    .addOption(new Option('--server <server>').hideHelp())
    .option('--header <header...>', HEADER);
  return withAdmin(withOAuth(made)).action(async (key: string, name: string, options: AddOptions) => {
    const http = asAdmin(io, options);
    const body = { name, ...target(options), ...(await oauthIn(io, options)) };
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

function target({ url, sse, stdio, server, header, oauth }: AddOptions): Record<string, unknown> {
  if (server !== undefined)
    throw usageError(
      '--server is not an option here: --stdio names a command of stdioServers in toolgate.yaml.',
    );
  if ((url === undefined) === (stdio === undefined)) throw usageError('Name either --url or --stdio.');
  if (stdio !== undefined && oauth !== undefined) throw usageError('--oauth is for servers with a --url.');
  if (stdio !== undefined) return { transport: 'stdio', server: stdio };
  return { transport: sse ? 'sse' : 'http', url, ...headersIn(header) };
}

function headersIn(header: string[] | undefined): { headers?: Record<string, string> } {
  return header === undefined ? {} : { headers: Object.fromEntries(header.map(pair)) };
}

function pair(header: string): [string, string] {
  const found = /^([^:\s]+):\s*(.*)$/.exec(header);
  if (found === null) throw usageError('A header is written "Name: value".');
  return [found[1] as string, found[2] as string];
}

/** What a new tool says about OAuth; nothing where it does not want it. */
async function oauthIn(io: IO, options: OAuthOptions): Promise<Record<string, unknown>> {
  const settings = await oauthSettings(io, options);
  if (options.oauth !== undefined) return { auth: 'oauth', oauth: { as: options.oauth, ...settings } };
  if (Object.keys(settings).length > 0)
    throw usageError(
      '--client-id, --client-secret-stdin, --scopes and --trusted-hosts go with --oauth key or --oauth person.',
    );
  return {};
}

async function oauthSettings(
  io: IO,
  { clientId, clientSecretStdin, scopes, trustedHosts }: OAuthOptions,
): Promise<Record<string, unknown>> {
  const clientSecret = clientSecretStdin ? (await io.stdin.text()).trim() : undefined;
  if (clientSecret === '') throw usageError('Standard input holds no client secret.');
  return {
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(trustedHosts === undefined ? {} : { trustedHosts }),
  };
}

interface EditOptions extends AdminOptions, Omit<OAuthOptions, 'oauth'> {
  name?: string;
  url?: string;
  header?: string[];
  /** False with --no-headers. */
  headers?: boolean;
  /** False with --no-oauth. */
  oauth?: OAuthOptions['oauth'] | false;
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
    .argument('<tool>', 'the Connected Tool, by name or id')
    .option('--name <name>', 'the prefix of its tools from now on; policies have to name it')
    .option('--url <url>', 'its MCP endpoint from now on')
    .option('--header <header...>', `${HEADER}, in place of all headers before`)
    .option('--no-headers', 'remove its headers');
  withOAuth(made).option('--no-oauth', 'it wants no OAuth any more');
  return withAdmin(made).action(async (key: string, name: string, options: EditOptions) => {
    const http = asAdmin(io, options);
    const { path, tool } = await foundTool(http, key, name);
    const changes = await changesIn(io, tool, options);
    const fields = Object.keys(changes);
    if (fields.length === 0) throw usageError('Nothing to change; see toolgate tools edit --help.');
    const changed = await http.patch<ConnectedTool>(path, changes);
    if (options.json) return printJson(io, changed);
    say(io, `Connected Tool "${changed.name}" is changed: ${fields.join(', ')}.`);
  });
}

async function changesIn(
  io: IO,
  tool: ConnectedTool,
  options: EditOptions,
): Promise<Record<string, unknown>> {
  const { name, url, header, headers } = options;
  return {
    ...(name !== undefined && { name }),
    ...(url !== undefined && { url }),
    ...(headers === false && { headers: null }),
    ...headersIn(header),
    ...(await oauthChanges(io, tool, options)),
  };
}

/** The settings are replaced as a whole, so those that are not named are sent again; the secret stays by itself. */
async function oauthChanges(
  io: IO,
  { oauth: current }: ConnectedTool,
  { oauth: as, ...options }: EditOptions,
): Promise<Record<string, unknown>> {
  if (as === false) return { auth: 'headers' };
  if (current === null) return oauthIn(io, { ...options, ...(as !== undefined && { oauth: as }) });
  const settings = await oauthSettings(io, options);
  if (as === undefined && Object.keys(settings).length === 0) return {};
  const { hasClientSecret: _, ...before } = current;
  return { oauth: { ...before, ...(as !== undefined && { as }), ...settings } };
}
