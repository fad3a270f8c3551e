// What the demo's waiting calls would do. Details are kept in memory only, so `toolgate demo` cannot leave them in the
// store: a service that serves a demo's store makes them up anew at its start, from invented arguments.

import { detailsOf } from '../core/approvals/details.ts';
import type { Rule } from '../core/policy/policy.ts';
import { joinName } from '../core/text/name.ts';
import { compilePattern, matches } from '../core/text/pattern.ts';
import type { JsonObject } from '../core/wire/json.ts';
import type { Deps } from '../guard/deps.ts';
import { type ApprovalRecord, listApprovals } from '../store/approvals.ts';
import { POLICIES } from './scenario.ts';

const MOST = 200;

const SHOWN: Readonly<Record<string, JsonObject>> = {
  github__merge_pull_request: {
    repository: 'example/shop',
    number: 482,
    title: 'Retry failed payments',
    checks: 'all passed',
  },
  payments__refund: {
    amount: 180,
    currency: 'EUR',
    customer: { name: 'Ann Baker', id: 'C-1042' },
    order: 7311,
    reason: 'Parcel lost',
  },
  email__send: {
    to: 'ann.baker@example.org',
    subject: 'Your refund',
    body: 'Dear Ann, the 180 EUR are on their way.',
  },
  sheets__share: { file: 'Churn by plan, Q4', with: 'board@example.com', role: 'reader' },
  k8s__restart_deployment: { cluster: 'production', namespace: 'shop', deployment: 'checkout' },
  k8s__scale_deployment: { cluster: 'production', namespace: 'shop', deployment: 'checkout', replicas: 6 },
  k8s__exec: { cluster: 'production', namespace: 'shop', pod: 'checkout-7d9f', command: 'kill -HUP 1' },
  pager__resolve_incident: { incident: 'INC-2209', summary: 'Checkout latency is back to normal.' },
};

const RULES: readonly Rule[] = POLICIES.flatMap(({ versions }) => versions.at(-1)?.rules ?? []);

/** The mark of an approval of the demo: no call has these arguments. */
export function demoDigest({ vault }: Deps, approvalId: string): string {
  return vault.callDigest({ args: { demo: approvalId } });
}

export async function holdDemoDetails(deps: Deps): Promise<void> {
  for (const approval of await listApprovals(deps.db, { status: 'pending' }, MOST, 'z')) {
    if (approval.argsDigest !== demoDigest(deps, approval.id)) continue;
    const name = joinName(approval.serverName, approval.toolName);
    const rule = askingRule(name, approval);
    const details = rule === undefined ? null : detailsOf(rule, SHOWN[name] ?? {});
    if (details !== null) deps.details.hold(approval.id, details, approval.expiresAt);
  }
}

/** The rule that asked; two policies may ask about a tool, with different reasons. */
function askingRule(name: string, { reason }: ApprovalRecord): Rule | undefined {
  const asking = RULES.filter(
    ({ tool, action }) => action === 'require_approval' && matches(compilePattern(tool), name),
  );
  return asking.find(rule => rule.reason !== undefined && reason.includes(rule.reason)) ?? asking[0];
}
