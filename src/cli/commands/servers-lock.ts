// toolgate servers lock: the accepted definitions as the lines of a lock file, sorted, so that a repository shows what
// changed; and whether a file is up to date.

import type { Command } from 'commander';
import type { AcceptedTool } from '../../core/api/resources.ts';
import { lockLine, parseLockFile } from '../../core/definitions/lock-file.ts';
import { CliError, EXIT } from '../exit.ts';
import { command } from '../help.ts';
import type { Http } from '../http.ts';
import { type IO, readText, say, shownFile } from '../io.ts';
import { printJson } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { PAGE } from '../tool-servers.ts';

export function lockCommand(io: IO): Command {
  const what =
    'Print a line "server tool digest" for every accepted definition. While TOOLGATE_TOOLS_LOCK names such a file, ' +
    'no other definition is accepted.';
  const examples = [
    'toolgate servers lock > toolgate.lock',
    'toolgate servers lock --check toolgate.lock   # in CI: exit code 1 if it differs',
  ];
  const made = command('lock', what, examples).option(
    '--check <file>',
    'print nothing but how this file differs (- for standard input)',
  );
  return withAdmin(made).action(async (options: AdminOptions & { check?: string }) => {
    const tools = await acceptedTools(asAdmin(io, options));
    if (options.check !== undefined) return compare(io, tools, options.check, options.json === true);
    if (options.json) return printJson(io, tools);
    for (const each of tools) io.stdout.write(`${lockLine(each)}\n`);
  });
}

/** Sorted by what stands in the file, and each once. */
async function acceptedTools(http: Http): Promise<AcceptedTool[]> {
  const lines = new Map<string, AcceptedTool>();
  const all = http.all<AcceptedTool>('/accepted-tools', 'tools', { limit: PAGE });
  for await (const each of all) lines.set(lockLine(each), each);
  return [...lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, tool]) => tool);
}

async function compare(io: IO, tools: readonly AcceptedTool[], file: string, json: boolean): Promise<void> {
  const read = parseLockFile(file, await readText(io, file));
  if ('fault' in read)
    throw new CliError(EXIT.noAnswer, `${shownFile(file)}: line ${read.line} ${read.fault}.`);
  const accepted = new Set(tools.map(lockLine));
  const missing = tools.filter(each => !read.has(each));
  const others = read.tools.filter(each => !accepted.has(lockLine(each)));
  const same = missing.length + others.length === 0;
  if (json) printJson(io, { same, missing, others });
  else {
    for (const each of others) io.stdout.write(`${io.stdout.style('red', `- ${lockLine(each)}`)}\n`);
    for (const each of missing) io.stdout.write(`${io.stdout.style('green', `+ ${lockLine(each)}`)}\n`);
    say(io, same ? `${shownFile(file)} is up to date.` : `${shownFile(file)} differs from what is accepted.`);
  }
  if (!same) io.exit(EXIT.failed);
}
