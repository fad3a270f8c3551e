// What `toolgate connect` prints: the change before it is made, a question, and the result. No key is shown.

import { lstatSync } from 'node:fs';
import type { Client } from '../../core/clients/client.ts';
import { visible } from '../../core/text/visible.ts';
import { EXIT } from '../exit.ts';
import { type IO, say } from '../io.ts';
import { printJson } from '../print.ts';
import { withoutSecrets } from './hidden.ts';
import { masked } from './key.ts';
import { type Options, scopeOf } from './options.ts';
import { ourProgram } from './paths.ts';
import type { Change } from './plan.ts';
import { offLine, type TurnedOff } from './switches.ts';
import { unifiedDiff } from './unified.ts';

/** The differences, on standard output. */
export function show(io: IO, { options, plan }: Pick<ConnectReport, 'options' | 'plan'>): void {
  if (options.json) return;
  for (const line of plan.flatMap(diffOf)) {
    const colour = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : null;
    io.stdout.write(`${colour === null ? line : io.stdout.style(colour, line)}\n`);
  }
  for (const { path, read } of plan) if (isLink(path)) say(io, `${path} is a link to ${read.path}.`);
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function diffOf({ path, read, text, format, entries }: Change): string[] {
  const shown = (whole: string | null) => (whole === null ? null : withoutSecrets(whole, format, entries));
  const lines = unifiedDiff(path, read.exists ? shown(read.text) : null, shown(text));
  return lines.map(line => masked(line).split('\t').map(visible).join('\t'));
}

/** Whether to go on. Without a terminal nobody can be asked, so only --yes means yes. */
export async function confirmed(io: IO, { dryRun, yes, json }: Options): Promise<boolean> {
  if (dryRun || yes) return yes === true && dryRun !== true;
  const mayAsk = !json && io.stdin.isTTY && io.stderr.isTTY;
  if (mayAsk) io.stderr.write('Make this change? [y/N] ');
  else say(io, 'There is no terminal to ask on; give --yes to make this change.');
  if (mayAsk && /^y(es)?$/i.test((await io.stdin.line()).trim())) return true;
  io.exit(EXIT.failed);
  return false;
}

export interface ConnectReport {
  client: Client;
  options: Options;
  plan: readonly Change[];
  outcome: 'done' | 'shown' | 'unchanged';
  /** What turns its hooks off here, although they are written. */
  off?: readonly TurnedOff[];
  /** How to prevent that a project turns the hooks off. */
  advice?: string;
}

/** Prints the result. */
export function report(io: IO, facts: ConnectReport): void {
  const lines = facts.options.json ? [] : facts.options.remove ? removalLines(facts) : connectionLines(facts);
  for (const line of lines) say(io, line);
  if (facts.options.json) printJson(io, asJson(facts));
}

function asJson({ client, options, plan, outcome, off = [] }: ConnectReport): object {
  const turnedOff = off.map(({ path, key }) => ({ path, key }));
  const rest = { changed: outcome === 'done', files: filesOf(plan), turnedOff };
  return { client: client.id, scope: scopeOf(options), ...rest };
}

function filesOf(plan: readonly Change[]): object[] {
  return plan.map(change => ({
    path: change.path,
    change: change.text === null ? 'delete' : change.read.exists ? 'edit' : 'create',
    diff: diffOf(change).join('\n'),
  }));
}

export function printPlan(io: IO, plan: readonly Change[], changed: boolean): void {
  printJson(io, { changed, files: filesOf(plan) });
}

function removalLines({ client, outcome }: ConnectReport): string[] {
  if (outcome === 'unchanged') return [`${client.name} is not connected.`];
  return [outcome === 'shown' ? 'Nothing was changed.' : `${client.name} is not connected any more.`];
}

function connectionLines({ client, options, outcome, off = [], advice }: ConnectReport): string[] {
  if (outcome === 'unchanged')
    return [`${client.name} is connected already. With --policy it gets a new key.`, ...off.map(offLine)];
  if (outcome === 'shown') return ['Nothing was changed.', ...off.map(offLine)];
  const scope = scopeOf(options);
  const program = ourProgram()[0] ?? '';
  return [
    ...(off.length > 0
      ? [
          `${client.name} is connected, but its hooks ${off.some(({ key }) => key !== null) ? 'do' : 'may'} not run in this project.`,
          ...off.map(offLine),
        ]
      : [`${client.name} is connected. ${options.mcpOnly ? MCP_ONLY : client.about}`]),
    ...(advice === undefined ? [] : [advice]),
    ...(scope === 'project' && !options.hooksOnly ? [IN_PROJECT] : []),
    ...(program.includes('/_npx/')
      ? [`The hook starts ${program}, which npx may delete: then every call is blocked.`]
      : []),
    client.next,
    `To take it back: toolgate connect ${client.id}${scope === 'project' ? ' --project' : ''} --remove`,
  ];
}

const MCP_ONLY = 'The tools behind Toolgate are judged; its own tools, and those of other servers, are not.';
const IN_PROJECT =
  'Files of a project hold no key, since they may be committed: its MCP server takes the key from TOOLGATE_API_KEY, or the client asks for it.';
