// Compares what the shadow of a key said with what was really decided, over a period, from the counts by context. A call
// that people freed, and that the shadow allows without asking, is a difference.

import { GuardError } from '../../core/errors.ts';
import { evidenceOf } from '../../core/foresight/evidence.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import { ASKS } from '../../core/policy/policy.ts';
import { findKey } from '../../store/keys.ts';
import type { Shadow } from '../../store/log/audit-entry.ts';
import { findPolicy } from '../../store/policies.ts';
import { compiledVersion } from '../compiled-version.ts';
import type { Deps } from '../deps.ts';
import { noSuchKey } from '../keys.ts';
import { type CountedCall, countedCalls } from './counted-calls.ts';
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
  /** Some are not listed if there are too many: their calls are counted in `calls` only. */
  differences: Difference[];
}

export async function shadowReport(
  deps: Deps,
  keyId: string,
  from: number,
  to: number,
): Promise<ShadowReport> {
  const policy = await requireShadow(deps, keyId);
  const counted = await countedCalls(deps, { keyId }, from, to);
  const differences = new Differences();
  let agreements = 0;
  const shadow = await compiledVersion(deps.db, policy.id, policy.version);
  for (const call of judgedBy(policy, counted.calls)) {
    if (call.shadow.decision !== call.decision) differences.add(call, call.shadow.decision);
    else if (asks(shadow, call) || !evidenceOf(call).freed) agreements += call.count;
    else differences.add(call, 'allow', 'pending');
  }
  for (const call of judgedBy(policy, counted.unnamed)) {
    if (call.shadow.decision === call.decision) agreements += call.count;
    else differences.addUnnamed(call);
  }
  return {
    policyId: policy.id,
    policyVersion: policy.version,
    from: counted.from,
    to: counted.to,
    calls: agreements + differences.total,
    agreements,
    differences: await differences.listed(deps, counted.from, counted.to),
  };
}

/** Whether the rule by which the shadow judged the call asks people. */
function asks(shadow: CompiledPolicy | null, { shadow: { ruleIndex } }: Judged): boolean {
  return ASKS[shadow?.rules[ruleIndex ?? -1]?.action ?? 'deny'];
}

type Judged = CountedCall & { shadow: Shadow };

function judgedBy({ id, version }: Version, calls: readonly CountedCall[]): Judged[] {
  const isJudged = ({ shadow }: CountedCall) => shadow?.policyId === id && shadow.policyVersion === version;
  return calls.filter((call): call is Judged => isJudged(call));
}

interface Version {
  id: string;
  version: number;
}

async function requireShadow({ db }: Deps, keyId: string): Promise<Version> {
  const key = await findKey(db, keyId);
  if (key === null) throw noSuchKey();
  const policy = key.shadowPolicyId === null ? null : await findPolicy(db, key.shadowPolicyId);
  if (policy !== null) return policy;
  throw new GuardError('conflict', 'This key has no shadow. Give it one with `shadowPolicyId`.');
}
