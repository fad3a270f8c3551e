// toolgate tools connect and sign-out: signs in for a key to a server that wants OAuth, and ends that sign-in. The
// person signs in in a browser; this prints the address and waits. The server's token stays in the service.

import type { Command } from 'commander';
import type { ConnectedTool } from '../../core/api/resources.ts';
import { visible } from '../../core/text/visible.ts';
import { foundTool, toolPath } from '../connected-tools.ts';
import { CliError, EXIT } from '../exit.ts';
import { command } from '../help.ts';
import type { Http } from '../http.ts';
import { type IO, say } from '../io.ts';
import { printJson, quoted, time } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

const KEY = 'the key, by name or id';
const TOOL = 'the Connected Tool, by name or id';

/** The state of a sign-in, in a few words. */
export function signInOf({ oauth, signIn }: ConnectedTool): string {
  if (oauth === null) return '-';
  if (signIn === null) return 'each person';
  if (signIn.state === 'signed_in') return signedIn(signIn);
  const why = signIn.error === null ? '' : `: ${visible(signIn.error)}`;
  return `${signIn.state === 'ended' ? 'ended, sign in again' : 'needed'}${why}`;
}

function signedIn({ as, until }: NonNullable<ConnectedTool['signIn']>): string {
  const who = as === null ? '' : ` as ${visible(as)}`;
  return `signed in${who}${until === null ? '' : `, until ${time(until)}`}`;
}

const POLL_MS = 1000;
/** Longer than the service keeps the address valid. */
const WAIT_MS = 10 * 60_000;

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
      const { url } = await http.post<{ url: string }>(`${path}/connect`);
      if (options.json) return printJson(io, { url });
      io.stdout.write(`${url}\n`);
      if (!options.wait) return;
      // A new sign-in could not be distinguished from the existing one.
      if (tool.signIn?.state === 'signed_in')
        return say(io, `"${tool.name}" is ${signInOf(tool)}. Open this address to sign in again.`);
      say(
        io,
        'Open this address in a browser, and sign in there. Waiting for it; Ctrl-C ends the waiting only.',
      );
      const now = await changed(io, http, key, tool);
      say(
        io,
        `"${tool.name}": ${signInOf(now)}. Try it: toolgate tools test ${quoted(key)} ${quoted(tool.name)}`,
      );
    },
  );
}

/** The tool once its sign-in is another one than before. */
async function changed(io: IO, http: Http, key: string, before: ConnectedTool): Promise<ConnectedTool> {
  const start = Date.now();
  const known = JSON.stringify(before.signIn);
  while (Date.now() - start < WAIT_MS) {
    const { tool } = await foundTool(http, key, before.id);
    if (JSON.stringify(tool.signIn) !== known) return arrived(tool);
    progress(io, Date.now() - start);
    await Bun.sleep(POLL_MS);
  }
  throw new CliError(EXIT.failed, 'Nobody has signed in within 10 minutes. Ask for a new address.');
}

function arrived(tool: ConnectedTool): ConnectedTool {
  if (tool.signIn?.state === 'signed_in') return tool;
  throw new CliError(EXIT.failed, `The sign-in to "${tool.name}" has failed: ${signInOf(tool)}.`);
}

/** A terminal shows how long it has been waiting. */
function progress(io: IO, passed: number): void {
  if (io.stderr.isTTY) io.stderr.write(`\r${Math.round(passed / 1000)} s\r`);
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
