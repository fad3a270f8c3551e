// What the demo's waiting calls would do. Details are kept in memory only, so `toolgate demo` cannot leave them in the
// store: a service that serves a demo's store makes them up anew at its start, from invented arguments.

import { detailsOf } from '../core/approvals/details.ts';
import { joinName } from '../core/text/name.ts';
import type { Deps } from '../guard/deps.ts';
import { ruleDigest } from '../guard/rule-digest.ts';
import { listApprovals } from '../store/approvals.ts';
import { ARGUMENTS } from './agents.ts';
import { POLICIES } from './scenario.ts';

const MOST = 200;

/** The mark of an approval of the demo: no call has these arguments. */
export function demoDigest({ vault }: Deps, approvalId: string): string {
  return vault.callDigest({ args: { demo: approvalId } });
}

export async function holdDemoDetails(deps: Deps): Promise<void> {
  const rules = POLICIES.flatMap(({ versions }) => versions.at(-1)?.policy.rules ?? []);
  const byDigest = new Map(rules.map(rule => [ruleDigest(rule), rule]));
  for (const approval of await listApprovals(deps.db, { status: 'pending' }, MOST, 'z')) {
    if (approval.argsDigest !== demoDigest(deps, approval.id)) continue;
    const rule = byDigest.get(approval.ruleDigest ?? '');
    const args = ARGUMENTS[joinName(approval.serverName, approval.toolName)] ?? {};
    const details = rule === undefined ? null : detailsOf(rule, args);
    if (details !== null) deps.details.hold(approval.id, details, approval.expiresAt);
  }
}
