// What a decided call means for its run: the marks that it gives, what its result will make known, and what a person has
// made known by approving it.

import { broughtBy } from '../../core/decision/brings.ts';
import { GuardError } from '../../core/errors.ts';
import { namedIn } from '../../core/flows/words.ts';
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
  /** The approval that it has spent, if a task waits for it. */
  spent?: string | undefined;
  /** What has to be done once the call is committed, and before it is answered; null if there is nothing. */
  beforeAnswer?: (() => Promise<void>) | null;
}

/** Returns what has to be done once the call is committed, and before it is answered; null if there is nothing. */
export function followRun(
  runs: Runs,
  learner: Learner,
  each: Case,
  { run }: RunCase,
  { entry, result, approved }: Made,
): (() => Promise<void>) | null {
  const { request, considered, shadow } = each;
  if (entry === null || result instanceof GuardError) return null;
  const judged = entry.shadow;
  if (shadow !== null && judged?.decision === 'allow')
    runs.mark(run, broughtBy(shadow, judged.ruleIndex).marks, shadow.policy.id, entry);
  if (!mayBeMade(entry, each)) return null;
  const brings = broughtBy(considered, entry.ruleIndex);
  runs.mark(run, brings.marks, '', entry);
  const isTrusted = entry.decision === 'allow' && brings.knownResults;
  // The result of a call that is not trusted must not be taken for that of a trusted call of the same name.
  const { usesKnown, compiledResults } = considered.policy;
  if (request.resultName !== undefined && (usesKnown || compiledResults !== null))
    runs.awaitResult(run, request.resultName, entry, isTrusted);
  if (entry.decision !== 'allow') return null;
  if (isTrusted) {
    result.known = 'results';
    result[RUN] = run.handle;
  }
  const { args } = request;
  if (!approved || args === undefined || !usesKnown) return null;
  return () => learner.tryToLearn(run.handle, request.principal.keyId, namedIn(args));
}

/**
 * Nobody tells whether the person at the terminal, or the proxy, let a call pass that was left to them, so it counts as
 * made. The proxy follows it in the run of its own client, which may be another one.
 */
function mayBeMade({ decision, referenceId }: AuditEntry, { request: { handedTo } }: Case): boolean {
  return decision === 'allow' || (decision === 'pending' && handedTo !== undefined && referenceId === null);
}
