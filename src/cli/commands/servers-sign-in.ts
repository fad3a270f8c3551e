// toolgate servers sign-in and sign-out: the one sign-in of all keys to a tool server that wants OAuth. server-sign-in.ts
// prints the address and waits.

import type { Command } from 'commander';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { printJson, quoted } from '../print.ts';
import { signInTo } from '../server-sign-in.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';
import { foundServer } from '../tool-servers.ts';

const SERVER = 'the tool server, by name or id';

export function signInCommand(io: IO): Command {
  const what =
    'Sign in to a tool server that wants OAuth, for all keys: print the address to open in a browser, and wait ' +
    'until somebody has signed in there.';
  const made = command('sign-in', what, ['toolgate servers sign-in stripe'])
    .argument('<server>', SERVER)
    .option('--no-wait', 'print the address and end; so does --json');
  return withAdmin(made).action(async (nameOrId: string, options: AdminOptions & { wait: boolean }) => {
    const http = asAdmin(io, options);
    const { path, server } = await foundServer(http, nameOrId);
    await signInTo(io, http, options, {
      path,
      before: server,
      now: async () => (await foundServer(http, server.id)).server,
      next: `Have it list its tools: toolgate servers test ${quoted(server.name)}`,
    });
  });
}

export function signOutCommand(io: IO): Command {
  const what =
    'End the sign-in of all keys to a tool server. Calls to it fail until somebody signs in again.';
  const made = command('sign-out', what, ['toolgate servers sign-out stripe']).argument('<server>', SERVER);
  return withAdmin(made).action(async (nameOrId: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    const { path, server } = await foundServer(http, nameOrId);
    await http.delete(`${path}/connect`);
    if (options.json) return printJson(io, { server: server.name, signedOut: true });
    say(io, `The sign-in to "${server.name}" has ended.`);
  });
}
