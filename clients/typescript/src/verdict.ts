// The verdict: its shape, and reading one strictly. An answer that is not exactly a verdict is invalid; a guard
// that guesses would guess "allow" one day.

import { count, fieldsOf, id, isSet, oneOf, own, text } from './shape.ts';

export interface AllowVerdict {
  decision: 'allow';
  reason: string;
  policyId: string;
  /** The id of the audit entry of this call. */
  toolCallId: string;
  latencyMs: number;
  /** That the rule trusts what the tool returns: `report` tells it to the service. */
  known?: 'results';
  /** That the policy has a say about what the tool returns: `guardResult` gives what may be passed on. */
  results?: true;
  /** Only from `guardAndWait`: what the person wrote who approved the call, if anything. */
  note?: string;
}

export interface DenyVerdict {
  decision: 'deny';
  reason: string;
  policyId?: string;
  toolCallId?: string;
  latencyMs: number;
}

export interface PendingVerdict {
  decision: 'pending';
  reason: string;
  policyId: string;
  toolCallId: string;
  /** Correlates the later events, and frees the call once it is approved. */
  referenceId: string;
  message: string;
  latencyMs: number;
}

export type Verdict = AllowVerdict | DenyVerdict | PendingVerdict;

const DECISIONS = ['allow', 'deny', 'pending'] as const;

export function readVerdict(value: unknown): Verdict {
  const fields = fieldsOf(value, 'the verdict');
  const decision = oneOf(fields, 'decision', DECISIONS);
  const reason = text(fields, 'reason');
  const latencyMs = count(fields, 'latencyMs');
  if (decision === 'deny') {
    const policyId = own(fields, 'policyId') === undefined ? {} : { policyId: id(fields, 'policyId') };
    const toolCallId =
      own(fields, 'toolCallId') === undefined ? {} : { toolCallId: id(fields, 'toolCallId') };
    return { decision, reason, ...policyId, ...toolCallId, latencyMs };
  }
  const [policyId, toolCallId] = [id(fields, 'policyId'), id(fields, 'toolCallId')];
  if (decision === 'allow') {
    // What a later service may say here is not for this client; the call is allowed all the same.
    const known = own(fields, 'known') === 'results' ? { known: 'results' as const } : {};
    const results = isSet(fields, 'results') ? { results: true as const } : {};
    return { decision, reason, policyId, toolCallId, latencyMs, ...known, ...results };
  }
  const [referenceId, message] = [id(fields, 'referenceId'), text(fields, 'message')];
  return { decision, reason, policyId, toolCallId, referenceId, message, latencyMs };
}
