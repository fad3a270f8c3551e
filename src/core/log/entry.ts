// An audit entry as it is sealed, and as it is shown and exported. Of the reason, what is stored is sealed; shown are a
// sentence for people and the code that it is made of, from which anybody can compute what was sealed.

import type { Reason } from '../decision/reason.ts';
import { reasonText } from '../decision/reason-text.ts';
import { isReason, readReason, recordedAgain } from '../decision/recorded-reason.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { isObject, type Json } from '../wire/json.ts';
import { type Hash, leafHash } from './merkle.ts';

interface Given {
  at: number;
  serverName: string;
  toolName: string;
  /** As it is stored. */
  reason: string;
  personId: string | null;
  shadow: object | null;
  traceId: string | null;
  runId: string | null;
  marks: string | null;
}

/**
 * An entry has `personId` only if its session acts for somebody, and `shadow` only if a shadow judged the call. So those
 * without have the form, and thereby the hash, that they had before there were any. The trace id is not part of it: it says
 * nothing about the decision, and replicas of older versions, which do not know it, seal entries too. Nor is the run. The
 * marks of the run are part of the reason.
 */
export type SealedEntry<Row extends Given> = Omit<Row, 'at' | 'personId' | 'shadow' | Unsealed> & {
  at: string;
  personId?: string;
  shadow?: NonNullable<Row['shadow']>;
};

type Unsealed = 'traceId' | 'runId' | 'marks';

export function sealedEntry<Row extends Given>(row: Row): SealedEntry<Row> {
  const { personId, shadow, traceId: _, runId: __, marks: ___, ...rest } = row;
  const sealed: object = Object.assign(rest, { at: new Date(row.at).toISOString() });
  if (personId !== null) Object.assign(sealed, { personId });
  if (shadow !== null) Object.assign(sealed, { shadow });
  return sealed as SealedEntry<Row>;
}

/**
 * It has no `reasonCode` if an earlier version recorded the call, in a sentence; nor `traceId` if it was not traced; nor
 * `runId` if nothing is remembered of runs; nor `marks` if the run had none.
 */
export type ShownEntry<Row extends Given> = SealedEntry<Row> & {
  reasonCode?: Reason;
  traceId?: string;
  runId?: string;
  marks?: string[];
};

export function shownEntry<Row extends Given>(row: Row): ShownEntry<Row> {
  const shown: ShownEntry<Row> = sealedEntry(row);
  const reasonCode = readReason(row.reason);
  if (reasonCode !== null) Object.assign(shown, { reason: reasonText(reasonCode, row), reasonCode });
  if (row.traceId !== null) Object.assign(shown, { traceId: row.traceId });
  if (row.runId !== null) Object.assign(shown, { runId: row.runId });
  if (reasonCode?.marks !== undefined) Object.assign(shown, { marks: reasonCode.marks });
  return shown;
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

/** The leaf hash of an entry, sealed or shown: the hash of its canonical JSON as it was sealed. */
export function entryLeaf(entry: object): Hash {
  if (!('traceId' in entry) && !('reasonCode' in entry) && !('runId' in entry))
    return leafHash(entryText(entry));
  const { traceId: _, runId: __, ...others } = entry as { traceId?: unknown; runId?: unknown };
  return leafHash(entryText(withRecordedReason(others)));
}

/** A sentence or marks that the code does not say stay, so that whoever changes them changes the hash. */
function withRecordedReason(shown: object): object {
  const { reasonCode, marks, ...sealed } = shown as Record<string, unknown>;
  const { serverName, toolName, reason } = sealed;
  if (typeof serverName !== 'string' || typeof toolName !== 'string' || !isReason(reasonCode)) return shown;
  if (reasonText(reasonCode, { serverName, toolName }) !== reason) return shown;
  if (JSON.stringify(marks) !== JSON.stringify(reasonCode.marks)) return shown;
  return { ...sealed, reason: recordedAgain(reasonCode) };
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
