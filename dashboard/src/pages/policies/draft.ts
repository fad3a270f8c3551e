// The rules that are being written: their text, what is wrong with it, and what it would decide. Read by the very
// functions that the service and the command line use.

import { compilePolicy } from '../../../../src/core/decide.ts';
import { type Problem, parsePolicy } from '../../../../src/core/policy-file.ts';
import { ruleLine } from '../../../../src/core/policy-text.ts';
import { callOf, simulate } from '../../../../src/core/simulate.ts';
import type { Decision, Rule } from '../../resources.ts';

export interface Draft {
  text: string;
  /** Null while there are errors. */
  rules: Rule[] | null;
  problems: Problem[];
  /** The line on which each rule begins. */
  lines: number[];
}

export function draftOf(text: string): Draft {
  const { policy, problems, lines } = parsePolicy(text);
  return { text, rules: policy === null ? null : (policy.rules as Rule[]), problems, lines };
}

/** One rule to a line. */
export function linesOf(rules: readonly Rule[]): string[] {
  return rules.map(rule => ruleLine(rule).trimStart());
}

export function textOf(rules: readonly Rule[]): string {
  return rules.length === 0 ? '[]\n' : `${linesOf(rules).join('\n')}\n`;
}

interface Tried {
  decision: Decision;
  ruleIndex: number | null;
  reason: string;
}

/** What the rules say about a tool, given by its full or its bare name. */
export function tryTool(name: string, rules: readonly Rule[], tool: string): Tried {
  return simulate(compilePolicy({ id: '', version: 0, name, rules }), callOf(tool));
}
