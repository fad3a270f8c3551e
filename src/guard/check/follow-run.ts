// What a decided call means for its run: the marks that it gives, what its result will make known, and what a person has
// made known by approving it.

import { GuardError } from '../../core/errors.ts';
import { namedInJson } from '../../core/flows/words.ts';
import type { Rule } from '../../core/policy/policy.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import type { Case } from './cases.ts';
import type { Learner } from './learner.ts';
import { RUN, type Verdict } from './request.ts';
import type { RunCase } from './run-cases.ts';
import type { Runs } from './runs.ts';

/** What became of one call. It has no entry if it got no verdict. */
export interface Made {
  entry: AuditEntry | null;
  result: Verdict | GuardError;
  /** Set if people approved exactly this call. */
  approved?: boolean;
  /** What has to be done once the call is committed, and before it is answered; null if there is nothing. */
  first?: (() => Promise<void>) | null;
}

/** Returns what has to be done once the call is committed, and before it is answered; null if there is nothing. */
export function follow(
  runs: Runs,
  learner: Learner,
  each: Case,
  { run }: RunCase,
  { entry, result, approved }: Made,
): (() => Promise<void>) | null {
  const { request, considered, shadow } = each;
  if (entry === null || result instanceof GuardError) return null;
  const { policy } = considered;
  const judged = entry.shadow;
  if (shadow !== null && judged?.decision === 'allow')
    for (const rule of [shadow.policy.rules[shadow.index], ruleOf(shadow.policy.rules, judged.ruleIndex)])
      runs.mark(run, rule, shadow.policy.id, entry);
  if (!mayBeMade(entry, each)) return null;
  // The rule that asked may be another one than the rule that applies.
  const rule = ruleOf(policy.rules, entry.ruleIndex);
  for (const marking of [policy.rules[considered.index], rule]) runs.mark(run, marking, '', entry);
  const isTrusted = entry.decision === 'allow' && rule?.known === 'results';
  // The result of a call that is not trusted must not be taken for that of a trusted call of the same name.
  if (request.resultName !== undefined && policy.usesKnown)
    runs.awaitResult(run, request.resultName, entry, isTrusted);
  if (entry.decision !== 'allow') return null;
  if (isTrusted) {
    result.known = 'results';
    result[RUN] = run.handle;
  }
  const { args } = request;
  if (!approved || args === undefined || !policy.usesKnown) return null;
  return () => learner.tryToLearn(run.handle, request.principal.keyId, namedInJson(args));
}

/**
 * Nobody tells whether the person at the terminal, or the proxy, let a call pass that was left to them, so it counts as
 * made. The proxy follows it in the run of its own client, which may be another one.
 */
function mayBeMade({ decision, referenceId }: AuditEntry, { request: { handedTo } }: Case): boolean {
  return decision === 'allow' || (decision === 'pending' && handedTo !== undefined && referenceId === null);
}

const ruleOf = (rules: readonly Rule[], index: number | null): Rule | undefined =>
  index === null ? undefined : rules[index];
