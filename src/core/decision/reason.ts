// Why a call was decided as it was, as data: a code and its parts. decide.ts makes it, the audit log stores it, and
// whatever reads the log again reads these codes. reason-text.ts says the same to people, recorded-reason.ts writes and
// reads what is stored. No part holds anything of an argument, and all but names and the texts of rules are of a finite set.
//
// What is stored is canonical JSON, so the keys of every object here are made in the order of the alphabet.

import type { Limit } from '../policy/limit.ts';
import type { NoPlace } from '../policy/situation.ts';
import type { Surface } from '../text/surface.ts';

type Per = NonNullable<Limit['per']>;

export type Reason = (
  | Relayed
  | OutsideScope
  | NoRule
  | Allows
  | Denies
  | Asks
  | Drifted
  | Unaccepted
  | UsedUp
  | NoSubject
  | Unmetered
) & {
  /** The marks that the run had when the call was decided, in the order of the alphabet. */
  marks?: string[] | undefined;
};

/** The key's setting forwards the call, and no rule has a say. */
export interface Relayed {
  code: 'relayed';
  noPlace?: NoPlace | undefined;
}

export interface OutsideScope {
  code: 'outside_scope';
}

export interface NoRule {
  code: 'no_rule';
  nearest?: PassedOver | undefined;
  policy: string;
}

/** The rule by which the call is decided, with the names that it and its policy had then. */
interface OfRule {
  policy: string;
  rule: number;
  ruleName?: string | undefined;
}

export interface Allows extends OfRule {
  code: 'allows';
  noPlace?: NoPlace | undefined;
}

export interface Denies extends OfRule {
  code: 'denies';
  /** The condition that could not be evaluated, for which the rule applies. */
  condition?: number | undefined;
  nearest?: PassedOver | undefined;
  /** What the rule itself says. */
  text?: string | undefined;
}

export interface Asks extends OfRule {
  code: 'asks';
  answer: QuestionOutcome;
  /** The condition that could not be evaluated, for which the rule holds the call. */
  condition?: number | undefined;
  nearest?: PassedOver | undefined;
  /** Set if the call was freed but could not be forwarded. */
  noPlace?: NoPlace | undefined;
}

/** The definition of the tool has changed, which is in the way of every rule. */
export interface Drifted extends OfRule {
  code: 'drifted';
  /** Absent where such calls are denied. */
  answer?: QuestionOutcome | undefined;
  /** Whether the rule asks anyway; else it allows the call. */
  asks?: true | undefined;
  noPlace?: NoPlace | undefined;
}

/** Why a definition is held until somebody accepts it. */
export const HELD_FOR = ['nobody', 'hidden', 'shadows', 'names_tool', 'lock_file'] as const;
export type HeldFor = (typeof HELD_FOR)[number];

/** Nobody has accepted the definition of the tool, and it is held, which is in the way of every rule. */
export interface Unaccepted extends Omit<Drifted, 'code'> {
  code: 'unaccepted';
  why: HeldFor;
}

/** The limit of the rule has no room for the call. */
export interface UsedUp extends OfRule {
  code: 'used_up';
  /** Absent where the call is denied. */
  answer?: QuestionOutcome | undefined;
  atMost: string;
  limit: string;
  nearest?: PassedOver | undefined;
  noPlace?: NoPlace | undefined;
  per: Per;
  /** `each day`, `within 1h`. */
  window: string;
}

/** The limit counts by something that the call does not have, such as a session or a person. */
export interface NoSubject extends OfRule {
  code: 'no_subject';
  limit: string;
  nearest?: PassedOver | undefined;
  per: Per;
}

/** The limit cannot be counted without the arguments. */
export interface Unmetered extends OfRule {
  code: 'unmetered';
  limit: string;
  nearest?: PassedOver | undefined;
}

/** The outcome of a question to people. */
export type QuestionOutcome =
  | { by: 'grant' | 'approval'; is: 'freed'; referenceId: string }
  | { is: 'denied' }
  | { is: 'too_many'; of: 'key' | 'session'; open: number; whyNotFreed?: WhyNotFreed | undefined }
  /** Nobody can approve exactly this call, because its arguments are not known. */
  | { is: 'unseen'; whyNotFreed?: WhyNotFreed | undefined }
  | Waits;

export interface Waits {
  handedTo?: HandedTo | undefined;
  is: 'waits';
  /** What the rule itself says. */
  text?: string | undefined;
  whyNotFreed?: WhyNotFreed | undefined;
}

/** No further approval may be opened: so many are open already. */
export interface TooMany {
  of: 'key' | 'session';
  open: number;
}

/** Who takes care of a call that would wait, instead of approvers. */
export const HANDED_TO = ['terminal', 'proxy'] as const;
export type HandedTo = (typeof HANDED_TO)[number];

/** Why the approval that the caller named does not free the call. */
export const WHY_NOT_FREED = [
  'unanswered',
  'timed_out',
  'denied',
  'opened_grant',
  'used',
  'withdrawn',
  'too_old',
  'unknown',
  'other_tool',
  'other_arguments',
  'other_definition',
  'other_approvers',
  'too_few_votes',
] as const;
export type WhyNotFreed = (typeof WHY_NOT_FREED)[number] | OtherSurface;

export interface OtherSurface {
  asked: Surface;
  here: Surface;
}

/** Why a rule that matches by name does not apply. */
export type NotApplying =
  | { condition: number; why: 'false' | 'failed' }
  | { why: 'hours' }
  | { limit: string; why: 'uncounted' };

/** A rule that was passed over, with the name that it had then. */
export interface PassedOver {
  not: NotApplying;
  rule: number;
  ruleName?: string | undefined;
}
