// The agents of the demo's week, as data: the tools that they call, with which arguments, and their MCP servers.

import type { Surface } from '../core/text/surface.ts';
import type { JsonObject } from '../core/wire/json.ts';

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
  /** The policy that is its shadow, and since when. */
  shadow?: { policy: string; daysAgo: number };
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

const server = (name: string, tools: DemoTool[]): DemoServer => ({
  name,
  url: `https://mcp.example.com/${name}`,
  tools,
});

export const AGENTS: DemoAgent[] = [
  {
    name: 'coding agent',
    policy: 'coding-agents',
    shadow: { policy: 'coding-agents-strict', daysAgo: 5.14 },
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
