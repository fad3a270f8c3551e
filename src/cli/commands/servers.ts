// toolgate servers: tool servers that several keys share. servers-add.ts has the commands that register and change one,
// servers-review.ts those that look at its tools and accept them, servers-lock.ts the lock file, servers-reload.ts the
// server file, servers-keys.ts which keys have one, and servers-sign-in.ts the sign-in of all of them.

import type { Command } from 'commander';
import type { WholeToolServer } from '../../core/api/resources.ts';
import { visible } from '../../core/text/visible.ts';
import { healthOf, targetOf, test } from '../connected-tools.ts';
import { CliError, EXIT } from '../exit.ts';
import { command, group } from '../help.ts';
import { type IO, say } from '../io.ts';
import { printJson, printTable, quoted } from '../print.ts';
import { signInOf } from '../server-sign-in.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { allServers, foundServer } from '../tool-servers.ts';
import { addCommand, editCommand, presetsCommand } from './servers-add.ts';
import { connectCommand, shareCommand } from './servers-keys.ts';
import { lockCommand } from './servers-lock.ts';
import { reloadCommand } from './servers-reload.ts';
import { acceptCommand, showCommand } from './servers-review.ts';
import { signInCommand, signOutCommand } from './servers-sign-in.ts';

export function build(io: IO): Command {
  return group(
    'servers',
    'Tool servers that keys share: registered once, looked at once, and connected to any number of keys.',
    [
      'toolgate servers add github --header "Authorization: Bearer $TOKEN"',
      'toolgate servers show github',
      'toolgate servers accept github --all',
      'toolgate servers connect github --key ci',
    ],
    [
      listCommand(io),
      presetsCommand(io),
      addCommand(io),
      editCommand(io),
      testCommand(io),
      showCommand(io),
      acceptCommand(io),
      lockCommand(io),
      reloadCommand(io),
      connectCommand(io),
      shareCommand(io),
      signInCommand(io),
      signOutCommand(io),
      removeCommand(io),
    ],
  );
}

function listCommand(io: IO): Command {
  const made = command('list', 'List tool servers, by name.', ['toolgate servers list']);
  return withAdmin(made).action(async (options: AdminOptions) => {
    const servers = await allServers(asAdmin(io, options));
    if (options.json) return printJson(io, servers);
    printTable(
      io,
      servers,
      [
        ['NAME', server => visible(server.name)],
        ['TRANSPORT', server => server.transport],
        ['TARGET', targetOf],
        ['TRUST', server => server.trust],
        ['KEYS', server => String(server.keys)],
        ['HEALTH', healthOf],
        ['TOOLS', server => String(server.tools.length)],
        ['SIGN-IN', signInOf],
      ],
      'There are no tool servers; `toolgate servers add` registers one.',
    );
  });
}

function testCommand(io: IO): Command {
  const what = 'Connect to a tool server now, and list what it offers.';
  const made = command('test', what, ['toolgate servers test github']).argument(
    '<server>',
    'the tool server, by name or id',
  );
  return withAdmin(made).action(async (nameOrId: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    const { path, server } = await foundServer(http, nameOrId);
    await test(io, http, path, server, options.json);
    if (options.json) return;
    const word = quoted(server.name);
    say(
      io,
      `Look at them: toolgate servers show ${word}. Accept them: toolgate servers accept ${word} --all`,
    );
  });
}

function removeCommand(io: IO): Command {
  const what = 'Remove a tool server that no key has any more, with its definitions and sign-ins.';
  const made = command('remove', what, ['toolgate servers remove github']).argument(
    '<server>',
    'the tool server, by name or id',
  );
  return withAdmin(made).action(async (nameOrId: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    const { path, server } = await foundServer(http, nameOrId);
    const { uses } = await http.get<WholeToolServer>(path);
    if (uses.length > 0)
      throw new CliError(EXIT.failed, `Keys have "${server.name}". Remove it from them first:`, {
        list: uses.map(({ keyName, name }) => `toolgate tools remove ${quoted(keyName)} ${quoted(name)}`),
      });
    await http.delete(path);
    if (options.json) return printJson(io, { server: server.name, removed: true });
    say(io, `Tool server "${server.name}" is removed.`);
  });
}
