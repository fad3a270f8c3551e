// An audit entry as it is shown, exported and sealed. All three use the same form, so that anybody with an export can
// compute the hashes that were sealed.

import { canonicalJson } from '../wire/canonical.ts';
import { isObject, type Json } from '../wire/json.ts';
import { type Hash, leafHash } from './merkle.ts';

interface Given {
  at: number;
  personId: string | null;
  shadow: object | null;
  traceId: string | null;
}

/**
 * An entry has `personId` only if its session acts for somebody, and `shadow` only if a shadow judged the call. So those
 * without have the form, and thereby the hash, that they had before there were any. It has `traceId` only if the call was
 * traced.
 */
export type ShownEntry<Row extends Given> = Omit<Row, keyof Given> & {
  at: string;
  personId?: string;
  shadow?: NonNullable<Row['shadow']>;
  traceId?: string;
};

export function shownEntry<Row extends Given>(row: Row): ShownEntry<Row> {
  const { personId, shadow, traceId, ...rest } = row;
  const shown: object = Object.assign(rest, { at: new Date(row.at).toISOString() });
  if (personId !== null) Object.assign(shown, { personId });
  if (shadow !== null) Object.assign(shown, { shadow });
  if (traceId !== null) Object.assign(shown, { traceId });
  return shown as ShownEntry<Row>;
}

const FIELDS = [
  'at',
  'decision',
  'id',
  'keyId',
  'latencyMs',
  'personId',
  'policyId',
  'policyVersion',
  'reason',
  'referenceId',
  'ruleIndex',
  'serverName',
  'sessionId',
  'shadow',
  'surface',
  'toolName',
] as const;
const OPTIONAL = new Set<string>(['personId', 'shadow']);
const SHADOW_FIELDS = ['decision', 'policyId', 'policyVersion', 'ruleIndex'] as const;

/**
 * The leaf hash of an entry: the hash of its canonical JSON. The trace id is not part of it: it says nothing about the
 * decision, and replicas of older versions, which do not know it, seal entries too.
 */
export function entryLeaf(shown: object): Hash {
  if (!('traceId' in shown)) return leafHash(entryText(shown));
  const { traceId: _, ...sealed } = shown;
  return leafHash(entryText(sealed));
}

/**
 * An entry is flat but for its shadow, so its canonical JSON is JSON.stringify with the keys in order, which takes 2 µs
 * instead of 18. An entry with other fields goes through canonicalJson.
 */
export function entryText(shown: object): string {
  const given = shown as Record<string, Json>;
  const sorted = inOrder(given, FIELDS);
  if (sorted === null) return canonicalJson(given);
  if (sorted['shadow'] === undefined) return JSON.stringify(sorted);
  const shadow = inOrder(sorted['shadow'], SHADOW_FIELDS);
  return shadow === null ? canonicalJson(given) : JSON.stringify({ ...sorted, shadow });
}

/** An object with its keys in this order; null if it has others, or lacks one that every such object has. */
function inOrder(given: Json, names: readonly string[]): Record<string, Json> | null {
  if (!isObject(given)) return null;
  const sorted: Record<string, Json> = {};
  let found = 0;
  for (const name of names) {
    const value = given[name];
    if (value !== undefined) {
      sorted[name] = value;
      found++;
    } else if (!OPTIONAL.has(name)) return null;
  }
  return found === Object.keys(given).length ? sorted : null;
}
