// toolgate servers show and accept: what the tools of a tool server say, what was found in it, who accepted it; and
// accepting it. review.ts prints and asks.

import type { Command } from 'commander';
import type { WholeToolServer } from '../../core/api/resources.ts';
import { visible } from '../../core/text/visible.ts';
import { healthOf, targetOf } from '../connected-tools.ts';
import { command } from '../help.ts';
import type { IO } from '../io.ts';
import { printJson, quoted } from '../print.ts';
import {
  type AcceptOptions,
  accept,
  type Reviewed,
  reviewedTools,
  showInShort,
  showWhole,
  toolsNamed,
  withAccept,
} from '../review.ts';
import { signInOf } from '../server-sign-in.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { table } from '../table.ts';
import { foundServer } from '../tool-servers.ts';

const SERVER = 'the tool server, by name or id';

const reviewed = ({ path, server: { name } }: Awaited<ReturnType<typeof foundServer>>): Reviewed => ({
  path,
  name,
  show: `toolgate servers show ${quoted(name)}`,
});

export function showCommand(io: IO): Command {
  const examples = ['toolgate servers show github', 'toolgate servers show github create_issue'];
  const what =
    'Show a tool server: its tools, what was found in their definitions, who accepted them, and for how many keys ' +
    'their calls are held. With the name of a tool: its definition, or what changed in it.';
  const made = command('show', what, examples)
    .argument('<server>', SERVER)
    .argument('[name...]', 'tools by their own names; without one, all of them in short');
  return withAdmin(made).action(async (nameOrId: string, names: string[], options: AdminOptions) => {
    const http = asAdmin(io, options);
    const found = reviewed(await foundServer(http, nameOrId));
    const tools = await reviewedTools(http, found.path);
    if (names.length > 0) return showWhole(io, toolsNamed(tools, names, found), options.json);
    const server = await http.get<WholeToolServer>(found.path);
    if (options.json) return printJson(io, { ...server, tools });
    io.stdout.write(`${table(linesOf(server))}\n`);
    showInShort(io, tools);
  });
}

const MOST_KEYS = 20;

function linesOf(server: WholeToolServer): string[][] {
  const { uses } = server;
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
    ['HEALTH', healthOf(server)],
    ['SIGN-IN', signInOf(server)],
    ['KEYS', [...keys, ...more].join(', ') || 'none'],
  ];
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
  const made = withAccept(command('accept', what, examples).argument('<server>', SERVER));
  return withAdmin(made).action(
    async (nameOrId: string, names: string[], options: AdminOptions & AcceptOptions) => {
      const http = asAdmin(io, options);
      await accept(io, http, reviewed(await foundServer(http, nameOrId)), names, options);
    },
  );
}
