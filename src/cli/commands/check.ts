// toolgate check: asks the service for a verdict and reports it by the exit code. Anything that is not a verdict gives
// exit code 3, so that no failure can look like an allow.

import { type Command, InvalidArgumentError } from 'commander';
import { Toolgate } from '../../../clients/typescript/src/index.ts';
import { visible } from '../../core/text/visible.ts';
import { parseDuration } from '../../core/time/duration.ts';
import { ExactNumber } from '../../core/wire/exact-number.ts';
import type { Json } from '../../core/wire/json.ts';
import { readCallArgs } from '../call-args.ts';
import { CliError, EXIT, EXIT_OF, usageError } from '../exit.ts';
import { command } from '../help.ts';
import type { IO } from '../io.ts';
import { printJson, word } from '../print.ts';
import { baseUrl, type KeyOptions, keyOf, withKey } from '../service-options.ts';

interface Options extends KeyOptions {
  args?: string;
  referenceId?: string;
  run?: string;
  idempotencyKey?: string;
  timeout: number;
}

type Verdict = Awaited<ReturnType<Toolgate['check']>>;

const TIMEOUT_MS = 10_000;

export function build(io: IO): Command {
  const made = command(
    'check',
    'Ask whether a tool call may proceed. The answer is recorded before it is given.\n\n' +
      'Exit code: 0 allow, 1 deny, 2 pending, 3 no verdict (network, 401, 500 …), 64 wrong usage.\n' +
      'Anything but 0 means: do not proceed.',
    [
      `toolgate check github create_issue --args '{"title":"Hello"}'`,
      'toolgate check db drop_table --args - < arguments.json',
      'toolgate check prod deploy --json && ./deploy',
    ],
  )
    .argument('<server>', 'name of the tool server')
    .argument('<tool>', 'name of the tool')
    .option('--args <json>', 'arguments of the call, a JSON object; - reads them from standard input')
    .option('--reference-id <id>', 'an approval of exactly this call, to be spent now')
    .option('--run <name>', 'the run that the call belongs to: see marks and known values')
    .option('--idempotency-key <key>', 'names this check: made again with it, it gets the same verdict')
    .option('--timeout <duration>', 'how long to wait for the verdict, such as 5s', duration, TIMEOUT_MS);
  return withKey(made).action((server: string, tool: string, options: Options) =>
    check(io, server, tool, options),
  );
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidArgumentError('It must be a duration such as 5s or 1m.');
  return ms;
}

async function check(io: IO, server: string, tool: string, options: Options): Promise<void> {
  io.exit(EXIT.noAnswer);
  // Faults of the command itself are reported first.
  const args = options.args === undefined ? undefined : exact(await readCallArgs(io, options.args));
  const key = keyOf(io, options);
  const client = clientFor(io, key, options);
  const { referenceId, run, idempotencyKey } = options;
  const verdict = await client
    .check(server, tool, args as Record<string, unknown> | undefined, { referenceId, run, idempotencyKey })
    .catch((error: Error) => {
      throw new CliError(EXIT.noAnswer, `No verdict: ${error.message}`, { cause: error });
    });
  if (options.json) printJson(io, verdict);
  else print(io, verdict);
  io.exit(EXIT_OF[verdict.decision] ?? EXIT.noAnswer);
}

function clientFor(io: IO, key: string, options: Options): Toolgate {
  try {
    return new Toolgate({ key, baseUrl: baseUrl(io, options), timeoutMs: options.timeout });
  } catch (error) {
    throw usageError((error as Error).message);
  }
}

function print(io: IO, verdict: Verdict): void {
  io.stdout.write(`${word(io.stdout, verdict.decision)}: ${visible(verdict.reason)}\n`);
  if (verdict.decision === 'pending') {
    io.stdout.write(`referenceId: ${visible(verdict.referenceId)}\n`);
    io.stderr.write(`${visible(verdict.message)}\n`);
  }
}

const rawNumber = (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON;

/** The same value, in which numbers that a double would change are sent as they were written. */
function exact(value: Json): unknown {
  if (value instanceof ExactNumber) return rawNumber(value.text);
  if (Array.isArray(value)) return value.map(exact);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, exact(each)]));
}
