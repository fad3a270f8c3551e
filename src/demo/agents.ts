// The agents of the demo's week, as data: the tools that they call, with which arguments, and their MCP servers.

import type { Surface } from '../core/text/surface.ts';
import type { JsonObject } from '../core/wire/json.ts';

export interface DemoAgent {
  name: string;
  policy: string;
  shadow?: { policy: string; daysAgo: number };
  daysAgo: number;
  /** If its key was revoked since. */
  revokedDaysAgo?: number;
  requireSignInToApprove?: boolean;
  surface: Surface;
  /** The number of calls in a busy hour. */
  perHour: number;
  officeHours?: true;
  /** The labels of its sessions. */
  runs: string[];
  /** Its tools, each as often as it is called relative to the others. Those of `servers` are Connected Tools. */
  calls: string[];
  servers?: string[];
}

/** Reads `name weight`, as often as it is there. Weights have one decimal. */
function calls(text: string): string[] {
  const weighted = text.matchAll(/(\w+) ([\d.]+)/g);
  return [...weighted].flatMap(([, tool, weight]) => Array(Math.round(Number(weight) * 10)).fill(tool));
}

const CODING: DemoAgent = {
  ...{ name: 'coding agent', policy: 'coding-agents', daysAgo: 26.02, surface: 'mcp' },
  ...{ shadow: { policy: 'coding-agents-strict', daysAgo: 5.14 }, perHour: 62, officeHours: true },
  runs: ['fix flaky tests', 'dependency updates', 'issue triage', 'review follow-up'],
  calls: calls(`github__get_issue 18, github__get_file_contents 26, github__list_pull_requests 9,
    github__search_code 16, github__create_pull_request 3, github__merge_pull_request 1.1,
    github__delete_branch 1.6, files__read_file 30, files__list_directory 11, files__write_file 12,
    ci__get_run 6, ci__cancel_run 0.9`),
  servers: ['github', 'files'],
};

const SUPPORT: DemoAgent = {
  ...{ name: 'support assistant', policy: 'support-desk', daysAgo: 20.05, surface: 'check', perHour: 34 },
  runs: ['inbox: billing', 'inbox: shipping'],
  calls: calls(`tickets__search 20, tickets__get_ticket 26, tickets__add_note 12, tickets__delete_ticket 1.1,
    orders__get_order 18, orders__list_orders 6, payments__refund 1.2, payments__voucher 1.6, email__send 0.8,
    payments__charge 0.8`),
};

const ON_CALL: DemoAgent = {
  ...{ name: 'on-call runbook', policy: 'production-on-call', daysAgo: 25.1, surface: 'mcp', perHour: 9 },
  requireSignInToApprove: true,
  runs: ['incident: checkout latency', 'nightly health check'],
  calls: calls(`k8s__get_pods 14, k8s__logs 12, k8s__restart_deployment 0.7, k8s__scale_deployment 0.5,
    k8s__exec 0.3, metrics__query_range 16, pager__list_incidents 5, pager__resolve_incident 0.3`),
  servers: ['k8s', 'github'],
};

const RETIRED: DemoAgent = {
  ...{ name: 'prototype', policy: 'coding-agents', daysAgo: 26.01, revokedDaysAgo: 10, surface: 'check' },
  ...{ perHour: 0, runs: [], calls: [] },
};

export const AGENTS = [CODING, SUPPORT, ON_CALL, RETIRED];

/** The servers that keys share. */
export const SHARED = ['github'];

/** The tool whose definition has changed since, and what it says now. */
export const CHANGED = {
  tool: 'github__merge_pull_request',
  daysAgo: 2.3,
  description: 'Merge pull request. Also deletes its branch and closes linked issues.',
};

const CHECKOUT = { cluster: 'production', namespace: 'shop', deployment: 'checkout' };
const CUSTOMER = { name: 'Ann Baker', id: 'C-1042' };

/** What tools are called with that a policy asks about, or whose arguments a condition reads. */
export const ARGUMENTS: Readonly<Record<string, JsonObject>> = {
  github__merge_pull_request: { repository: 'example/shop', number: 482, title: 'Retry failed payments' },
  payments__refund: { amount: 180, currency: 'EUR', customer: CUSTOMER, order: 7311 },
  payments__voucher: { amount: 7.5, currency: 'EUR' },
  email__send: { to: 'ann.baker@example.org', subject: 'Your refund', body: 'Dear Ann, it is on its way.' },
  k8s__restart_deployment: CHECKOUT,
  k8s__scale_deployment: { ...CHECKOUT, replicas: 6 },
  pager__resolve_incident: { incident: 'INC-2209', summary: 'Checkout latency is back to normal.' },
};
