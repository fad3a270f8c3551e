// Submits a call to the group commit, for every route that answers with a verdict.

import { GuardError } from '../core/errors.ts';
import type { CheckRequest, Verdict } from '../guard/check/request.ts';
import type { Services } from './route.ts';

/**
 * The answer that `show` makes of the committed verdict. A credential that turned out to be invalid is forgotten, so that
 * the next request with it is refused sooner.
 */
export function judge<T>(
  { checks, metrics, principals }: Services,
  asked: CheckRequest,
  identifyMs: number,
  show: (verdict: Verdict) => T,
): Promise<T> {
  return checks.submit(asked, identifyMs).then(
    verdict => {
      const seconds = (performance.now() - asked.startedAt) / 1000;
      metrics.checks.verdict(verdict.decision, asked.surface, seconds, asked.span);
      return show(verdict);
    },
    error => {
      if (error instanceof GuardError && error.code === 'unauthenticated') principals.forget(asked.principal);
      throw error;
    },
  );
}

/** The same for one of several calls in a request: each has a span of its own, because a span tells of one decision. */
export function judgeOneOf<T>(
  services: Services,
  asked: CheckRequest,
  identifyMs: number,
  show: (verdict: Verdict) => T,
): Promise<T> {
  const span = asked.span?.child('toolgate.check', 'internal');
  const answered = judge(services, { ...asked, span }, identifyMs, show);
  return span === undefined ? answered : answered.finally(() => span.end());
}
