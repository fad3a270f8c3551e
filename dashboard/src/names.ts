// Names for the ids in entries, approvals and changes. Keys, people, policies, webhooks and sessions are loaded once, and
// again when an unknown id appears.

import { signal } from '@preact/signals';
import { get } from './api.ts';
import type { Key, Operator, Policy, Session, Webhook } from './resources.ts';

export const keys = signal<Key[]>([]);
export const people = signal<Operator[]>([]);
const policies = signal<Policy[]>([]);
const webhooks = signal<Webhook[]>([]);
const asked = new Set<string>();

export async function loadKeys(): Promise<void> {
  keys.value = await readAll<Key>('/keys', 'keys');
}

/** Everybody who can sign in. */
export async function loadPeople(): Promise<void> {
  people.value = await readAll<Operator>('/operators', 'operators');
}

async function loadPolicies(): Promise<void> {
  policies.value = await readAll<Policy>('/policies', 'policies');
}

async function loadWebhooks(): Promise<void> {
  webhooks.value = await readAll<Webhook>('/webhooks', 'webhooks');
}

async function readAll<T>(path: string, name: string): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | null = null;
  do {
    const page: Record<string, unknown> = await get(path, { limit: 1000, cursor });
    all.push(...(page[name] as T[]));
    cursor = page['nextCursor'] as string | null;
  } while (cursor !== null);
  return all;
}

/** The name of a key, or the start of its id until the name is known. */
export function keyName(id: string): string {
  return keys.value.find(key => key.id === id)?.name ?? unknown(id, loadKeys);
}

/** The e-mail address of a person, or the start of their id until it is known, or if they were removed. */
export function personName(id: string): string {
  return people.value.find(each => each.id === id)?.email ?? unknown(id, loadPeople);
}

/** The name of a policy, or the start of its id until the name is known, or if it was deleted. */
export function policyName(id: string): string {
  return policies.value.find(policy => policy.id === id)?.name ?? unknown(id, loadPolicies);
}

/** The host of a webhook, or the start of its id until it is known, or if it was deleted. */
export function webhookName(id: string): string {
  const url = webhooks.value.find(each => each.id === id)?.url;
  return url === undefined ? unknown(id, loadWebhooks) : new URL(url).host;
}

const underWay = new Set<() => Promise<void>>();

/** The start of the id. A page may show many unknown ones at once; one request is enough for all of them. */
function unknown(id: string, load: () => Promise<void>): string {
  if (!asked.has(id)) {
    asked.add(id);
    if (!underWay.has(load)) {
      underWay.add(load);
      load()
        .catch(() => {})
        .finally(() => underWay.delete(load));
    }
  }
  return `${id.slice(0, 8)}…`;
}

const labels = signal<Record<string, string>>({});

/** The label of a session; empty if it is not known yet or does not exist. Its key, where known, finds it sooner. */
export function sessionLabel(id: string, keyId: string | null): string {
  if (!asked.has(id)) {
    asked.add(id);
    loadLabels(keyId).catch(() => {});
  }
  return labels.value[id] ?? '';
}

const loading = new Set<string | null>();

/** Loads the labels of a key's newest sessions only, since calls that wait and counts are recent. */
async function loadLabels(keyId: string | null): Promise<void> {
  if (loading.has(keyId)) return;
  loading.add(keyId);
  try {
    const { sessions } = await get<{ sessions: Session[] }>('/sessions', { keyId, limit: 1000 });
    for (const { id } of sessions) asked.add(id);
    labels.value = { ...labels.value, ...Object.fromEntries(sessions.map(({ id, label }) => [id, label])) };
  } finally {
    loading.delete(keyId);
  }
}
