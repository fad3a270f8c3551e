// The contents of the demo's week, as data: policies with their versions, operators and what they write, what still
// waits, and webhooks. agents.ts has the agents; week.ts decides when things happen.

import type { Limits, Rule } from '../core/policy/policy.ts';
import type { Role } from '../store/operators.ts';

export interface DemoPolicy {
  name: string;
  description: string;
  /** The versions, oldest first. */
  versions: { daysAgo: number; rules: Rule[]; limits?: Limits }[];
}

interface DemoOperator {
  email: string;
  role: Role;
  daysAgo: number;
  groups?: string[];
  invited?: true;
}

export const OPERATORS: DemoOperator[] = [
  { email: 'admin@example.com', role: 'admin', daysAgo: 29.9, groups: ['production'] },
  { email: 'on-call@example.com', role: 'approver', daysAgo: 28.37, groups: ['production'] },
  { email: 'support-lead@example.com', role: 'approver', daysAgo: 21.22 },
  { email: 'auditor@example.com', role: 'viewer', daysAgo: 16.05 },
  { email: 'new-colleague@example.com', role: 'viewer', daysAgo: 2.41, invited: true },
];

export const ADMIN = 'admin@example.com';
export const ON_CALL = 'on-call@example.com';

/** What people write to an agent whose call they deny. */
export const NOTES = [
  'Not today. Ask again after the release.',
  'The ticket does not say why. Add the reason first.',
  'Somebody else has done this already.',
];

const allow = (tool: string): Rule => ({ tool, action: 'allow' });
/** Approvers see all arguments, unless the rule says what they need. */
const ask = (tool: string, reason?: string, seen: Pick<Rule, 'show' | 'ask'> = { show: 'all' }): Rule => ({
  ...rule(tool, 'require_approval', reason),
  ...seen,
});
const deny = (tool: string, reason?: string): Rule => rule(tool, 'deny', reason);

function rule(tool: string, action: Rule['action'], reason: string | undefined): Rule {
  return reason === undefined ? { tool, action } : { tool, action, reason };
}

const CODING: Rule[] = [
  deny('github__delete_*', 'Branches and repositories are deleted by people.'),
  allow('github__get_*'),
  allow('github__list_*'),
  allow('github__search_*'),
  allow('github__create_pull_request'),
  ask('github__merge_pull_request', 'Merging to a protected branch needs a second pair of eyes.', {
    show: ['repository', 'number', 'title'],
    ask: 'Merge pull request {number} of {repository}?',
  }),
  allow('files__read_*'),
  allow('files__list_*'),
  allow('files__write_file'),
];

const WRITES = ['files__write_file', 'github__create_pull_request'];

const SUPPORT: Rule[] = [
  deny('tickets__delete_ticket', 'Tickets are closed, not deleted.'),
  allow('tickets__*'),
  allow('orders__get_*'),
  allow('orders__list_*'),
  ask('payments__refund', 'Refunds are approved by the support lead.', {
    show: 'all',
    ask: 'Refund {amount} {currency} to {customer.name}?',
  }),
  ask('email__send', 'A person reads what leaves the house.'),
];

/** Small payments pass up to a daily sum, and come before the rule that asks. */
const smallPayment = (tool: string): Rule => ({
  tool,
  action: 'allow',
  when: ['args.amount > 0 && args.amount <= 50', 'args.currency == "EUR"'],
  limit: 'payments',
  show: 'all',
});

const production = (changes: Rule): Rule[] => [
  allow('k8s__get_*'),
  allow('k8s__logs'),
  allow('metrics__*'),
  deny('k8s__exec', 'No shells in production.'),
  changes,
  ask('pager__resolve_incident'),
  allow('pager__*'),
];

export const POLICIES: DemoPolicy[] = [
  {
    name: 'coding-agents',
    description: 'For agents that work on pull requests. Merging asks, deleting is never theirs.',
    versions: [
      { daysAgo: 26.18, rules: CODING.filter(each => each.tool !== 'files__write_file') },
      { daysAgo: 12.33, rules: CODING },
      {
        daysAgo: 3.27,
        rules: [...CODING, deny('ci__cancel_*', 'Other teams share these runners.'), allow('ci__*')],
      },
    ],
  },
  {
    name: 'coding-agents-strict',
    description: 'What coding-agents is to become: writing asks, and what nobody named is denied.',
    versions: [
      {
        daysAgo: 5.16,
        rules: [
          ...CODING.filter(each => !WRITES.includes(each.tool)),
          ask('files__write_file', 'A person looks at what is written.'),
          ask('github__create_pull_request'),
        ],
      },
    ],
  },
  {
    name: 'support-desk',
    description: 'Reads tickets and orders, answers customers; larger sums move only with approval.',
    versions: [
      {
        daysAgo: 20.12,
        rules: [
          allow('tickets__*'),
          allow('orders__get_*'),
          ask('payments__refund', 'Refunds are approved by the support lead.'),
        ],
      },
      { daysAgo: 6.39, rules: SUPPORT },
      {
        daysAgo: 2.21,
        limits: {
          payments: {
            sum: 'args.amount',
            unit: 0.01,
            atMost: 500,
            each: 'day',
            zone: 'Europe/Berlin',
            beyond: 'require_approval',
          },
        },
        rules: [smallPayment('payments__refund'), smallPayment('payments__voucher'), ...SUPPORT],
      },
    ],
  },
  {
    name: 'warehouse-read-only',
    description: 'Analytics may read everything and change nothing.',
    versions: [
      {
        daysAgo: 18.08,
        rules: [
          allow('warehouse__describe_*'),
          allow('warehouse__list_*'),
          allow('warehouse__run_query'),
          ask('sheets__share', 'Sharing outside the team is looked at first.'),
          allow('sheets__*'),
          deny('warehouse__*', 'The warehouse is read-only for agents.'),
        ],
      },
    ],
  },
  {
    name: 'production-on-call',
    description: 'Looks at everything in production; every change asks people who sign in.',
    versions: [
      {
        daysAgo: 25.24,
        rules: production(ask('k8s__*', 'Changes to production are approved by whoever is on call.')),
      },
      {
        daysAgo: 0.02,
        rules: production({
          ...ask('k8s__*', 'Changes to production need two people.'),
          approvers: { group: 'production', count: 2 },
        }),
      },
    ],
  },
];

/** A key that was revoked and is not used any more. */
export const RETIRED = { name: 'prototype', policy: 'coding-agents', daysAgo: 26.01, revokedDaysAgo: 10 };

/** The approvals that are still waiting when the week ends. */
export const WAITING: { agent: string; server: string; tool: string; minutesAgo: number }[] = [
  { agent: 'coding agent', server: 'github', tool: 'merge_pull_request', minutesAgo: 4 },
  { agent: 'support assistant', server: 'payments', tool: 'refund', minutesAgo: 11 },
  { agent: 'on-call runbook', server: 'k8s', tool: 'restart_deployment', minutesAgo: 17 },
  { agent: 'support assistant', server: 'email', tool: 'send', minutesAgo: 26 },
  { agent: 'analytics notebook', server: 'sheets', tool: 'share', minutesAgo: 41 },
];

export const WEBHOOKS: { url: string; agent: string | null; daysAgo: number; goneDaysAgo: number | null }[] =
  [
    { url: 'https://agents.example.com/hooks/toolgate', agent: null, daysAgo: 24.29, goneDaysAgo: null },
    {
      url: 'https://support.example.com/refunds/approved',
      agent: 'support assistant',
      daysAgo: 19.4,
      goneDaysAgo: 1,
    },
  ];
