// `toolgate hook` as a process. It ends with process.exit, because standard input may stay open. Its imports are the
// files of this folder and a few built-in modules, so that it starts at once (scripts/imports.ts).

import { writeSync } from 'node:fs';
import { judged } from './hook.ts';
import { NO_VERDICT } from './no-verdict.ts';
import type { Outcome } from './service.ts';

export async function hook(argv: readonly string[]): Promise<void> {
  // Whatever ends this process before its time must not look like yes, and agents take 0 and 1 for it.
  process.exitCode = 2;
  for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, refuse);
  // A proxy for plain requests would be given the key, and could answer in the place of the service. One for all requests
  // still serves for those that are encrypted.
  const { env } = process;
  const forAll = env['ALL_PROXY'] || env['all_proxy'];
  if (forAll && !env['https_proxy']) env['HTTPS_PROXY'] ||= forAll;
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']) delete env[name];
  const outcome = await judged(argv, { env: process.env, stdin: () => Bun.stdin.stream() });
  process.exit(await written(outcome));
}

/** Some agents take a code without a word for a hook that failed, and make the call. */
function refuse(): never {
  try {
    writeSync(2, `${NO_VERDICT}\n`);
  } catch {}
  process.exit(2);
}

/** The exit code, once all is written. If the agent does not read the answer, it must not go on. */
async function written({ stdout, stderr, exitCode }: Outcome): Promise<number> {
  try {
    if (stdout !== '') await Bun.write(Bun.stdout, stdout);
    if (stderr !== '') await Bun.write(Bun.stderr, stderr);
    return exitCode;
  } catch {
    return 2;
  }
}
