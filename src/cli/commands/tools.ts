// toolgate tools: the Connected Tools of a key, which are the MCP servers behind its proxy.

import { type Command, Option } from 'commander';
import { diffLines } from '../../core/diff.ts';
import type { ConnectedTool, Definition, ToolTest } from '../../core/resources.ts';
import { visible } from '../../core/visible.ts';
import { keyId } from '../admin.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../connect.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { command, group } from '../help.ts';
import type { Http } from '../http.ts';
import { type IO, say } from '../io.ts';
import { printJson, quoted } from '../print.ts';
import { table } from '../table.ts';

export function build(io: IO): Command {
  return group(
    'tools',
    'The MCP servers behind a key’s proxy (Connected Tools): their health, their tools, what changed.',
    [
      'toolgate tools list ci',
      'toolgate tools add ci github --url https://mcp.example.com/mcp',
      'toolgate tools test ci github',
    ],
    [listCommand(io), addCommand(io), testCommand(io), diffCommand(io), acceptCommand(io), removeCommand(io)],
  );
}

function listCommand(io: IO): Command {
  const made = command('list', 'List a key’s Connected Tools.', ['toolgate tools list ci']).argument(
    '<key>',
    'the key, by name or id',
  );
  return withAdmin(made).action(async (key: string, options: AdminOptions) => {
    const tools = await connectedTools(asAdmin(io, options), key);
    if (options.json) return printJson(io, tools.list);
    if (tools.list.length === 0) return say(io, 'This key has no Connected Tools.');
    const rows = tools.list.map(each => [
      each.name,
      each.transport,
      targetOf(each),
      each.health.error === null ? each.health.state : `${each.health.state}: ${visible(each.health.error)}`,
      String(each.tools.length),
      each.tools
        .filter(tool => tool.drifted)
        .map(tool => visible(tool.name))
        .join(', ') || '-',
    ]);
    io.stdout.write(table([['NAME', 'TRANSPORT', 'TARGET', 'HEALTH', 'TOOLS', 'CHANGED'], ...rows]));
  });
}

/** The URL of a remote server, or the name of a declared command. */
function targetOf({ url, server }: ConnectedTool): string {
  return visible(url ?? server ?? '');
}

interface AddOptions extends AdminOptions {
  url?: string;
  sse?: boolean;
  stdio?: string;
  /** The API's name for `--stdio`. */
  server?: string;
  header?: string[];
}

function addCommand(io: IO): Command {
  const examples = [
    'toolgate tools add ci github --url https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN"',
    'toolgate tools add ci files --stdio files   # declared under stdioServers in toolgate.yaml',
  ];
  const made = command('add', 'Register an MCP server for a key.', examples)
    .argument('<key>', 'the key, by name or id')
    .argument('<name>', 'prefix of its tools: lower-case letters, digits and "-"')
    .option('--url <url>', 'its MCP endpoint')
    .option('--sse', 'it speaks the older HTTP+SSE transport')
    .option('--stdio <server>', 'the name of a command declared in the server file')
    .addOption(new Option('--server <server>').hideHelp())
    .option('--header <header...>', 'a header for every request to it, "Name: value"; stored encrypted');
  return withAdmin(made).action(async (key: string, name: string, options: AddOptions) => {
    const http = asAdmin(io, options);
    const body = { name, ...target(options) };
    const tool = await http.post<ConnectedTool>(await pathOf(http, key), body);
    if (options.json) return printJson(io, tool);
    say(
      io,
      `Connected Tool "${name}" is registered. Try it: toolgate tools test ${quoted(key)} ${quoted(name)}`,
    );
  });
}

function target({ url, sse, stdio, server, header }: AddOptions): Record<string, unknown> {
  if (server !== undefined)
    throw usageError(
      '--server is not an option here: --stdio names a command of stdioServers in toolgate.yaml.',
    );
  if ((url === undefined) === (stdio === undefined)) throw usageError('Name either --url or --stdio.');
  if (stdio !== undefined) return { transport: 'stdio', server: stdio };
  const headers = Object.fromEntries((header ?? []).map(pair));
  return { transport: sse ? 'sse' : 'http', url, ...(header === undefined ? {} : { headers }) };
}

function pair(header: string): [string, string] {
  const found = /^([^:\s]+):\s*(.*)$/.exec(header);
  if (found === null) throw usageError('A header is written "Name: value".');
  return [found[1] as string, found[2] as string];
}

function testCommand(io: IO): Command {
  const what = 'Connect to a Connected Tool now, and list what it offers.';
  const made = command('test', what, ['toolgate tools test ci github'])
    .argument('<key>', 'the key, by name or id')
    .argument('<tool>', 'the Connected Tool, by name or id');
  return withAdmin(made).action(async (key: string, name: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    const { path, tool } = await foundTool(http, key, name);
    const tried = await http.post<ToolTest>(`${path}/test`);
    if (options.json) printJson(io, tried);
    else for (const each of tried.tools) io.stdout.write(`${visible(each)}\n`);
    if (!tried.ok)
      throw new CliError(
        EXIT.failed,
        `"${tool.name}" (${targetOf(tool)}) cannot be used: ${visible(tried.error ?? 'no reason')}.`,
      );
  });
}

function diffCommand(io: IO): Command {
  const what = 'Show how tools differ from the definitions that were accepted.';
  const made = command('diff', what, ['toolgate tools diff ci github'])
    .argument('<key>', 'the key, by name or id')
    .argument('<tool>', 'the Connected Tool, by name or id');
  return withAdmin(made).action(async (key: string, name: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    const changed = await changedDefinitions(http, await toolPath(http, key, name));
    if (options.json) return printJson(io, changed);
    if (changed.length === 0) return say(io, 'Every tool is as it was accepted.');
    for (const each of changed) showChange(io, each);
  });
}

async function changedDefinitions(http: Http, path: string): Promise<Definition[]> {
  const { definitions } = await http.get<{ definitions: Definition[] }>(`${path}/definitions`);
  return definitions.filter(each => each.changed !== null);
}

function showChange(io: IO, changed: Definition): void {
  const digest = `digest ${changed.changedDigest}\n`;
  io.stdout.write(`${visible(changed.name)}\n${difference(io, changed)}${digest}\n`);
}

const COLOURS = { ' ': 'reset', '-': 'red', '+': 'green' } as const;

function difference(io: IO, { accepted, changed }: Definition): string {
  const lines = (definition: unknown) => JSON.stringify(definition, null, 2).split('\n').map(visible);
  return diffLines(lines(accepted), lines(changed))
    .map(({ mark, text }) => `${io.stdout.style(COLOURS[mark], `${mark} ${text}`)}\n`)
    .join('');
}

function acceptCommand(io: IO): Command {
  const what = 'Accept the changed definition of a tool, once you have looked at it.';
  const example = 'toolgate tools accept ci github create_issue';
  const made = command('accept', what, [example, `${example} --digest 9f86d081…`])
    .argument('<key>', 'the key, by name or id')
    .argument('<tool>', 'the Connected Tool, by name or id')
    .argument('<name>', 'the tool whose definition changed, by its own name')
    .option('--digest <digest>', 'the definition that you looked at, as `tools diff` names it');
  return withAdmin(made).action(
    async (key: string, tool: string, name: string, options: AdminOptions & { digest?: string }) => {
      const http = asAdmin(io, options);
      const path = await toolPath(http, key, tool);
      const digest = options.digest ?? (await lookedAt(io, http, path, name, options));
      if (digest === null) return say(io, 'Nothing is accepted.');
      await http.post(`${path}/accept`, { tool: name, digest });
      if (options.json) return printJson(io, { tool: name, digest, accepted: true });
      say(io, `The definition of ${visible(name)} is accepted.`);
    },
  );
}

/** Shows the change and asks for confirmation; null when the person declines. */
async function lookedAt(
  io: IO,
  http: Http,
  path: string,
  name: string,
  options: AdminOptions,
): Promise<string | null> {
  const changed = (await changedDefinitions(http, path)).find(each => each.name === name);
  if (changed === undefined)
    throw new CliError(
      EXIT.failed,
      `No definition of "${visible(name)}" waits to be accepted. \`tools diff\` lists those that do, each by the tool’s own name.`,
    );
  if (!io.stdin.isTTY || options.json)
    throw usageError(
      'Nobody can be asked here: name the definition with --digest, as `tools diff` shows it.',
    );
  showChange(io, changed);
  io.stderr.write('Accept it? [y/N] ');
  return /^y(es)?$/i.test((await io.stdin.line()).trim()) ? changed.changedDigest : null;
}

function removeCommand(io: IO): Command {
  const made = command('remove', 'Remove a Connected Tool.', ['toolgate tools remove ci github'])
    .argument('<key>', 'the key, by name or id')
    .argument('<tool>', 'the Connected Tool, by name or id');
  return withAdmin(made).action(async (key: string, name: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    await http.delete(await toolPath(http, key, name));
    if (options.json) return printJson(io, { tool: name, removed: true });
    say(io, `Connected Tool "${name}" is removed.`);
  });
}

async function pathOf(http: Http, key: string): Promise<string> {
  return `/keys/${await keyId(http, key)}/connected-tools`;
}

async function connectedTools(http: Http, key: string): Promise<{ path: string; list: ConnectedTool[] }> {
  const path = await pathOf(http, key);
  const { connectedTools } = await http.get<{ connectedTools: ConnectedTool[] }>(path);
  return { path, list: connectedTools };
}

async function toolPath(http: Http, key: string, nameOrId: string): Promise<string> {
  return (await foundTool(http, key, nameOrId)).path;
}

async function foundTool(
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
