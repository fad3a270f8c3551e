// Compares what the shadow of a key said with what was really decided, over a period, from the counts by context.

import { GuardError } from '../../core/errors.ts';
import { findKey } from '../../store/keys.ts';
import { findPolicy } from '../../store/policies.ts';
import type { Deps } from '../deps.ts';
import { noSuchKey } from '../keys.ts';
import { countedCalls } from './counted-calls.ts';
import { type Difference, Differences } from './differences.ts';

export interface ShadowReport {
  policyId: string;
  /** The version of the shadow that judges calls now. What versions before it said is left out: it may be mended by now. */
  policyVersion: number;
  /** What was counted; see CountedCalls. */
  from: number;
  to: number;
  /** How many calls this version of the shadow judged. */
  calls: number;
  agreements: number;
  differences: Difference[];
}

export async function shadowReport(
  deps: Deps,
  keyId: string,
  from: number,
  to: number,
): Promise<ShadowReport> {
  const { id: policyId, version } = await wantShadow(deps, keyId);
  const counted = await countedCalls(deps, { keyId }, from, to);
  const differences = new Differences();
  let agreements = 0;
  for (const call of counted.calls) {
    if (call.shadow?.policyId !== policyId || call.shadow.policyVersion !== version) continue;
    if (call.shadow.decision === call.decision) agreements += call.count;
    else differences.add(call, call.shadow.decision);
  }
  return {
    policyId,
    policyVersion: version,
    from: counted.from,
    to: counted.to,
    calls: agreements + differences.total,
    agreements,
    differences: await differences.listed(deps, counted.from, counted.to),
  };
}

async function wantShadow({ db }: Deps, keyId: string): Promise<{ id: string; version: number }> {
  const key = await findKey(db, keyId);
  if (key === null) throw noSuchKey();
  const policy = key.shadowPolicyId === null ? null : await findPolicy(db, key.shadowPolicyId);
  if (policy !== null) return policy;
  throw new GuardError('conflict', 'This key has no shadow. Give it one with `shadowPolicyId`.');
}
