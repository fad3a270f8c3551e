// Warnings about questions to people: a rule that asks them to approve a call of which they see nothing, and paths that
// are probably not what their author meant.

import { ASKS, type Rule } from '../policy/policy.ts';
import type { Fault } from '../policy/rule-faults.ts';
import { type Path, parsePath, parseQuestion } from '../text/argument-path.ts';

export function askingWarnings(rule: Rule, index: number, shown: string): Fault[] {
  const warn = (field: string | null, message: string): Fault => ({
    path: field === null ? ['rules', index] : ['rules', index, field],
    offset: null,
    message: `${shown} ${message}`,
  });
  if (ASKS[rule.action] && rule.show === undefined && rule.ask === undefined) return [warn(null, BLIND)];
  const found: Fault[] = [];
  if (pathsShown(rule).some(readsArgs)) found.push(warn('show', ARGS));
  if (pathsAsked(rule).some(readsArgs)) found.push(warn('ask', ARGS));
  return found;
}

const BLIND =
  'asks people to approve calls without showing them the arguments; add show: all, a list of arguments as in ' +
  'show: [amount, customer.name], or a question as in ask: "Refund {amount}?"';
const ARGS =
  'has a path that begins with "args.", which is for conditions; here, write amount for args.amount';

function pathsShown({ show }: Rule): (Path | string)[] {
  return typeof show === 'object' ? show.map(parsePath) : [];
}

function pathsAsked({ ask = '' }: Rule): (Path | string)[] {
  const parts = parseQuestion(ask);
  return typeof parts === 'string' ? [] : [...parts];
}

/** Nobody writes `args.amount` for an argument named `args`. */
const readsArgs = (path: Path | string): boolean =>
  typeof path === 'object' && path.length > 1 && path[0] === 'args';
