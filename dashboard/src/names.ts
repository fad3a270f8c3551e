// Names for the ids that entries and approvals carry: keys are read once, and again when an id is met that was
// not among them.

import { signal } from '@preact/signals';
import { get, type Key } from './api.ts';

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

/** The name of a key; the start of its id until the name is known. */
export function keyName(id: string): string {
  const found = keys.value.find(key => key.id === id);
  if (found !== undefined) return found.name;
  if (!asked.has(id)) {
    asked.add(id);
    loadKeys().catch(() => {});
  }
  return `${id.slice(0, 8)}…`;
}
