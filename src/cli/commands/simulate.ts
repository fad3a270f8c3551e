// toolgate simulate: says what a policy file decides about one call, and why. It works offline and stores nothing.

import { type Command, InvalidArgumentError } from 'commander';
import { callOf, type Simulated, simulate, type Tried, usedFault } from '../../core/decision/simulate.ts';
import {
  broughtBack,
  shownResult,
  type TriedResult,
  writtenResult,
} from '../../core/decision/simulate-result.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import { triedMarkFault } from '../../core/policy/mark-names.ts';
import { ruleLabel } from '../../core/policy/policy.ts';
import { outcomeText } from '../../core/results/outcome-text.ts';
import { textFault, toolNameFault } from '../../core/text/name.ts';
import { visible } from '../../core/text/visible.ts';
import { readAttributes, readCallArgs } from '../call-args.ts';
import { EXIT, EXIT_OF, usageError } from '../exit.ts';
import { command } from '../help.ts';
import { type IO, readText } from '../io.ts';
import { readTime, TIME_FORM } from '../moment.ts';
import { compiled, readPolicy } from '../policy-file.ts';
import { printJson, word } from '../print.ts';
import { traceLines } from '../trace.ts';

interface Options {
  args?: string;
  at?: number;
  session?: string;
  keyName?: string;
  person?: string;
  folder?: string;
  used?: ReadonlyMap<string, string>;
  mark?: string[];
  known?: string[];
  attributes?: string;
  result?: string;
  exitCode?: boolean;
  json?: boolean;
}

export function build(io: IO): Command {
  return command(
    'simulate',
    'Say what a policy file decides about a call, and why, without asking or recording anything. Works offline.\n\n' +
      'Without --args, rules with conditions depend on arguments, and the decision is the one for {}.\n\n' +
      'With --result, it also says what the agent gets of a result that the call brings back: what the policy hides, ' +
      'withholds or cuts. A file with the JSON of an MCP result is one; anything else is the text of a result.\n\n' +
      'Exit code: 0, or with --exit-code 0 allow, 1 deny, 2 pending; 3 when the policy is invalid.',
    [
      'toolgate simulate policy.yaml github__create_issue',
      `toolgate simulate policy.yaml stripe__refund --args '{"amount":60}' --used refunds=460`,
      'toolgate simulate policy.yaml mail__send --args - --at 2030-01-31T12:00:00Z < arguments.json',
      `toolgate simulate policy.yaml mail__send --args '{"to":"bob@example.com"}' --mark untrusted --known "Write to bob@example.com"`,
      'toolgate simulate policy.yaml github__get_file_contents --result result.json',
      'toolgate simulate policy.yaml db__drop_table --exit-code',
    ],
  )
    .argument('<policy-file>', 'a policy file (JSON or YAML; - for standard input)')
    .argument('<tool>', 'a full name, <server>__<tool>, or a bare tool name')
    .option('--args <json>', 'arguments of the call, a JSON object; - reads them from standard input')
    .option('--at <time>', 'when the call is made, instead of now', time)
    .option('--session <label>', 'it is made with a session that has this label', text(0, 200))
    .option('--key-name <name>', 'the name of the key', text(0, 200))
    .option('--person <email>', 'who signed in', text(1, 320))
    .option('--folder <path>', 'the working folder of the coding agent whose tool it is', text(1, 4096))
    .option('--used <limit>=<n>', 'how much of a limit is used already (repeatable)', used)
    .option('--mark <name>', 'a mark that the run has (repeatable)', repeated)
    .option('--known <text>', 'what the person or a trusted tool has said in the run (repeatable)', repeated)
    .option('--attributes <json>', 'what the session was minted with, a JSON object')
    .option(
      '--result <file>',
      'what the call brings back: an MCP result as JSON, or a text; - for standard input',
    )
    .option('--exit-code', 'report the decision by the exit code, as check does')
    .option(
      '--json',
      'print { decision, ruleIndex, reason, brings?: { marks, knownResults }, result?: { hidden, withheld, cut, marks, passed }, trace: [{ ruleIndex, ruleName?, applies, conditions, why }] }',
    )
    .action((file: string, tool: string, options: Options) => run(io, file, tool, options));
}

function time(given: string): number {
  const at = readTime(given);
  if (at === null) throw new InvalidArgumentError(`It must be ${TIME_FORM}.`);
  return at;
}

function text(min: number, max: number): (given: string) => string {
  return given => {
    const fault = textFault(given, min, max);
    if (fault !== null) throw new InvalidArgumentError(`It ${fault}.`);
    return given;
  };
}

function used(given: string, before: ReadonlyMap<string, string> = new Map()): Map<string, string> {
  const at = given.lastIndexOf('=');
  const name = given.slice(0, at);
  if (at < 0) throw new InvalidArgumentError('It must be a limit and an amount, such as refunds=460.');
  if (before.has(name)) throw new InvalidArgumentError('This limit is given twice.');
  return new Map([...before, [name, given.slice(at + 1)]]);
}

function repeated(given: string, before: readonly string[] = []): string[] {
  return [...before, given];
}

async function run(io: IO, file: string, tool: string, options: Options): Promise<void> {
  const call = callOf(tool);
  const fault = toolNameFault(call.toolName);
  if (fault !== null) throw usageError(`The tool name ${fault}.`);
  refuseSharedInput(file, options);
  const policy = compiled(await readPolicy(io, file, EXIT.noAnswer), file);
  const tried = await triedBy(io, policy, options);
  const written = options.result === undefined ? undefined : await readText(io, options.result);
  const simulated = simulate(policy, call, tried);
  // A call that is denied brings nothing back.
  const isMade = written !== undefined && simulated.decision !== 'deny';
  const brought = isMade ? broughtBack(policy, call, tried, simulated, writtenResult(written)) : null;
  if (options.json) printJson(io, asJson(policy, simulated, brought));
  else print(io, policy, simulated);
  if (written !== undefined && !options.json) printResult(io, brought);
  io.exit(options.exitCode ? EXIT_OF[simulated.decision] : EXIT.ok);
}

function refuseSharedInput(file: string, { args, result }: Options): void {
  const uses = [
    ['the policy', file],
    ['the arguments', args],
    ['the result', result],
  ].flatMap(([what, from]) => (from === '-' ? [what] : []));
  if (uses.length > 1) throw usageError(`Standard input cannot be both ${uses[0]} and ${uses[1]}.`);
}

async function triedBy(io: IO, policy: CompiledPolicy, options: Options): Promise<Tried> {
  const {
    args,
    at = Date.now(),
    session,
    keyName,
    person,
    folder,
    used = new Map(),
    mark = [],
    known,
  } = options;
  for (const [name, amount] of used) {
    const fault = usedFault(policy, name, amount);
    if (fault !== null) throw usageError(`--used: ${fault}.`);
  }
  for (const name of mark) {
    const fault = triedMarkFault(policy, name);
    if (fault !== null) throw usageError(`--mark: ${fault}.`);
  }
  const read = args === undefined ? undefined : await readCallArgs(io, args);
  const attributes = options.attributes === undefined ? undefined : readAttributes(options.attributes);
  return {
    at,
    args: read,
    session,
    keyName,
    person,
    folder,
    used: Object.fromEntries(used),
    attributes,
    marks: mark,
    known,
  };
}

/** `ruleName` is left out where the rule has none, and `brings` where the call means nothing for its run. */
function asJson({ rules }: CompiledPolicy, simulated: Simulated, brought: TriedResult | null): object {
  const { decision, ruleIndex, reason, brings, trace } = simulated;
  const shown = trace.map(({ ruleIndex, applies, conditions, why }) => ({
    ruleIndex,
    ruleName: rules[ruleIndex]?.name,
    applies,
    conditions,
    why,
  }));
  const bringsAny = brings.marks.length > 0 || brings.knownResults;
  const result = brought && { ...brought.outcome, marks: brought.marks, passed: brought.result };
  return {
    decision,
    ruleIndex,
    reason,
    ...(bringsAny && { brings }),
    ...(result !== null && { result }),
    trace: shown,
  };
}

function print(io: IO, policy: CompiledPolicy, { decision, ruleIndex, reason, trace }: Simulated): void {
  const rule = ruleIndex === null ? 'no rule' : ruleLabel(ruleIndex, policy.rules[ruleIndex]);
  io.stdout.write(`${word(io.stdout, decision)} (${visible(rule)}): ${visible(reason)}\n`);
  for (const line of traceLines(policy, trace)) io.stdout.write(`${visible(line)}\n`);
}

/** The text of the result last, so that nothing of it can be taken for words of this program. */
function printResult(io: IO, brought: TriedResult | null): void {
  if (brought === null) {
    io.stdout.write('The call is denied, so it brings no result back.\n');
    return;
  }
  const { result, outcome, marks } = brought;
  const marked = marks.length === 0 ? '' : `; marks: ${marks.join(', ')}`;
  io.stdout.write(`result: ${outcomeText(outcome)}${marked}\n`);
  for (const line of shownResult(result).trimEnd().split('\n')) io.stdout.write(`  ${visible(line)}\n`);
}
