// Submits a call to the group commit, for every route that answers with a verdict.

import { GuardError } from '../../core/errors.ts';
import { type CheckRequest, REPEATED, type Verdict } from '../../guard/check/request.ts';
import type { Services } from './services.ts';

/**
 * The answer that `show` makes of the committed verdict. A credential that turned out to be invalid is forgotten, so that
 * the next request with it is refused sooner.
 */
export function submitCheck<T>(
  { checks, metrics, principals }: Services,
  asked: CheckRequest,
  identifyMs: number,
  show: (verdict: Verdict) => T,
): Promise<T> {
  return checks.submit(asked, identifyMs).then(
    verdict => {
      const seconds = (performance.now() - asked.startedAt) / 1000;
      // A verdict that is given again is no decision.
      if (!verdict[REPEATED]) metrics.checks.verdict(verdict.decision, asked.surface, seconds, asked.span);
      return show(verdict);
    },
    error => {
      if (error instanceof GuardError && error.code === 'unauthenticated') principals.forget(asked.principal);
      throw error;
    },
  );
}

/**
 * The verdict or the error of each of several calls in one request. Each has a span of its own, because a span tells of
 * one decision.
 */
export async function submitChecks(
  { checks, metrics, principals }: Services,
  calls: readonly CheckRequest[],
  waitedMs: number,
): Promise<(Verdict | GuardError)[]> {
  const asked = calls.map(each =>
    each.span === undefined ? each : { ...each, span: each.span.child('toolgate.check', 'internal') },
  );
  const answers = await checks.submitAll(asked, waitedMs);
  const now = performance.now();
  asked.forEach(({ principal, surface, startedAt, span }, index) => {
    const answer = answers[index] as Verdict | GuardError;
    span?.end();
    if (!(answer instanceof GuardError))
      metrics.checks.verdict(answer.decision, surface, (now - startedAt) / 1000, span);
    else if (answer.code === 'unauthenticated') principals.forget(principal);
  });
  return answers;
}
