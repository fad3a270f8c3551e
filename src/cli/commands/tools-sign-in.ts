// toolgate tools connect and sign-out: signs in for a key to a server that wants OAuth, and ends that sign-in.
// server-sign-in.ts prints the address and waits.

import type { Command } from 'commander';
import { foundTool, toolPath } from '../connected-tools.ts';
import { command } from '../help.ts';
import { type IO, say } from '../io.ts';
import { printJson, quoted } from '../print.ts';
import { signInTo } from '../server-sign-in.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

const KEY = 'the key, by name or id';
const TOOL = 'the Connected Tool, by name or id';

export function connectCommand(io: IO): Command {
  const what =
    'Sign in to a Connected Tool that wants OAuth, for the whole key: print the address to open in a browser, ' +
    'and wait until somebody has signed in there.';
  const made = command('connect', what, [
    'toolgate tools connect ci linear',
    'toolgate tools connect ci linear --no-wait',
  ])
    .argument('<key>', KEY)
    .argument('<tool>', TOOL)
    .option('--no-wait', 'print the address and end; so does --json');
  return withAdmin(made).action(
    async (key: string, name: string, options: AdminOptions & { wait: boolean }) => {
      const http = asAdmin(io, options);
      const { path, tool } = await foundTool(http, key, name);
      await signInTo(io, http, options, {
        path,
        before: tool,
        now: async () => (await foundTool(http, key, tool.id)).tool,
        next: `Try it: toolgate tools test ${quoted(key)} ${quoted(tool.name)}`,
      });
    },
  );
}

export function signOutCommand(io: IO): Command {
  const what = 'End a key’s sign-in to a Connected Tool. Calls to it fail until somebody signs in again.';
  const made = command('sign-out', what, ['toolgate tools sign-out ci linear'])
    .argument('<key>', KEY)
    .argument('<tool>', TOOL);
  return withAdmin(made).action(async (key: string, name: string, options: AdminOptions) => {
    const http = asAdmin(io, options);
    await http.delete(`${await toolPath(http, key, name)}/connect`);
    if (options.json) return printJson(io, { tool: name, signedOut: true });
    say(io, `The sign-in to "${name}" has ended.`);
  });
}
