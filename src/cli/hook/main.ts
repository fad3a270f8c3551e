// `toolgate hook` as a process. It ends with process.exit, because standard input may stay open. It imports the files
// of this folder, two of core/ and a few built-in modules, so that it starts at once (scripts/imports.ts).

import { writeSync } from 'node:fs';
import { type AgentName, isAgent } from '../../core/agents.ts';
import { refusal, runHook } from './hook.ts';
import type { Outcome } from './service.ts';

export async function hook(argv: readonly string[]): Promise<void> {
  // If this process ends early, the agent must not take that for permission. Agents do so after the exit codes 0 and 1,
  // and some after any exit without output.
  process.exitCode = 2;
  const agent = argv.find(isAgent) ?? null;
  for (const event of ENDS) process.on(event, () => process.exit(said(refusal(agent))));
  // A proxy for plain HTTP would see the key, and could answer in the place of the service. A proxy for all protocols
  // is used for https only.
  const { env } = process;
  const forAll = env['ALL_PROXY'] || env['all_proxy'];
  if (forAll && !env['https_proxy']) env['HTTPS_PROXY'] ||= forAll;
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']) delete env[name];
  const outcome = await runHook(argv, { env: process.env, stdin: () => Bun.stdin.stream() });
  process.exit(await written(outcome, agent));
}

const ENDS = ['uncaughtException', 'unhandledRejection', 'SIGTERM', 'SIGINT', 'SIGHUP'];

/** Writes the outcome, and returns the exit code. If the outcome cannot be written, the call is refused. */
async function written({ stdout, stderr, exitCode }: Outcome, agent: AgentName | null): Promise<number> {
  try {
    if (stdout !== '') await Bun.write(Bun.stdout, stdout);
    if (stderr !== '') await Bun.write(Bun.stderr, stderr);
    return exitCode;
  } catch {
    return said(refusal(agent));
  }
}

/** Does the same without waiting, because the process is about to end. */
function said({ stdout, stderr, exitCode }: Outcome): number {
  try {
    if (stdout !== '') writeSync(1, stdout);
    if (stderr !== '') writeSync(2, stderr);
    return exitCode;
  } catch {
    return 2;
  }
}
