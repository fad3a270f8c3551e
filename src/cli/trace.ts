// The trace of a simulated decision as text: a line for each rule, and below it what its hours, conditions and limit
// came to, with the values that were read.

import type { Detail, TraceStep } from '../core/decision/trace.ts';
import { type Rule, ruleLabel } from '../core/policy/policy.ts';

/** No lines if no rule has hours, conditions or a limit to explain. */
export function traceLines({ rules }: { rules: readonly Rule[] }, trace: readonly TraceStep[]): string[] {
  if (trace.every(step => step.details.length === 0)) return [];
  return trace.flatMap(step => {
    const rule = rules[step.ruleIndex] as Rule;
    const said = step.applies === false ? `it does not apply: ${step.said}` : step.said;
    const label = `${ruleLabel(step.ruleIndex, rule)} (${rule.action} ${rule.tool})`;
    return [`${label}: ${said}`, ...step.details.flatMap(detailLines)];
  });
}

function detailLines({ name, text, outcome, why, values }: Detail): string[] {
  const came = why === null ? outcome : `${outcome}: ${why}`;
  const read = values.length === 0 ? '' : ` (${values.join(', ')})`;
  return [`  ${name}: ${shortened(text)}`, `    ${came}${read}`];
}

const MOST_SHOWN = 200;

/** A condition may be written on several lines. */
function shortened(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return line.length > MOST_SHOWN ? `${line.slice(0, MOST_SHOWN)}…` : line;
}
