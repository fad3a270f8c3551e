// The agents of the demo's week, as data: the tools that they call, with which arguments, and their MCP servers.

import type { Surface } from '../core/text/surface.ts';
import type { JsonObject } from '../core/wire/json.ts';

export type DemoAgent = (typeof AGENTS)[number];

/** Reads `name weight`, as often as it is there. */
function calls(text: string): [tool: string, weight: number][] {
  return [...text.matchAll(/(\w+) ([\d.]+)/g)].map(([, tool = '', weight]) => [tool, Number(weight)]);
}

/**
 * Each works by its policy, and perhaps has a shadow since some days. `perHour` is the number of calls in a busy hour,
 * `runs` are the labels of its sessions, `calls` its tools with their relative frequency, and those of `servers` are
 * Connected Tools.
 */
export const AGENTS = [
  {
    name: 'coding agent',
    policy: 'coding-agents',
    shadow: { policy: 'coding-agents-strict', daysAgo: 5.14 },
    daysAgo: 26.02,
    requireSignInToApprove: false,
    surface: 'mcp' as Surface,
    perHour: 62,
    officeHours: true,
    runs: ['fix flaky tests', 'dependency updates', 'issue triage', 'review follow-up'],
    calls:
      calls(`github__get_issue 18, github__get_file_contents 26, github__list_pull_requests 9, github__search_code 16,
      github__create_pull_request 3, github__merge_pull_request 1.1, github__delete_branch 1.6, files__read_file 30,
      files__list_directory 11, files__write_file 12, ci__get_run 6, ci__cancel_run 0.9`),
    servers: ['github', 'files'],
  },
  {
    name: 'support assistant',
    policy: 'support-desk',
    shadow: null,
    daysAgo: 20.05,
    requireSignInToApprove: false,
    surface: 'check' as Surface,
    perHour: 34,
    officeHours: false,
    runs: ['inbox: billing', 'inbox: shipping'],
    calls:
      calls(`tickets__search 20, tickets__get_ticket 26, tickets__add_note 12, tickets__delete_ticket 1.1,
      orders__get_order 18, orders__list_orders 6, payments__refund 1.2, payments__voucher 1.6, email__send 0.8,
      payments__charge 0.8`),
    servers: [] as string[],
  },
  {
    name: 'on-call runbook',
    policy: 'production-on-call',
    shadow: null,
    daysAgo: 25.1,
    requireSignInToApprove: true,
    surface: 'mcp' as Surface,
    perHour: 9,
    officeHours: false,
    runs: ['incident: checkout latency', 'nightly health check'],
    calls:
      calls(`k8s__get_pods 14, k8s__logs 12, k8s__restart_deployment 0.7, k8s__scale_deployment 0.5, k8s__exec 0.3,
      metrics__query_range 16, pager__list_incidents 5, pager__resolve_incident 0.3`),
    servers: ['k8s'],
  },
];

/** The tool whose definition has changed since, and what it says now. */
export const CHANGED = {
  tool: 'github__merge_pull_request',
  daysAgo: 2.3,
  description: 'Merge pull request. Also deletes its branch and closes linked issues.',
};

const CHECKOUT = { cluster: 'production', namespace: 'shop', deployment: 'checkout' };

/** What tools are called with that a policy asks about, or whose arguments a condition reads. */
export const ARGUMENTS: Readonly<Record<string, JsonObject>> = {
  github__merge_pull_request: { repository: 'example/shop', number: 482, title: 'Retry failed payments' },
  payments__refund: {
    amount: 180,
    currency: 'EUR',
    customer: { name: 'Ann Baker', id: 'C-1042' },
    order: 7311,
  },
  payments__voucher: { amount: 7.5, currency: 'EUR' },
  email__send: { to: 'ann.baker@example.org', subject: 'Your refund', body: 'Dear Ann, it is on its way.' },
  k8s__restart_deployment: CHECKOUT,
  k8s__scale_deployment: { ...CHECKOUT, replicas: 6 },
  pager__resolve_incident: { incident: 'INC-2209', summary: 'Checkout latency is back to normal.' },
};
