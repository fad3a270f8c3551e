// The contents of the demo's week, as data: policies with their versions, the agents that use them, the tools that the
// agents call, their MCP servers, and the operators. week.ts decides when things happen.

import type { Surface } from '../core/event.ts';
import type { JsonObject } from '../core/json.ts';
import type { Limits, Rule } from '../core/policy.ts';
import type { Role } from '../store/operators.ts';

export interface DemoPolicy {
  name: string;
  description: string;
  /** The versions, oldest first. */
  versions: { daysAgo: number; rules: Rule[]; limits?: Limits }[];
}

interface DemoTool {
  name: string;
  description: string;
  /** The tool's new description since a few days ago. */
  changedTo?: string;
}

export interface DemoServer {
  name: string;
  url: string;
  tools: DemoTool[];
}

export interface DemoAgent {
  name: string;
  policy: string;
  daysAgo: number;
  requireSignInToApprove: boolean;
  surface: Surface;
  /** The number of calls in a busy hour. */
  perHour: number;
  /** Whether it makes no calls at night and at weekends. */
  officeHours: boolean;
  /** The labels of its sessions. If there are none, it uses its key. */
  runs: string[];
  /** The tools that it calls, each with its relative frequency. */
  calls: [server: string, tool: string, weight: number][];
  servers: DemoServer[];
}

export const OPERATORS: { email: string; role: Role; daysAgo: number; invited?: true }[] = [
  { email: 'admin@example.com', role: 'admin', daysAgo: 29.9 },
  { email: 'on-call@example.com', role: 'approver', daysAgo: 28.37 },
  { email: 'support-lead@example.com', role: 'approver', daysAgo: 21.22 },
  { email: 'auditor@example.com', role: 'viewer', daysAgo: 16.05 },
  { email: 'new-colleague@example.com', role: 'viewer', daysAgo: 2.41, invited: true },
];

export const ADMIN = 'admin@example.com';

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
    description: 'Looks at everything in production; every change asks a signed-in person.',
    versions: [
      {
        daysAgo: 25.24,
        rules: [
          allow('k8s__get_*'),
          allow('k8s__logs'),
          allow('metrics__*'),
          deny('k8s__exec', 'No shells in production.'),
          ask('k8s__*', 'Changes to production are approved by whoever is on call.'),
          ask('pager__resolve_incident'),
          allow('pager__*'),
        ],
      },
    ],
  },
];

const server = (name: string, tools: DemoTool[]): DemoServer => ({
  name,
  url: `https://mcp.example.com/${name}`,
  tools,
});

export const AGENTS: DemoAgent[] = [
  {
    name: 'coding agent',
    policy: 'coding-agents',
    daysAgo: 26.02,
    requireSignInToApprove: false,
    surface: 'mcp',
    perHour: 62,
    officeHours: true,
    runs: ['fix flaky tests', 'dependency updates', 'issue triage', 'review follow-up'],
    calls: [
      ['github', 'get_issue', 18],
      ['github', 'get_file_contents', 26],
      ['github', 'list_pull_requests', 9],
      ['github', 'search_code', 16],
      ['github', 'create_pull_request', 3],
      ['github', 'merge_pull_request', 1.1],
      ['github', 'delete_branch', 1.6],
      ['files', 'read_file', 30],
      ['files', 'list_directory', 11],
      ['files', 'write_file', 12],
      ['ci', 'get_run', 6],
      ['ci', 'cancel_run', 0.9],
    ],
    servers: [
      server('github', [
        { name: 'get_issue', description: 'Read an issue with its comments.' },
        { name: 'get_file_contents', description: 'Read a file or folder of a repository.' },
        { name: 'list_pull_requests', description: 'List pull requests of a repository.' },
        { name: 'search_code', description: 'Search code across repositories.' },
        { name: 'create_pull_request', description: 'Open a pull request.' },
        {
          name: 'merge_pull_request',
          description: 'Merge a pull request.',
          changedTo: 'Merge a pull request. Also deletes its branch and closes linked issues.',
        },
        { name: 'delete_branch', description: 'Delete a branch.' },
      ]),
      server('files', [
        { name: 'read_file', description: 'Read a text file of the workspace.' },
        { name: 'list_directory', description: 'List a folder of the workspace.' },
        { name: 'write_file', description: 'Write a text file of the workspace.' },
      ]),
    ],
  },
  {
    name: 'support assistant',
    policy: 'support-desk',
    daysAgo: 20.05,
    requireSignInToApprove: false,
    surface: 'check',
    perHour: 34,
    officeHours: false,
    runs: ['inbox: billing', 'inbox: shipping'],
    calls: [
      ['tickets', 'search', 20],
      ['tickets', 'get_ticket', 26],
      ['tickets', 'add_note', 12],
      ['tickets', 'delete_ticket', 1.1],
      ['orders', 'get_order', 18],
      ['orders', 'list_orders', 6],
      ['payments', 'refund', 1.2],
      ['payments', 'voucher', 1.6],
      ['email', 'send', 0.8],
      ['payments', 'charge', 0.8],
    ],
    servers: [],
  },
  {
    name: 'analytics notebook',
    policy: 'warehouse-read-only',
    daysAgo: 18.02,
    requireSignInToApprove: false,
    surface: 'check',
    perHour: 14,
    officeHours: true,
    runs: [],
    calls: [
      ['warehouse', 'run_query', 24],
      ['warehouse', 'describe_table', 10],
      ['warehouse', 'list_tables', 6],
      ['warehouse', 'drop_table', 0.8],
      ['sheets', 'append_rows', 4],
      ['sheets', 'share', 0.5],
    ],
    servers: [],
  },
  {
    name: 'on-call runbook',
    policy: 'production-on-call',
    daysAgo: 25.1,
    requireSignInToApprove: true,
    surface: 'mcp',
    perHour: 9,
    officeHours: false,
    runs: ['incident: checkout latency', 'nightly health check'],
    calls: [
      ['k8s', 'get_pods', 14],
      ['k8s', 'logs', 12],
      ['k8s', 'restart_deployment', 0.7],
      ['k8s', 'scale_deployment', 0.5],
      ['k8s', 'exec', 0.3],
      ['metrics', 'query_range', 16],
      ['pager', 'list_incidents', 5],
      ['pager', 'resolve_incident', 0.3],
    ],
    servers: [
      server('k8s', [
        { name: 'get_pods', description: 'List pods of a namespace.' },
        { name: 'logs', description: 'Read the log of a pod.' },
        { name: 'restart_deployment', description: 'Restart the pods of a deployment, one by one.' },
        { name: 'scale_deployment', description: 'Set the number of replicas of a deployment.' },
        { name: 'exec', description: 'Run a command in a pod.' },
      ]),
    ],
  },
];

/** What tools are called with, where a condition of a policy reads it. */
export const ARGUMENTS: Readonly<Record<string, JsonObject>> = {
  refund: { amount: 180, currency: 'EUR' },
  voucher: { amount: 7.5, currency: 'EUR' },
};

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
