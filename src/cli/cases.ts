// The calls of a case file, each compared with the decision that it must get. Calls in one run are a sequence: what one of
// them brings into the run, those after it meet. case-reader.ts reads the file.

import type { Decision } from '../core/decision/decide.ts';
import { runOf, simulate, type Tried } from '../core/decision/simulate.ts';
import type { TriedRun } from '../core/flows/tried-run.ts';
import type { CompiledPolicy } from '../core/policy/compiled-policy.ts';
import type { Json } from '../core/wire/json.ts';

export interface Wanted {
  decision: Decision;
  ruleIndex?: number | null;
  reason?: string;
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
  const { server, tool, line, tried, want: wanted, said, approved = false, result } = step;
  if (said !== undefined) run.learn(said);
  const simulated = simulate(policy, { serverName: server, toolName: tool }, tried, run);
  const { decision, ruleIndex, reason, brings } = simulated;
  if (decision === 'allow' || (decision === 'pending' && approved)) {
    run.mark(brings.marks);
    // Whoever approves a call has seen its arguments.
    if (decision === 'pending' && tried.args !== undefined) run.learn(tried.args);
    if (brings.knownResults && result !== undefined) run.learn(result);
  }
  const asWanted =
    decision === wanted.decision &&
    (wanted.ruleIndex === undefined || ruleIndex === wanted.ruleIndex) &&
    (wanted.reason === undefined || reason.includes(wanted.reason));
  if (asWanted) return null;
  return { file, line, call: `${server}__${tool}`, wanted, got: { decision, ruleIndex, reason } };
}
