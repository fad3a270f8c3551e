// What the reason of a recorded call is evidence of: what followed from the rule that applied, and which rule was
// passed over. Entries of earlier versions have a sentence in place of a code, which is not read: of them, little is
// known.

import type { Decision } from '../decision/decide.ts';
import type { PassedOver, QuestionOutcome, Reason } from '../decision/reason.ts';
import { isCode, readReason } from '../decision/recorded-reason.ts';
import type { NoPlace } from '../policy/situation.ts';

/** What an audit entry says about a call. */
export interface RecordedCall {
  keyId: string;
  serverName: string;
  toolName: string;
  decision: Decision;
  /** As it is stored. */
  reason: string;
  policyId: string;
  policyVersion: number;
  ruleIndex: number | null;
  personId: string | null;
}

/**
 * What decided, or stood in the way of the rule that applied. `drift`: the definition of the tool was not accepted.
 * `unmetered`: the limit could not be counted without the arguments. `unread`: an earlier version recorded the call, or a
 * later one.
 */
export type Cause = 'scope' | 'relayed' | 'rule' | 'no rule' | 'limit' | 'drift' | 'unmetered' | 'unread';

export interface Evidence {
  cause: Cause;
  /** Whether people were asked, or would have been if not too many questions were open; also if a grant freed the call. */
  asked: boolean;
  /** Whether people freed the call, by an approval or a grant; true also if that cannot be told for sure. */
  freed: boolean;
  /** The condition of the recorded rule that could not be evaluated; null where that is not known. */
  failed: { condition: number } | 'none' | null;
  /** Whether it was asked about although nobody could answer, because its arguments were not known. */
  unseen: boolean;
  /** Whether it was allowed, but could not be forwarded. */
  noPlace: boolean;
  /** A rule that was passed over. */
  nearest: PassedOver | null;
}

const NONE: Evidence = {
  cause: 'unread',
  asked: false,
  freed: false,
  failed: null,
  unseen: false,
  noPlace: false,
  nearest: null,
};
const RELAYED: Evidence = { ...NONE, cause: 'relayed' };

export function evidenceOf({ reason: recorded, decision, ruleIndex }: RecordedCall): Evidence {
  const reason = readReason(recorded);
  if (reason !== null) return evidenceIn(reason);
  // Only what the key's setting forwards is allowed without a rule.
  if (decision === 'allow' && ruleIndex === null) return RELAYED;
  // Every earlier version wrote these words where somebody freed a call. A caller may have chosen them as the name of a tool.
  // What a later version wrote cannot be read, so somebody may have freed the call.
  const mayBeFreed = isCode(recorded) || recorded.includes('; freed by ');
  return { ...NONE, freed: decision === 'allow' && mayBeFreed };
}

function evidenceIn(reason: Reason): Evidence {
  switch (reason.code) {
    case 'relayed':
      return RELAYED;
    case 'outside_scope':
      return { ...NONE, cause: 'scope' };
    case 'no_rule':
      return { ...NONE, cause: 'no rule', nearest: reason.nearest ?? null };
    case 'allows':
      return { ...NONE, cause: 'rule', failed: 'none', noPlace: reason.noPlace !== undefined };
    case 'denies':
      return { ...NONE, cause: 'rule', failed: failedIn(reason), nearest: reason.nearest ?? null };
    case 'asks':
      return { ...answered(reason), cause: 'rule', failed: failedIn(reason) };
    case 'drifted':
    case 'unaccepted':
      return { ...answered(reason), cause: 'drift', failed: 'none' };
    case 'used_up':
      return { ...answered(reason), cause: 'limit', failed: 'none' };
    case 'no_subject':
      return { ...NONE, cause: 'limit', failed: 'none', nearest: reason.nearest ?? null };
    case 'unmetered':
      return { ...NONE, cause: 'unmetered' };
  }
}

const failedIn = ({ condition }: { condition?: number | undefined }): Evidence['failed'] =>
  condition === undefined ? 'none' : { condition };

interface Answered {
  answer?: QuestionOutcome | undefined;
  nearest?: PassedOver | null | undefined;
  noPlace?: NoPlace | undefined;
}

function answered({ answer, nearest = null, noPlace }: Answered): Evidence {
  // Without arguments, rules are passed over that would apply with them.
  if (answer?.is === 'unseen') return { ...NONE, unseen: true };
  return {
    ...NONE,
    asked: answer !== undefined,
    freed: answer?.is === 'freed' && noPlace === undefined,
    noPlace: noPlace !== undefined,
    nearest,
  };
}

/** Whether an earlier version recorded the call. */
export function isEarlier({ reason }: Pick<RecordedCall, 'reason'>): boolean {
  return readReason(reason) === null;
}
