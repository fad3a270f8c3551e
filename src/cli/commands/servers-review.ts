// toolgate servers show and accept: what the tools of a server say, what was found in it, who accepted it; and accepting it.
// What is accepted is what was shown: the digest goes with it, and the service refuses if the server shows another
// definition by then.

import type { Command } from 'commander';
import type { ReviewedTool, ToolServer, WholeToolServer } from '../../core/api/resources.ts';
import { visible } from '../../core/text/visible.ts';
import { targetOf } from '../connected-tools.ts';
import { acceptedBy, findingLines, isUnaccepted, showTool } from '../definitions-shown.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { command } from '../help.ts';
import type { Http } from '../http.ts';
import { type IO, say } from '../io.ts';
import { printJson, printTable, quoted } from '../print.ts';
import { signInOf } from '../server-sign-in.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { table } from '../table.ts';
import { foundServer, PAGE } from '../tool-servers.ts';

const SERVER = 'the tool server, by name or id';
/** The most that the API accepts at once. */
const MOST_AT_ONCE = 1000;

async function toolsOf(http: Http, path: string): Promise<ReviewedTool[]> {
  const tools: ReviewedTool[] = [];
  const all = http.all<ReviewedTool>(`${path}/tools`, 'tools', { limit: PAGE });
  for await (const each of all) tools.push(each);
  return tools;
}

export function showCommand(io: IO): Command {
  const examples = ['toolgate servers show github', 'toolgate servers show github create_issue'];
  const what =
    'Show a tool server: its tools, what was found in their definitions, who accepted them, and for how many keys ' +
    'their calls are held. With the name of a tool: its definition, or what changed in it.';
  const made = command('show', what, examples)
    .argument('<server>', SERVER)
    .argument('[tool...]', 'tools by their own names; without one, all of them in short');
  return withAdmin(made).action(async (nameOrId: string, names: string[], options: AdminOptions) => {
    const http = asAdmin(io, options);
    const { path } = await foundServer(http, nameOrId);
    const tools = await toolsOf(http, path);
    if (names.length > 0) {
      const named = names.map(name => toolNamed(tools, name));
      if (options.json) return printJson(io, named);
      for (const each of named) showTool(io, each);
      return;
    }
    const server = await http.get<WholeToolServer>(path);
    if (options.json) return printJson(io, { ...server, tools });
    io.stdout.write(table(linesOf(server)));
    io.stdout.write('\n');
    showTools(io, tools);
  });
}

const MOST_KEYS = 20;

function linesOf(server: WholeToolServer): string[][] {
  const { health, uses } = server;
  const keys = uses
    .slice(0, MOST_KEYS)
    .map(({ keyName, name }) =>
      name === server.name ? visible(keyName) : `${visible(keyName)} (as ${name})`,
    );
  const more = uses.length > keys.length ? [`and ${uses.length - keys.length} others`] : [];
  return [
    ['NAME', visible(server.name)],
    ['ID', server.id],
    ['TARGET', `${targetOf(server)} (${server.transport})`],
    ['TRUST', server.trust],
    ['HEALTH', health.error === null ? health.state : `${health.state}: ${visible(health.error)}`],
    ['SIGN-IN', signInOf(server)],
    ['KEYS', [...keys, ...more].join(', ') || 'none'],
  ];
}

function showTools(io: IO, tools: readonly ReviewedTool[]): void {
  printTable(
    io,
    tools,
    [
      ['TOOL', tool => visible(tool.name)],
      ['ACCEPTED', acceptedBy],
      ['HELD FOR', heldFor],
      ['FOUND', tool => [...new Set(tool.findings.map(each => each.kind))].join(', ') || '-'],
    ],
    'The server has shown no tools yet; `toolgate servers test` asks it for them.',
  );
  const found = tools.filter(each => each.findings.length > 0);
  for (const each of found)
    io.stdout.write(
      `\n${visible(each.name)}\n${findingLines(io, each)
        .map(line => `  ${line}\n`)
        .join('')}`,
    );
}

function heldFor({ heldFor: { length } }: ReviewedTool): string {
  return length === 0 ? '-' : `${length} ${length === 1 ? 'key' : 'keys'}`;
}

/** A name that holds hidden characters may be typed as it is shown. */
function toolNamed(tools: readonly ReviewedTool[], name: string): ReviewedTool {
  const exact = tools.find(each => each.name === name);
  const shown = tools.filter(each => visible(each.name) === name);
  const found = exact ?? (shown.length === 1 ? shown[0] : undefined);
  if (found !== undefined) return found;
  throw new CliError(
    EXIT.failed,
    shown.length > 1
      ? `Several tools are shown as "${visible(name)}". Name the one that you mean by its digest, in the dashboard or by the API.`
      : `The server shows no tool "${visible(name)}"; \`toolgate servers show\` lists its tools.`,
  );
}

interface AcceptOptions extends AdminOptions {
  all?: boolean;
  yes?: boolean;
  digest?: string;
}

export function acceptCommand(io: IO): Command {
  const examples = [
    'toolgate servers accept github create_issue',
    'toolgate servers accept github --all',
    'toolgate servers accept github create_issue --digest 9f86d081…',
  ];
  const what =
    'Accept definitions of tools, for all keys that have the server. They are shown first. What is accepted is what ' +
    'was shown: if the server shows another definition by then, nothing is accepted.';
  const made = command('accept', what, examples)
    .argument('<server>', SERVER)
    .argument('[tool...]', 'tools by their own names')
    .option('--all', 'all tools whose present definition nobody has accepted')
    .option('--digest <digest>', 'the definition that you looked at, of one tool; nothing is shown then')
    .option('-y, --yes', 'do not ask');
  return withAdmin(made).action(async (nameOrId: string, names: string[], options: AcceptOptions) => {
    requireTools(names, options);
    const http = asAdmin(io, options);
    const { path, server } = await foundServer(http, nameOrId);
    const tools = await chosen(http, path, names, options);
    if (tools.length === 0) return end(io, options, server, [], 'Every tool is accepted as it is now.');
    if (options.digest === undefined && !(await lookedAt(io, tools, options)))
      return end(io, options, server, [], 'Nothing is accepted.');
    for (let from = 0; from < tools.length; from += MOST_AT_ONCE)
      await http.post(`${path}/accept`, { tools: tools.slice(from, from + MOST_AT_ONCE).map(ref) });
    const which =
      tools.length === 1 ? `of ${visible(tools[0]?.name ?? '')} is` : `of ${tools.length} tools are`;
    end(io, options, server, tools, `The definition${tools.length === 1 ? '' : 's'} ${which} accepted.`);
  });
}

const ref = ({ name, digest }: ReviewedTool) => ({ name, digest });

function end(
  io: IO,
  { json }: AcceptOptions,
  { name }: ToolServer,
  accepted: readonly ReviewedTool[],
  said: string,
): void {
  if (json) printJson(io, { server: name, accepted: accepted.map(ref) });
  else say(io, said);
}

function requireTools(names: readonly string[], { all, digest }: AcceptOptions): void {
  if (names.length > 0 === (all === true)) throw usageError('Name the tools to accept, or --all of them.');
  if (digest === undefined) return;
  if (names.length !== 1) throw usageError('--digest goes with one tool.');
  if (!/^[0-9a-f]{64}$/.test(digest))
    throw usageError(
      'A digest has 64 hexadecimal digits, as `toolgate servers show <server> <tool>` prints it.',
    );
}

async function chosen(
  http: Http,
  path: string,
  names: readonly string[],
  { digest }: AcceptOptions,
): Promise<ReviewedTool[]> {
  const tools = await toolsOf(http, path);
  if (names.length === 0) return tools.filter(isUnaccepted);
  const named = [...new Set(names.map(name => toolNamed(tools, name)))];
  return digest === undefined ? named.filter(isUnaccepted) : named.map(each => ({ ...each, digest }));
}

/** Shows the definitions, and asks; with --yes they are accepted as shown. */
async function lookedAt(io: IO, tools: readonly ReviewedTool[], options: AcceptOptions): Promise<boolean> {
  const asked = io.stdin.isTTY && !options.json;
  if (!options.yes && !asked)
    throw usageError(
      `Nobody can be asked here: look at ${tools.length === 1 ? `\`toolgate servers show … ${quoted(tools[0]?.name ?? '')}\`` : 'the tools'}, and name a --digest, or add --yes.`,
    );
  if (!options.json) for (const each of tools) showTool(io, each);
  if (options.yes) return true;
  io.stderr.write(`Accept ${tools.length === 1 ? 'it' : `these ${tools.length} tools`}? [y/N] `);
  return /^y(es)?$/i.test((await io.stdin.line()).trim());
}
