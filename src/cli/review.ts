// Looks at the tools of a server, and accepts them: of a tool server that keys share, and of a key's Connected Tool. What is
// accepted is what was shown: the digest goes with it, and the service refuses if the server shows another definition by
// then.

import type { Command } from 'commander';
import type { ReviewedTool } from '../core/api/resources.ts';
import { visible } from '../core/text/visible.ts';
import { acceptedBy, findingLines, isUnaccepted, showTool } from './definitions-shown.ts';
import { CliError, EXIT, usageError } from './exit.ts';
import type { Http } from './http.ts';
import { type IO, say } from './io.ts';
import { printJson, printTable } from './print.ts';
import { PAGE } from './tool-servers.ts';

/** A server whose tools are looked at. */
export interface Reviewed {
  /** In the API. */
  path: string;
  name: string;
  /** The command that shows its tools. */
  show: string;
}

export async function reviewedTools(http: Http, path: string): Promise<ReviewedTool[]> {
  const tools: ReviewedTool[] = [];
  const all = http.all<ReviewedTool>(`${path}/tools`, 'tools', { limit: PAGE });
  for await (const each of all) tools.push(each);
  return tools;
}

export function showInShort(io: IO, tools: readonly ReviewedTool[]): void {
  printTable(
    io,
    tools,
    [
      ['TOOL', tool => visible(tool.name)],
      ['ACCEPTED', acceptedBy],
      ['HELD FOR', heldFor],
      ['FOUND', tool => [...new Set(tool.findings.map(each => each.kind))].join(', ') || '-'],
    ],
    'The server has shown no tools yet; the command `test` asks it for them.',
  );
  for (const each of tools) {
    if (each.findings.length === 0) continue;
    const lines = [visible(each.name), ...findingLines(io, each).map(line => `  ${line}`)];
    io.stdout.write(`\n${lines.join('\n')}\n`);
  }
}

function heldFor({ heldFor: { length } }: ReviewedTool): string {
  return length === 0 ? '-' : `${length} ${length === 1 ? 'key' : 'keys'}`;
}

export function showWhole(io: IO, tools: readonly ReviewedTool[], json: boolean | undefined): void {
  if (json) printJson(io, tools);
  else for (const each of tools) showTool(io, each);
}

/** The tools with these names. One that holds hidden characters may be named as it is shown. */
export function toolsNamed(
  tools: readonly ReviewedTool[],
  names: readonly string[],
  { show }: Reviewed,
): ReviewedTool[] {
  const named = names.map(name => {
    const exact = tools.find(each => each.name === name);
    const shown = tools.filter(each => visible(each.name) === name);
    const found = exact ?? (shown.length === 1 ? shown[0] : undefined);
    if (found !== undefined) return found;
    throw new CliError(
      EXIT.failed,
      shown.length > 1
        ? `Several tools are shown as "${visible(name)}". Accept the one that you mean in the dashboard.`
        : `The server shows no tool "${visible(name)}"; \`${show}\` lists its tools.`,
    );
  });
  return [...new Set(named)];
}

/** The most that the API accepts at once. */
const MOST_AT_ONCE = 1000;

export interface AcceptOptions {
  all?: boolean;
  yes?: boolean;
  digest?: string;
  json?: boolean;
}

export function withAccept(made: Command): Command {
  return made
    .argument('[name...]', 'tools by their own names')
    .option('--all', 'all tools whose present definition nobody has accepted')
    .option('--digest <digest>', 'the definition that you looked at, of one tool; nothing is shown then')
    .option('-y, --yes', 'do not ask');
}

export async function accept(
  io: IO,
  http: Http,
  server: Reviewed,
  names: readonly string[],
  options: AcceptOptions,
): Promise<void> {
  requireNames(names, options, server);
  const tools = await chosen(http, server, names, options);
  const go =
    tools.length > 0 && (options.digest !== undefined || (await lookedAt(io, tools, options, server)));
  const accepted = go ? tools.map(({ name, digest }) => ({ name, digest })) : [];
  for (let from = 0; from < accepted.length; from += MOST_AT_ONCE)
    await http.post(`${server.path}/accept`, { tools: accepted.slice(from, from + MOST_AT_ONCE) });
  if (options.json) return printJson(io, { server: server.name, accepted });
  const [first] = accepted;
  if (first === undefined)
    say(io, tools.length === 0 ? 'Every tool is accepted as it is now.' : 'Nothing is accepted.');
  else if (accepted.length === 1) say(io, `The definition of ${first.name} is accepted.`);
  else say(io, `The definitions of ${accepted.length} tools are accepted.`);
}

function requireNames(names: readonly string[], { all, digest }: AcceptOptions, { show }: Reviewed): void {
  if (names.length > 0 === (all === true)) throw usageError('Name the tools to accept, or --all of them.');
  if (digest === undefined) return;
  if (names.length !== 1) throw usageError('--digest goes with one tool.');
  if (!/^[0-9a-f]{64}$/.test(digest))
    throw usageError(
      `A digest has 64 hexadecimal digits; \`${show}\` prints it, with the name of the tool behind.`,
    );
}

async function chosen(
  http: Http,
  server: Reviewed,
  names: readonly string[],
  { digest }: AcceptOptions,
): Promise<ReviewedTool[]> {
  const tools = await reviewedTools(http, server.path);
  if (names.length === 0) return tools.filter(isUnaccepted);
  const named = toolsNamed(tools, names, server);
  return digest === undefined ? named.filter(isUnaccepted) : named.map(each => ({ ...each, digest }));
}

/** Shows the definitions, and asks; with --yes they are accepted as shown. */
async function lookedAt(
  io: IO,
  tools: readonly ReviewedTool[],
  { yes, json }: AcceptOptions,
  { show }: Reviewed,
): Promise<boolean> {
  if (!yes && (!io.stdin.isTTY || json))
    throw usageError(
      `Nobody can be asked here: give the --digest that \`${show}\` prints with the name of a tool behind, or add --yes.`,
    );
  if (!json) for (const each of tools) showTool(io, each);
  if (yes) return true;
  io.stderr.write(`Accept ${tools.length === 1 ? 'it' : `these ${tools.length} tools`}? [y/N] `);
  return /^y(es)?$/i.test((await io.stdin.line()).trim());
}
