// The calls of a case file, each compared with the decision that it must get. Calls in one run are a sequence: what one of
// them brings into the run, those after it meet. case-reader.ts reads the file.

import { isDeepStrictEqual } from 'node:util';
import type { Decision } from '../core/decision/decide.ts';
import { runOf, simulate, type Tried } from '../core/decision/simulate.ts';
import { shownResult, simulateResult } from '../core/decision/simulate-result.ts';
import type { TriedRun } from '../core/flows/tried-run.ts';
import type { CompiledPolicy } from '../core/policy/compiled-policy.ts';
import type { ToolCall } from '../core/policy/situation.ts';
import type { Json } from '../core/wire/json.ts';

export interface Wanted {
  decision: Decision;
  ruleIndex?: number | null;
  reason?: string;
  /** What becomes of the result. A field that is left out is not compared. */
  result?: WantedResult;
}

export interface WantedResult {
  hidden?: Readonly<Record<string, number>>;
  withheld?: boolean;
  cut?: boolean;
  /** A part of what the agent gets. */
  text?: string;
}

/** A call, or several in one run. */
export interface Case extends Pick<Tried, 'marks' | 'known'> {
  steps: readonly Step[];
}

export interface Step {
  line: number;
  server: string;
  tool: string;
  tried: Tried;
  want: Wanted;
  /** What the person says before the call. */
  said?: string | undefined;
  /** Whether a person approves the call when they are asked. */
  approved?: boolean | undefined;
  /** What the tool returns once the call is made. */
  result?: Json | undefined;
}

export interface CaseFile {
  policy: CompiledPolicy;
  cases: readonly Case[];
}

export interface Failure {
  file: string;
  line: number;
  call: string;
  wanted: Wanted;
  got: Wanted;
}

export function failuresOf(file: string, policy: CompiledPolicy, tested: Case): Failure[] {
  const run = runOf(tested);
  return tested.steps.flatMap(step => failureOf(file, policy, step, run) ?? []);
}

function failureOf(file: string, policy: CompiledPolicy, step: Step, run: TriedRun): Failure | null {
  const { server, tool, line, tried, want: wanted, said, approved = false } = step;
  if (said !== undefined) run.learn(said);
  const call = { serverName: server, toolName: tool };
  const { decision, ruleIndex, reason, brings } = simulate(policy, call, tried, run);
  const got: Wanted = { decision, ruleIndex, reason };
  if (decision === 'allow' || (decision === 'pending' && approved)) {
    run.mark(brings.marks);
    // Whoever approves a call has seen its arguments.
    if (decision === 'pending' && tried.args !== undefined) run.learn(tried.args);
    const result = broughtResult(policy, call, step, run, brings.knownResults);
    if (result !== null) got.result = result;
  }
  return isAsWanted(wanted, got) ? null : { file, line, call: `${server}__${tool}`, wanted, got };
}

/** What the agent gets of the result, which marks the run and makes values known as the policy says. */
function broughtResult(
  policy: CompiledPolicy,
  call: ToolCall,
  { tried, result: written }: Step,
  run: TriedRun,
  makesKnown: boolean,
): WantedResult | null {
  if (written === undefined) return null;
  const { result, outcome, marks } = simulateResult(policy, call, tried, written, run);
  run.mark(marks);
  // Like the service: an error makes nothing known.
  if (makesKnown && result['isError'] !== true) run.learnResult(result);
  return { ...outcome, text: shownResult(result) };
}

function isAsWanted(wanted: Wanted, got: Wanted): boolean {
  return (
    got.decision === wanted.decision &&
    (wanted.ruleIndex === undefined || got.ruleIndex === wanted.ruleIndex) &&
    (wanted.reason === undefined || (got.reason ?? '').includes(wanted.reason)) &&
    (wanted.result === undefined || (got.result !== undefined && isResultAsWanted(wanted.result, got.result)))
  );
}

function isResultAsWanted({ hidden, withheld, cut, text }: WantedResult, got: WantedResult): boolean {
  return (
    (hidden === undefined || isDeepStrictEqual(hidden, { ...got.hidden })) &&
    (withheld === undefined || withheld === got.withheld) &&
    (cut === undefined || cut === got.cut) &&
    (text === undefined || (got.text ?? '').includes(text))
  );
}
