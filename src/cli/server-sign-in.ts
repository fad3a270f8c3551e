// Signs in to a server that wants OAuth, for a key or for all keys that share the server. The person signs in in a browser;
// this prints the address and waits. The server's token stays in the service.

import type { ConnectedTool } from '../core/api/resources.ts';
import { visible } from '../core/text/visible.ts';
import { CliError, EXIT } from './exit.ts';
import type { Http } from './http.ts';
import { type IO, say } from './io.ts';
import { printJson, time } from './print.ts';

/** What is known of a server to which somebody signs in. */
export type SignsIn = Pick<ConnectedTool, 'name' | 'oauth' | 'signIn'>;

/** The state of a sign-in, in a few words. */
export function signInOf({ oauth, signIn }: SignsIn): string {
  if (oauth === null) return '-';
  if (signIn === null) return 'each person';
  if (signIn.state === 'signed_in') return signedIn(signIn);
  const why = signIn.error === null ? '' : `: ${visible(signIn.error)}`;
  return `${signIn.state === 'ended' ? 'ended, sign in again' : 'needed'}${why}`;
}

function signedIn({ as, until }: NonNullable<SignsIn['signIn']>): string {
  const who = as === null ? '' : ` as ${visible(as)}`;
  return `signed in${who}${until === null ? '' : `, until ${time(until)}`}`;
}

const POLL_MS = 1000;
/** Longer than the service keeps the address valid. */
const WAIT_MS = 10 * 60_000;

interface ToSignIn {
  /** Of the server, in the API. */
  path: string;
  before: SignsIn;
  now: () => Promise<SignsIn>;
  /** What to do once somebody has signed in. */
  next: string;
}

export async function signInTo(
  io: IO,
  http: Http,
  { json, wait }: { json?: boolean; wait: boolean },
  { path, before, now, next }: ToSignIn,
): Promise<void> {
  const { url } = await http.post<{ url: string }>(`${path}/connect`);
  if (json) return printJson(io, { url });
  io.stdout.write(`${url}\n`);
  if (!wait) return;
  // A new sign-in could not be distinguished from the existing one.
  if (before.signIn?.state === 'signed_in')
    return say(io, `"${before.name}" is ${signInOf(before)}. Open this address to sign in again.`);
  say(io, 'Open this address in a browser, and sign in there. Waiting for it; Ctrl-C ends the waiting only.');
  const arrived = await changed(io, before, now);
  say(io, `"${before.name}": ${signInOf(arrived)}. ${next}`);
}

/** The server once its sign-in is another one than before. */
async function changed(io: IO, before: SignsIn, now: () => Promise<SignsIn>): Promise<SignsIn> {
  const start = Date.now();
  const known = JSON.stringify(before.signIn);
  while (Date.now() - start < WAIT_MS) {
    const tool = await now();
    if (JSON.stringify(tool.signIn) !== known) return arrived(tool);
    progress(io, Date.now() - start);
    await Bun.sleep(POLL_MS);
  }
  throw new CliError(EXIT.failed, 'Nobody has signed in within 10 minutes. Ask for a new address.');
}

function arrived(tool: SignsIn): SignsIn {
  if (tool.signIn?.state === 'signed_in') return tool;
  throw new CliError(EXIT.failed, `The sign-in to "${tool.name}" has failed: ${signInOf(tool)}.`);
}

/** A terminal shows how long it has been waiting. */
function progress(io: IO, passed: number): void {
  if (io.stderr.isTTY) io.stderr.write(`\r${Math.round(passed / 1000)} s\r`);
}
