// A guard for results, made of the entries of a policy, for tests.

import { compilePolicy } from '../../../src/core/policy/compiled-policy.ts';
import type { ResultEntry } from '../../../src/core/policy/result-fields.ts';
import type { Situation } from '../../../src/core/policy/situation.ts';
import { type ResultGuard, resultsFor } from '../../../src/core/results/results.ts';

export const SITUATION: Situation = {
  now: 1_800_000_000_000,
  surface: 'mcp',
  args: { path: '/a' },
  keyId: 'k',
  keyName: 'key',
  session: null,
  person: null,
  annotations: null,
};

/** Null where no entry matches the tool. */
export function guardOf(
  entries: readonly ResultEntry[],
  tool = 'up__read',
  relayed = false,
): ResultGuard | null {
  const [serverName = '', toolName = ''] = tool.split('__');
  const policy = compilePolicy({ id: 'p', name: 'p', version: 1, rules: [], results: entries });
  return resultsFor(policy, { serverName, toolName, ...(relayed && { relayed }) }, SITUATION);
}
