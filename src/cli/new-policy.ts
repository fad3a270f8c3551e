// toolgate policies new: makes a policy from a pack, or prints the pack. The packs are those of this program, so that they
// can be read without a service.

import type { Command } from 'commander';
import type { WholePolicy } from '../core/api/resources.ts';
import { EXAMPLE_FOLDER, folderFault, wantsFolder, withFolder } from '../core/policy-file/pack-folder.ts';
import { PACKS, type Pack, serversIn, withName, withServers } from '../core/policy-file/packs.ts';
import { serverNameFault } from '../core/text/name.ts';
import { usageError } from './exit.ts';
import { command } from './help.ts';
import { type IO, say } from './io.ts';
import { type Column, printJson, printTable } from './print.ts';
import { type AdminOptions, asAdmin, withAdmin } from './service-options.ts';

interface NewOptions extends AdminOptions {
  from?: string;
  name?: string;
  server?: string[];
  folder?: string;
  print?: boolean;
  list?: boolean;
}

export function newCommand(io: IO): Command {
  const made = command('new', 'Make a policy from a pack: a policy to begin with.', [
    'toolgate policies new --list',
    'toolgate policies new --from github --print > github.yaml',
    'toolgate policies new --from coding --folder "$HOME/projects"',
    'toolgate policies new --from github --name prod --server github=gh',
  ])
    .option('--from <pack>', 'the pack')
    .option('--name <name>', 'the name of the policy; else that of the pack')
    .option('--server <usual=own>', 'your own name for a server of the pack; may be repeated', collect)
    .option('--folder <path>', 'the folder that the agent works in, for packs about files')
    .option('--print', 'print the text, and make nothing')
    .option('--list', 'list the packs');
  return withAdmin(made).action(async (options: NewOptions) => {
    if (options.list) return listPacks(io, options);
    const pack = packNamed(options.from);
    const name = options.name ?? pack.name;
    const own = new Map((options.server ?? []).map(words => renaming(pack, words)));
    const text = withName(withServers(inFolder(pack, options), own), name);
    if (options.print && options.json) return printJson(io, { pack: pack.name, name, text });
    if (options.print) return void io.stdout.write(text);
    const policy = await asAdmin(io, options).post<WholePolicy>('/policies', { text });
    if (options.json) return printJson(io, policy);
    say(io, `Policy "${name}" is made from the pack "${pack.name}", version ${policy.version}.`);
    if (options.folder === undefined) say(io, 'Its first comment says what to put in for names of your own.');
  });
}

function collect(word: string, before: string[] = []): string[] {
  return [...before, word];
}

const COLUMNS: Column<Pack>[] = [
  ['PACK', pack => pack.name],
  ['SERVERS', pack => serversIn(pack.text).join(', ') || 'any'],
  ['FOR', pack => pack.title],
];

function listPacks(io: IO, { json }: NewOptions): void {
  if (json) printJson(io, { packs: PACKS.map(({ text: _, ...about }) => about) });
  else printTable<Pack>(io, PACKS, COLUMNS, 'There are no packs.');
}

function packNamed(name: string | undefined): Pack {
  const found = PACKS.find(pack => pack.name === name);
  if (found !== undefined) return found;
  const names = PACKS.map(pack => pack.name).join(', ');
  if (name === undefined) throw usageError(`Say which pack, by --from. There are ${names}.`);
  throw usageError(`There is no pack ${JSON.stringify(name)}. There are ${names}.`);
}

/** A pack about files needs a folder before it is saved; printed, it may keep the example. */
function inFolder({ name, text }: Pack, { folder, print }: NewOptions): string {
  if (folder === undefined) {
    if (print || !wantsFolder(text)) return text;
    throw usageError(
      `Say which folder the agent works in: toolgate policies new --from ${name} --folder "$HOME/projects". The pack has ${EXAMPLE_FOLDER} in its place.`,
    );
  }
  if (!wantsFolder(text)) throw usageError(`--folder: the pack ${name} is about no folder.`);
  const fault = folderFault(folder);
  if (fault !== null) throw usageError(`--folder ${folder}: it ${fault}.`);
  return withFolder(text, folder);
}

/** Names that need no quotes in YAML, wherever they stand. */
const PLAIN = /^[A-Za-z0-9][\w.-]*$/;

/** The usual name of a server and the user's own, from `usual=own`. */
function renaming({ text }: Pack, words: string): [usual: string, own: string] {
  const [usual = '', ...rest] = words.split('=');
  const own = rest.join('=');
  const servers = serversIn(text);
  if (!servers.includes(usual)) {
    const known = servers.length === 0 ? 'names no server' : `names ${servers.join(', ')}`;
    throw usageError(`--server ${words}: write the usual name, "=" and your own. The pack ${known}.`);
  }
  const fault = PLAIN.test(own) ? serverNameFault(own) : 'may have only letters, digits, ".", "-" and "_"';
  if (fault !== null) throw usageError(`--server ${words}: your own name ${fault}.`);
  return [usual, own];
}
