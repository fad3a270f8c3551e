// The contents of the demo's week, as data: policies with their versions, operators and what they write, what still
// waits, and webhooks. agents.ts has the agents; week.ts decides when things happen.

import { parsePolicy, type WrittenPolicy } from '../core/policy-file/policy-file.ts';
import type { Role } from '../store/operators.ts';

export interface DemoPolicy {
  name: string;
  /** The versions, oldest first. */
  versions: { daysAgo: number; text: string; policy: WrittenPolicy }[];
}

export const ADMIN = 'admin@example.com';
export const ON_CALL = 'on-call@example.com';

export const OPERATORS: { email: string; role: Role; daysAgo: number; groups?: string[]; invited?: true }[] =
  [
    { email: ADMIN, role: 'admin', daysAgo: 29.9, groups: ['production'] },
    { email: ON_CALL, role: 'approver', daysAgo: 28.37, groups: ['production'] },
    { email: 'support-lead@example.com', role: 'approver', daysAgo: 21.22 },
    { email: 'auditor@example.com', role: 'viewer', daysAgo: 16.05 },
    { email: 'new-colleague@example.com', role: 'viewer', daysAgo: 2.41, invited: true },
  ];

/** What people write to an agent whose call they deny. */
export const NOTES = [
  'Not today. Ask again after the release.',
  'The ticket does not say why. Add the reason first.',
  'Somebody else has done this already.',
];

const CODING = `name: coding-agents
description: For agents that work on pull requests. Merging asks, deleting is never theirs.
rules:
  - { tool: "github__delete_*", action: deny, reason: "Branches and repositories are deleted by people." }
  - { tool: "github__get_*", action: allow }
  - { tool: "github__list_*", action: allow }
  - { tool: "github__search_*", action: allow }
  - { tool: github__create_pull_request, action: allow }
  - tool: github__merge_pull_request
    action: require_approval
    reason: Merging to a protected branch needs a second pair of eyes.
    show: [ repository, number, title ]
    ask: Merge pull request {number} of {repository}?
  - { tool: "files__read_*", action: allow }
  - { tool: "files__list_*", action: allow }
  - { tool: files__write_file, action: allow }
`;

const CI = `  - { tool: "ci__cancel_*", action: deny, reason: "Other teams share these runners." }
  - { tool: "ci__*", action: allow }
`;

const STRICT = CODING.replace('coding-agents', 'coding-agents-strict')
  .replace(/description: .*/, 'description: What coding-agents is to become, with writing that asks.')
  .replace(/(create_pull_request|write_file), action: allow/g, '$1, action: require_approval, show: all');

const SUPPORT = `name: support-desk
description: Reads tickets and orders, answers customers; larger sums move only with approval.
rules:
  - { tool: tickets__delete_ticket, action: deny, reason: "Tickets are closed, not deleted." }
  - { tool: "tickets__*", action: allow }
  - { tool: "orders__get_*", action: allow }
  - { tool: "orders__list_*", action: allow }
  - tool: payments__refund
    action: require_approval
    reason: Refunds are approved by the support lead.
    show: all
    ask: Refund {amount} {currency} to {customer.name}?
  - { tool: email__send, action: require_approval, reason: "A person reads what leaves the house.", show: all }
`;

const small = (tool: string) => `  - tool: ${tool}
    action: allow
    when: [ 'args.amount > 0 && args.amount <= 50', 'args.currency == "EUR"' ]
    limit: payments
    show: all
`;

/** Small payments pass up to a daily sum, and come before the rule that asks. */
const LIMITED = SUPPORT.replace(
  'rules:\n',
  `limits:
  payments: { sum: args.amount, unit: 0.01, atMost: 500, each: day, zone: Europe/Berlin, beyond: require_approval }
rules:
${small('payments__refund')}${small('payments__voucher')}`,
);

const production = (changes: string) => `name: production-on-call
description: Looks at everything in production; every change asks people who sign in.
rules:
  - { tool: "k8s__get_*", action: allow }
  - { tool: k8s__logs, action: allow }
  - { tool: "metrics__*", action: allow }
  - { tool: k8s__exec, action: deny, reason: No shells in production. }
  - { tool: "k8s__*", action: require_approval, show: all, ${changes} }
  - { tool: pager__resolve_incident, action: require_approval, show: all }
  - { tool: "pager__*", action: allow }
`;
const TWO = 'reason: Changes to production need two people., approvers: { group: production, count: 2 }';

export const POLICIES: DemoPolicy[] = [
  versions([26.18, CODING.replace(/.*write_file.*\n/, '')], [12.33, CODING], [3.27, CODING + CI]),
  versions([5.16, STRICT]),
  versions([20.12, SUPPORT.replace(/.*(delete|list_|email).*\n/g, '')], [6.39, SUPPORT], [2.21, LIMITED]),
  versions([25.24, production('reason: Whoever is on call approves changes.')], [0.02, production(TWO)]),
];

function versions(...all: [daysAgo: number, text: string][]): DemoPolicy {
  const read = all.map(([daysAgo, text]) => {
    return { daysAgo, text, policy: parsePolicy(text).policy as WrittenPolicy };
  });
  return { name: read[0]?.policy.name ?? '', versions: read };
}

/** The approvals that are still waiting when the week ends. */
export const WAITING = [
  { agent: 'coding agent', tool: 'github__merge_pull_request', minutesAgo: 4 },
  { agent: 'support assistant', tool: 'payments__refund', minutesAgo: 11 },
  { agent: 'on-call runbook', tool: 'k8s__restart_deployment', minutesAgo: 17 },
  { agent: 'support assistant', tool: 'email__send', minutesAgo: 26 },
];

/** The receiver of the second one has answered 410 Gone. */
export const WEBHOOKS = [
  { url: 'https://agents.example.com/hooks/toolgate', daysAgo: 24.29, goneDaysAgo: null },
  { url: 'https://support.example.com/answers', daysAgo: 19.4, goneDaysAgo: 1 },
];
