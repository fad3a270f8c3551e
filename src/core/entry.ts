// An audit entry as it is shown, exported and sealed: one shape, so that whoever has an export can hash what was
// sealed.

import { canonicalJson } from './canonical.ts';
import type { Json } from './json.ts';
import { type Hash, leafHash } from './merkle.ts';

export function shownEntry<Row extends { at: number }>(row: Row): Omit<Row, 'at'> & { at: string } {
  return { ...row, at: new Date(row.at).toISOString() };
}

const FIELDS = [
  'at',
  'decision',
  'id',
  'keyId',
  'latencyMs',
  'policyId',
  'policyVersion',
  'reason',
  'referenceId',
  'ruleIndex',
  'serverName',
  'sessionId',
  'surface',
  'toolName',
] as const;

/** The leaf of an entry as it is shown: its canonical JSON. */
export function entryLeaf(shown: object): Hash {
  return leafHash(entryText(shown));
}

/**
 * An entry is flat, so its canonical JSON is the runtime's with the keys in order: 2 µs where the general way
 * takes 18. Whatever has other fields takes the general way.
 */
export function entryText(shown: object): string {
  const given = shown as Record<string, Json>;
  const known = Object.keys(given).length === FIELDS.length && FIELDS.every(name => name in given);
  if (!known) return canonicalJson(given);
  const sorted: Record<string, Json | undefined> = {};
  for (const name of FIELDS) sorted[name] = given[name];
  return JSON.stringify(sorted);
}
