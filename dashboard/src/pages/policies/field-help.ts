// What the editor says about the fields of a policy: beside completions, and where the mouse rests on the name of one. The
// texts are those of the fields' descriptions in core/policy/.

import type { EditorState } from '@codemirror/state';
import type { Field, Fields } from '../../../../src/core/policy/field-type.ts';
import { LIMIT } from '../../../../src/core/policy/limit-fields.ts';
import { RESULT } from '../../../../src/core/policy/result-fields.ts';
import { fieldOf, RULE } from '../../../../src/core/policy/rule-fields.ts';
import { fieldText } from '../../../../src/core/policy-file/policy-text.ts';
import { fieldAt, type Kind } from './place.ts';

const POLICY_HELP = {
  name: 'The name of the policy, which appears in the reasons of verdicts.',
  description: 'For people.',
  limits: 'Limits by their names; rules count against them.',
  rules: 'The rules in their order. The first that applies decides.',
  results: 'What is hidden, withheld or cut of what calls bring back. Every entry that matches applies.',
};

/** The fields that may stand at a place, in their order, each with its help. */
export function helpIn(kind: Kind): Readonly<Record<string, string>> {
  if (kind === 'policy') return POLICY_HELP;
  const all = Object.entries(describedIn(kind));
  return Object.fromEntries(all.map(([name, field]) => [name, helpOf(name, field)]));
}

/** The descriptions of the fields at a place; none for those of the policy itself. */
export function describedIn(kind: Kind): Fields {
  if (kind === 'policy') return {};
  if (kind === 'rule') return RULE;
  if (kind === 'limit') return LIMIT;
  if (kind === 'result') return RESULT;
  return kind === 'hidden' ? (RESULT.hide.type.parts ?? {}) : (fieldOf(kind).type.parts ?? {});
}

function helpOf(name: string, field: Field): string {
  const example = fieldText(name, field, field.example);
  return `${field.help.replaceAll('`', '')} For example: ${example}`;
}

/** The help for the field whose name is at a position, and where the name stands. */
export function helpAt(state: EditorState, position: number) {
  const found = fieldAt(state, position);
  const help = found === null ? undefined : helpIn(found.in)[found.name];
  return found === null || help === undefined ? null : { from: found.from, to: found.to, help };
}
