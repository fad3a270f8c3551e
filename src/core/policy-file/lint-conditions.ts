// Warnings about the conditions and limits of a policy: what is valid, but probably not what its author meant.

import { type Condition, isName, type Path, readOf } from '../condition/condition.ts';
import { compileWhen } from '../policy/compiled-policy.ts';
import { conditionsOf, FREEDOM, type Limits, type Rule } from '../policy/policy.ts';
import type { Fault } from '../policy/rule-faults.ts';
import { VARIABLES } from '../policy/situation.ts';

export function conditionWarnings(rule: Rule, index: number, shown: string): Fault[] {
  const conditions = conditionsOf(rule).map(each => compileWhen(each, true));
  const found = conditions.flatMap((condition, at) => {
    const path = ['rules', index, 'when', ...(typeof rule.when === 'string' ? [] : [at])];
    const warn = (message: string, offset = 0): Fault => ({ path, offset, message });
    const always = condition.constant;
    if (always === false) return [warn(`${shown} can never apply: its condition ${at} is always false`)];
    if (always === true) return [warn(`condition ${at} of ${shown} is always true; leave it out`)];
    const remarks = condition.remarks.map(({ message, offset }) =>
      warn(`condition ${at} of ${shown} ${message}`, offset),
    );
    if (FREEDOM[rule.action] === FREEDOM.allow) {
      const read = readOf(condition, 'tool', 'annotations');
      return read === undefined ? remarks : [...remarks, warn(`${shown} ${ANNOTATIONS}`, read.offset)];
    }
    if (FREEDOM[rule.action] > FREEDOM.deny) return remarks;
    const unsure = condition.reads.flatMap(read => {
      const missing = untested(read, conditions);
      if (missing === null) return [];
      const message = `${shown} reads ${missing} without has(${missing}), so it also denies calls that lack it`;
      return [warn(message, read.offset)];
    });
    return [...remarks, ...unsure];
  });
  const messages = found.map(each => each.message);
  return found.filter((each, at) => messages.indexOf(each.message) === at);
}

const ANNOTATIONS =
  'relies on tool.annotations, which the server wrote about its own tool: it can say what it likes there';

/** The first part of what is read that may be absent and that no condition of the rule tests, or null. */
export function untested({ path }: Path, conditions: readonly Condition<boolean>[]): string | null {
  const tested = new Set(conditions.flatMap(each => each.tested.map(({ path }) => idOf(path))));
  for (let length = 2; length <= path.length; length++) {
    const part = path.slice(0, length);
    // has() takes names only, and `"a-b" in args` is not told from other uses of `args`.
    if (!isName(part.at(-1) ?? '')) return null;
    if (mayBeAbsent(part) && !tested.has(idOf(part))) return part.join('.');
  }
  return null;
}

/** What an agent's call would do is known or not as a whole, so one of these fields stands for all. */
function idOf([variable = '', field = '', ...rest]: readonly string[]): string {
  const isAct = variable === 'agent' && field !== 'folder' && rest.length === 0;
  return JSON.stringify(isAct ? [variable] : [variable, field, ...rest]);
}

function mayBeAbsent([variable = '', field = '', ...rest]: readonly string[]): boolean {
  const type = Object.hasOwn(VARIABLES, variable) ? VARIABLES[variable] : undefined;
  if (type?.kind !== 'struct' || rest.length > 0) return true;
  return type.fields[field]?.optional === true;
}

export function limitWarnings(rules: readonly Rule[], limits: Limits): Fault[] {
  const used = new Set(rules.map(each => each.limit));
  const unused = Object.keys(limits).filter(name => !used.has(name));
  return unused.map(name => ({
    path: ['limits', name],
    offset: null,
    message: `limit "${name}" counts nothing, because no rule names it`,
  }));
}
