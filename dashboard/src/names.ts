// Names for the ids in entries and approvals. Keys and sessions are loaded once, and again when an unknown id appears.

import { signal } from '@preact/signals';
import { get } from './api.ts';
import type { Key, Session } from './resources.ts';

export const keys = signal<Key[]>([]);
const asked = new Set<string>();

export async function loadKeys(): Promise<void> {
  const all: Key[] = [];
  let cursor: string | null = null;
  do {
    const page: { keys: Key[]; nextCursor: string | null } = await get('/keys', { limit: 1000, cursor });
    all.push(...page.keys);
    cursor = page.nextCursor;
  } while (cursor !== null);
  keys.value = all;
}

/** The name of a key, or the start of its id until the name is known. */
export function keyName(id: string): string {
  const found = keys.value.find(key => key.id === id);
  if (found !== undefined) return found.name;
  if (!asked.has(id)) {
    asked.add(id);
    loadKeysOnce();
  }
  return `${id.slice(0, 8)}…`;
}

let isLoading = false;

/** A page may show many unknown keys at once; one request is enough for all of them. */
async function loadKeysOnce(): Promise<void> {
  if (isLoading) return;
  isLoading = true;
  await loadKeys().catch(() => {});
  isLoading = false;
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
