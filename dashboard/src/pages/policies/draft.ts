// The rules that are being edited: their text, its problems, and what it would decide. The same functions as in the
// service and the command line read them.

import { compilePolicy } from '../../../../src/core/compiled-policy.ts';
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

/** The rules as text, one per line. */
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

/** What the rules decide about a tool, given by its full or bare name. */
export function tryTool(name: string, rules: readonly Rule[], tool: string): Tried {
  return simulate(compilePolicy({ id: '', version: 0, name, rules }), callOf(tool), { at: Date.now() });
}
