// Judges the calls of a group by the shadows of their keys: second policies whose verdicts are recorded beside the real
// ones and have no effect. They are found by the same `consider` and `decide`, from the same facts. Nothing here writes,
// takes a lock, or changes a fact that the calls after it are decided by.
//
// What a limit says is read and not counted. Approvals and grants are looked at only where the policy of the key asks too,
// because only then have they been read; otherwise a shadow that asks says `pending`.

import { type Considered, consider } from '../../core/decision/consider.ts';
import { askingRule, asksForApproval, decide, type Facts } from '../../core/decision/decide.ts';
import type { HeldFor } from '../../core/decision/reason.ts';
import type { CompiledPolicy } from '../../core/policy/compiled-policy.ts';
import type { Situation } from '../../core/policy/situation.ts';
import type { Transaction } from '../../store/engine/db.ts';
import type { Shadow } from '../../store/log/audit-entry.ts';
import { ruleDigest } from '../rule-digest.ts';
import type { ApprovalFacts } from './approval-facts.ts';
import type { Asking } from './freeing.ts';
import { LimitFacts, type Metered, meteredBy } from './limits.ts';
import type { CheckRequest } from './request.ts';

/** Null if the shadow cannot judge the call. The real verdict does not depend on it. */
export function considerShadow(
  policy: CompiledPolicy,
  { call, principal }: CheckRequest,
  situation: Situation,
): Considered | null {
  try {
    return consider(policy, call, principal.scope, situation);
  } catch {
    return null;
  }
}

interface Call {
  request: CheckRequest;
  drift: Facts['drift'];
  heldFor: HeldFor | null;
  /** What was found about the call by the shadow of its key. */
  shadow: Considered | null;
}

export class Shadows {
  readonly #limits: Pick<LimitFacts, 'isUsedUp'> | null;
  readonly #metered: ReadonlyMap<Considered, Metered>;

  private constructor(
    limits: Pick<LimitFacts, 'isUsedUp'> | null,
    metered: ReadonlyMap<Considered, Metered>,
  ) {
    this.#limits = limits;
    this.#metered = metered;
  }

  static readonly #none = new Shadows(null, new Map());

  /** Reads what the limits of shadows have counted; mostly there is nothing to read. */
  static async read(tx: Transaction, calls: readonly Call[], now: number): Promise<Shadows> {
    const metered = new Map<Considered, Metered>();
    for (const { shadow, request } of calls) {
      const each = shadow === null ? null : meteredBy(shadow, request.principal.keyId);
      if (shadow !== null && each !== null) metered.set(shadow, each);
    }
    if (metered.size === 0) return Shadows.#none;
    return new Shadows(await LimitFacts.glance(tx, [...metered.values()], now), metered);
  }

  /**
   * What the shadow says about a call; null if there is none, or if it cannot judge the call. It has to be asked before
   * the call is decided, which may spend the approval that frees it. `asking` is what the policy of the key asks.
   */
  judge(
    { shadow, drift, heldFor, request }: Call,
    asking: Asking | undefined,
    approvals: ApprovalFacts | null,
  ): Shadow | null {
    if (shadow === null) return null;
    try {
      const usedUp = this.#isUsedUp(shadow);
      const asks = asking !== undefined && approvals !== null && asksForApproval(shadow, { drift, usedUp });
      const about = asks ? approvalFacts(shadow, request, asking, approvals) : NOTHING_KNOWN;
      const { decision, ruleIndex } = decide(shadow, { drift, heldFor, usedUp, ...about });
      return { policyId: shadow.policy.id, policyVersion: shadow.policy.version, decision, ruleIndex };
    } catch {
      return null;
    }
  }

  #isUsedUp(shadow: Considered): boolean {
    const metered = this.#metered.get(shadow);
    return metered !== undefined && this.#limits?.isUsedUp(metered) === true;
  }
}

type About = Pick<Facts, 'freedom' | 'repeats' | 'approvalLimit'>;

const NOTHING_KNOWN: About = { freedom: null, repeats: null, approvalLimit: null };

/** What is known about approvals of this call, as the rule of the shadow would ask for one. */
function approvalFacts(
  shadow: Considered,
  request: CheckRequest,
  asked: Asking,
  approvals: ApprovalFacts,
): About {
  const rule = askingRule(shadow);
  const asking: Asking = { ...asked, rule, ruleDigest: ruleDigest(rule) };
  const before = approvals.repeated(asking);
  return {
    freedom: approvals.freedom(asking),
    repeats: before && { referenceId: before.id, denied: before.status === 'denied' },
    approvalLimit: asking.receiver === null ? approvals.limit(request) : null,
  };
}
