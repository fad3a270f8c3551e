// `toolgate hook` as a process. It ends with process.exit, because standard input may stay open. Its imports are the
// files of this folder and a few built-in modules, so that it starts at once (scripts/imports.ts).

import { writeSync } from 'node:fs';
import { type AgentName, isAgent } from '../../core/agents.ts';
import { refusal, runHook } from './hook.ts';
import type { Outcome } from './service.ts';

export async function hook(argv: readonly string[]): Promise<void> {
  // Whatever ends this process before its time must not look like yes, and agents take 0 and 1 for it. Some also take it
  // for yes if nothing is said.
  process.exitCode = 2;
  const agent = argv.find(isAgent) ?? null;
  for (const event of ENDS) process.on(event, () => process.exit(said(refusal(agent))));
  // A proxy for plain requests would be given the key, and could answer in the place of the service. One for all requests
  // still serves for those that are encrypted.
  const { env } = process;
  const forAll = env['ALL_PROXY'] || env['all_proxy'];
  if (forAll && !env['https_proxy']) env['HTTPS_PROXY'] ||= forAll;
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']) delete env[name];
  const outcome = await runHook(argv, { env: process.env, stdin: () => Bun.stdin.stream() });
  process.exit(await written(outcome, agent));
}

const ENDS = ['uncaughtException', 'unhandledRejection', 'SIGTERM', 'SIGINT', 'SIGHUP'];

/** The exit code, once all is written. If the agent does not read the answer, it must not go on. */
async function written({ stdout, stderr, exitCode }: Outcome, agent: AgentName | null): Promise<number> {
  try {
    if (stdout !== '') await Bun.write(Bun.stdout, stdout);
    if (stderr !== '') await Bun.write(Bun.stderr, stderr);
    return exitCode;
  } catch {
    return said(refusal(agent));
  }
}

/** The same at once, as far as it can be written at all. */
function said({ stdout, stderr, exitCode }: Outcome): number {
  try {
    if (stdout !== '') writeSync(1, stdout);
    if (stderr !== '') writeSync(2, stderr);
    return exitCode;
  } catch {
    return 2;
  }
}
