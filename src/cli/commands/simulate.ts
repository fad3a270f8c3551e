// toolgate simulate: says what a policy file decides about one tool. It works offline.

import type { Command } from 'commander';
import { toolNameFault } from '../../core/name.ts';
import { callOf, simulate } from '../../core/simulate.ts';
import { visible } from '../../core/visible.ts';
import { EXIT, EXIT_OF, usageError } from '../exit.ts';
import { command } from '../help.ts';
import type { IO } from '../io.ts';
import { compiled, readPolicy } from '../policy-file.ts';
import { printJson, word } from '../print.ts';

interface Options {
  exitCode?: boolean;
  json?: boolean;
}

export function build(io: IO): Command {
  return command(
    'simulate',
    'Say what a policy file decides about a tool, without asking or recording anything. Works offline.\n\n' +
      'Exit code: 0, or with --exit-code 0 allow, 1 deny, 2 pending; 3 when the policy is invalid.',
    [
      'toolgate simulate policy.yaml github__create_issue',
      'toolgate simulate policy.yaml create_issue --json',
      'toolgate simulate policy.yaml db__drop_table --exit-code',
    ],
  )
    .argument('<policy-file>', 'a policy file (JSON or YAML; - for standard input)')
    .argument('<tool>', 'a full name, <server>__<tool>, or a bare tool name')
    .option('--exit-code', 'report the decision by the exit code, as check does')
    .option('--json', 'print { decision, ruleIndex, reason }')
    .action((file: string, tool: string, options: Options) => run(io, file, tool, options));
}

async function run(io: IO, file: string, tool: string, options: Options): Promise<void> {
  const call = callOf(tool);
  const fault = toolNameFault(call.toolName);
  if (fault !== null) throw usageError(`The tool name ${fault}.`);
  const policy = compiled(await readPolicy(io, file, EXIT.noAnswer), file);
  const { decision, ruleIndex, reason } = simulate(policy, call, { at: Date.now() });
  if (options.json) printJson(io, { decision, ruleIndex, reason });
  else {
    const rule = ruleIndex === null ? 'no rule' : `rule ${ruleIndex}`;
    io.stdout.write(`${word(io.stdout, decision)} (${rule}): ${visible(reason)}\n`);
  }
  io.exit(options.exitCode ? EXIT_OF[decision] : EXIT.ok);
}
