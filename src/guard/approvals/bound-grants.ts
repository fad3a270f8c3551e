// Grants that free only some calls of a key to a tool: those of one session, or those whose values at some paths equal
// the values of the call that was approved, in the same working folder if a coding agent made it. The values are
// compared by keyed digests. They are computed when the approval is asked for, since arguments are not kept, and stored
// without the paths, because the names in arguments must not be stored either.

import { comparableText, comparableValues } from '../../core/approvals/comparable.ts';
import { invalidInput } from '../../core/errors.ts';
import { type Path, parsePath, valueAt } from '../../core/text/argument-path.ts';
import type { Json } from '../../core/wire/json.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import type { GrantRecord } from '../../store/grants.ts';
import type { Vault } from '../secrets.ts';

/** How a grant is bound, as an answer says it. */
export interface Binds {
  only?: 'session' | undefined;
  /** Paths to arguments. */
  same?: readonly string[] | undefined;
}

export type Bounds = Pick<GrantRecord, 'sessionId' | 'samePaths' | 'sameDigest'>;

/**
 * A bound grant's digest of its rule begins with this, so that a replica of an older version, which would not see the
 * bounds, does not recognise the rule.
 */
const BOUND = 'bound ';

/** What is kept of the call's values while the question is open. */
export function valueDigests(
  vault: Vault,
  approvalId: string,
  args: Json | undefined,
  folder: string | null = null,
): string {
  const key = vault.valueKey(approvalId);
  const values = comparableValues(args);
  return (folder === null ? values : [{ path: FOLDER, text: folder }, ...values])
    .map(({ path, text }) => pathDigest(key, path) + valueDigest(key, path, text))
    .join('');
}

/** No path to an argument is empty, so this one stands for the folder in which an agent works. */
const FOLDER: Path = [];

/** It throws if the call has no session, or no value at a path. */
export function boundsOf(vault: Vault, approval: ApprovalRecord, { only, same }: Binds): Bounds {
  if (only !== undefined && approval.sessionId === null)
    throw invalidInput([
      { path: '/only', message: 'this call was made with the key itself, not in a session' },
    ]);
  const sessionId = only === undefined ? null : approval.sessionId;
  if (same === undefined) return { sessionId, samePaths: null, sameDigest: null };
  const key = vault.valueKey(approval.id);
  const kept = new Map(pairsIn(approval.valueDigests ?? ''));
  const digests = same.map((text, index) => {
    const found = kept.get(pathDigest(key, parsePath(text) as Path));
    if (found !== undefined) return found;
    const message = 'this call has no value there that can be compared';
    throw invalidInput([{ path: `/same/${index}`, message }]);
  });
  const folder = kept.get(pathDigest(key, FOLDER));
  const all = folder === undefined ? digests : [folder, ...digests];
  return { sessionId, samePaths: JSON.stringify(same), sameDigest: joined(key, all) };
}

/** The digest of the rule as a grant with these bounds keeps it. */
export function boundRuleDigest({ sessionId, sameDigest }: Bounds, ruleDigest: string | null): string | null {
  return sessionId === null && sameDigest === null ? ruleDigest : BOUND + (ruleDigest ?? '');
}

/** The digest of the rule that a grant was opened under; null if that was not known. */
export function grantRuleDigest({ ruleDigest }: GrantRecord): string | null {
  if (!ruleDigest?.startsWith(BOUND)) return ruleDigest;
  return ruleDigest.slice(BOUND.length) || null;
}

/** Whether a call is one of those that a grant is bound to. */
export function isWithinBounds(
  vault: Vault,
  grant: GrantRecord,
  sessionId: string | null,
  args: Json | undefined,
  folder: string | null = null,
): boolean {
  if (grant.sessionId !== null && grant.sessionId !== sessionId) return false;
  if (grant.samePaths === null) return true;
  const key = vault.valueKey(grant.referenceId);
  const digests = folder === null ? [] : [valueDigest(key, FOLDER, folder)];
  for (const text of JSON.parse(grant.samePaths) as string[]) {
    const path = parsePath(text) as Path;
    const value = valueAt(args, path);
    const comparable = value === undefined ? null : comparableText(value);
    if (comparable === null) return false;
    digests.push(valueDigest(key, path, comparable));
  }
  return joined(key, digests) === grant.sameDigest;
}

/** 66 and 132 bits, in base64url: a path is looked for among a hundred, and a value decides about a call. */
const PATH_CHARS = 11;
const VALUE_CHARS = 22;

function pathDigest(key: Uint8Array, path: Path): string {
  return hmac(key, JSON.stringify(path)).slice(0, PATH_CHARS);
}

/** The path's JSON has no line break, so what is digested is never the same for another path and value. */
function valueDigest(key: Uint8Array, path: Path, text: string): string {
  return hmac(key, `${JSON.stringify(path)}\n${text}`).slice(0, VALUE_CHARS);
}

function joined(key: Uint8Array, digests: readonly string[]): string {
  return hmac(key, digests.join(' '));
}

/** A tenth of the time that createHmac takes, which counts: a call with many values needs two hundred. */
function hmac(key: Uint8Array, text: string): string {
  return new Bun.CryptoHasher('sha256', key).update(text).digest('base64url');
}

function* pairsIn(text: string): Generator<[path: string, value: string]> {
  for (let at = 0; at < text.length; at += PATH_CHARS + VALUE_CHARS) {
    const value = at + PATH_CHARS;
    yield [text.slice(at, value), text.slice(value, value + VALUE_CHARS)];
  }
}
