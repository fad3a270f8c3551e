// The text of a policy that is being edited: its problems, and the policy that it stands for. The same functions as in
// the service and the command line read it.

import { type CompiledPolicy, compilePolicy } from '../../../../src/core/policy/compiled-policy.ts';
import { MAX_TEXT } from '../../../../src/core/policy/policy.ts';
import { type Problem, parsePolicy } from '../../../../src/core/policy-file/policy-file.ts';

export interface Draft {
  text: string;
  /** The policy is null while there are errors. */
  policy: ReturnType<typeof parsePolicy>['policy'];
  problems: Problem[];
  /** The line on which each rule begins. */
  lines: number[];
}

export function draftOf(text: string): Draft {
  return { text, ...parsePolicy(text) };
}

/** What is sent to the service: the text, or only the rules, limits and results of a text that is too long to be kept. */
export function contentOf(text: string): object {
  const policy = text.length > MAX_TEXT ? parsePolicy(text).policy : null;
  if (policy === null) return { text };
  const { rules, limits, results } = policy;
  return { rules, limits, results };
}

/** The policy as the service would decide by it; null while there are errors. `name` is for a text that has none. */
export function compiledDraft({ policy }: Draft, name: string): CompiledPolicy | null {
  return policy && compilePolicy({ id: '', version: 0, ...policy, name: policy.name ?? name });
}

/** The lines of a text, to be compared with those of another. */
export const linesOf = (text: string): string[] => text.trimEnd().split('\n');
