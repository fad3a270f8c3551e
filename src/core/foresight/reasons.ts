// Reads what the reason of an audit entry tells about the call: what came of the rule that applied, and which rule was
// passed over. decide.ts and consider.ts wrote it, with the same sentences (sentences.ts). Reasons hold names that callers
// and authors of policies choose, so nothing is searched for: each part is expected, to the letter, where it must stand.

import type { Decision } from '../decision/decide.ts';
import * as says from '../decision/sentences.ts';
import type { CompiledPolicy } from '../policy/compiled-policy.ts';
import type { Rule } from '../policy/policy.ts';
import { joinName } from '../text/name.ts';

/** What an audit entry says about a call. */
export interface RecordedCall {
  keyId: string;
  serverName: string;
  toolName: string;
  decision: Decision;
  reason: string;
  policyId: string;
  policyVersion: number;
  ruleIndex: number | null;
  personId: string | null;
}

/**
 * What decided, or stood in the way of the rule that applied. `limit or drift`: a person denied the call, and the reason
 * no longer tells why they were asked. `unmetered`: the limit could not be counted without the arguments. `unread`: the
 * reason cannot be read.
 */
export type Cause =
  | 'scope'
  | 'relayed'
  | 'rule'
  | 'no rule'
  | 'limit'
  | 'drift'
  | 'limit or drift'
  | 'unmetered'
  | 'unread';

export interface Told {
  cause: Cause;
  /** Whether people were asked, or would have been if not too many questions were open; also if a grant freed the call. */
  asked: boolean;
  /** Whether a condition of the recorded rule could not be evaluated; null where the reason does not tell. */
  failed: { condition: number } | 'none' | null;
  /** Whether it was asked about although nobody could answer, because its arguments were not known. */
  unseen: boolean;
  /** Whether it was allowed, but could not be forwarded. */
  noPlace: boolean;
  /** The rest of the reason, in which a rule may be named that was passed over; null where it is not known. */
  rest: string | null;
}

const NOTHING: Told = {
  cause: 'unread',
  asked: false,
  failed: null,
  unseen: false,
  noPlace: false,
  rest: null,
};

/** `recorded` is the policy version that decided the call; null if it cannot be read any more. */
export function readReason(call: RecordedCall, recorded: CompiledPolicy | null): Told {
  const { serverName, toolName, reason, ruleIndex, decision } = call;
  const name = joinName(serverName, toolName);
  if (ruleIndex === null) {
    if (decision === 'deny' && reason === says.outsideScopeText(name)) return { ...NOTHING, cause: 'scope' };
    if (reason.startsWith(says.forwardsText(toolName, serverName))) return { ...NOTHING, cause: 'relayed' };
    const rest = recorded && after(reason, says.noRuleText(recorded.name, name));
    return rest === null ? NOTHING : { ...NOTHING, cause: 'no rule', rest };
  }
  const rule = recorded?.rules[ruleIndex];
  if (recorded === null || rule === undefined) return NOTHING;
  const text = namedOrNot(reason, name => says.ruleText(ruleIndex, name, recorded.name), rule);
  switch (rule.action) {
    case 'allow':
      return readAllow(call, rule, recorded, text + says.allowsText(name), text);
    case 'deny':
      return readDeny(call, rule, text + says.deniesText(name));
    case 'require_approval':
      return readAsk(call, rule, text + says.asksText(name));
  }
}

/** The text with the name of a rule; without it if the reason is from a replica that does not know names yet. */
function namedOrNot(reason: string, text: (name: string | undefined) => string, rule: Rule): string {
  const named = text(rule.name);
  return reason.startsWith(named) ? named : text(undefined);
}

/** What follows a text at the beginning; null if it is not there. */
function after(text: string, beginning: string): string | null {
  return text.startsWith(beginning) ? text.slice(beginning.length) : null;
}

function readDeny({ reason }: RecordedCall, rule: Rule, denies: string): Told {
  const told: Told = { ...NOTHING, cause: 'rule', failed: 'none' };
  const own = rule.reason ? after(reason, rule.reason) : null;
  if (own !== null) return { ...told, rest: own };
  const failed = readFailed(after(reason, denies));
  if (failed !== null)
    return { ...told, failed: { condition: failed.condition }, rest: after(failed.rest, '.') };
  const rest = after(reason, `${denies}.`);
  return rest === null ? NOTHING : { ...told, rest };
}

const FAILED = new RegExp(`^: its ${says.failedText(0).replace('0', '([0-9]+)')}`);

function readFailed(text: string | null): { condition: number; rest: string } | null {
  const found = FAILED.exec(text ?? '');
  if (found === null) return null;
  return { condition: Number(found[1]), rest: (text as string).slice(found[0].length) };
}

function readAllow(
  call: RecordedCall,
  rule: Rule,
  policy: CompiledPolicy,
  allows: string,
  text: string,
): Told {
  const { reason } = call;
  const { limit = '' } = rule;
  const told: Told = { ...NOTHING, failed: 'none' };
  const denied = after(reason, says.DENIED_BY_PERSON);
  if (denied !== null) {
    const mayAsk = policy.limits?.[limit]?.beyond === 'require_approval';
    return { ...told, cause: mayAsk ? 'limit or drift' : 'drift', asked: true, rest: denied };
  }
  const name = joinName(call.serverName, call.toolName);
  if (reason.startsWith(text + says.mayAllowText(name, limit))) return { ...NOTHING, cause: 'unmetered' };
  const plain = after(reason, `${allows}.`);
  if (plain !== null) return { ...told, cause: 'rule', rest: plain };
  const but = after(reason, allows + says.BUT);
  if (but === null) return NOTHING;
  const drifted = after(but, says.DRIFTED);
  if (drifted !== null) return answered(call, { ...told, cause: 'drift' }, drifted);
  if (but.startsWith(says.noSubjectText(limit))) return { ...told, cause: 'limit' };
  const usedUp = after(but, says.usedUpText(limit));
  // The amount, the window and the subject, none of which contains a bracket.
  if (usedUp !== null)
    return answered(call, { ...told, cause: 'limit' }, usedUp.slice(usedUp.indexOf(')') + 1));
  return { ...told, cause: 'rule', noPlace: true };
}

function readAsk(call: RecordedCall, rule: Rule, asks: string): Told {
  const told: Told = { ...NOTHING, cause: 'rule' };
  const denied = after(call.reason, says.DENIED_BY_PERSON);
  if (denied !== null) return { ...told, asked: true, rest: denied };
  const rest = after(call.reason, asks);
  if (rest === null) return NOTHING;
  const { reason: why = '' } = rule;
  const failed = readFailed(rest);
  if (failed !== null)
    return readAnswer(call, { ...told, failed: { condition: failed.condition } }, failed.rest, why);
  const sure: Told = { ...told, failed: 'none' };
  const drifted = after(rest, says.BUT + says.DRIFTED);
  if (drifted !== null) return { ...sure, cause: 'drift', rest: after(drifted, '.') };
  return readAnswer(call, sure, rest, why);
}

/** A call that something stood in the way of: it was denied, or people were asked. */
function answered(call: RecordedCall, told: Told, text: string): Told {
  const asks = after(text, says.SO_IT_ASKS);
  return asks === null ? { ...told, rest: after(text, '.') } : readAnswer(call, told, asks, '');
}

/** What came of the question. What the rule says to approvers follows a question that waits. */
function readAnswer({ decision }: RecordedCall, told: Told, text: string, why: string): Told {
  const asked: Told = { ...told, asked: true };
  const freed = after(text, says.FREED);
  if (freed !== null) {
    // Neither the kind of the freedom nor an id contains a full stop.
    const rest = freed.slice(freed.indexOf('.') + 1);
    return decision === 'deny' ? { ...asked, noPlace: true } : { ...asked, rest };
  }
  if (text.startsWith(says.BUT + says.UNSEEN)) return { ...told, unseen: true };
  if (decision !== 'pending') return asked;
  const waits = after(text, '.') ?? '';
  const said = why === '' ? waits : (after(waits, ` ${why}`) ?? waits);
  return { ...asked, rest: afterUnfreed(said) };
}

/** Skips the sentence about an approval that was named in vain. It contains no other full stop. */
function afterUnfreed(text: string): string {
  const unfreed = after(text, ` ${says.UNFREED}`);
  return unfreed === null ? text : unfreed.slice(unfreed.indexOf('.') + 1);
}

/** Whether people freed a call that is allowed, by an approval or a grant; true if that cannot be told for sure. */
export function wasFreed(call: RecordedCall, recorded: CompiledPolicy | null): boolean {
  // Callers choose the names of tools, so that these words alone tell nothing.
  if (call.decision !== 'allow' || !call.reason.includes(says.FREED)) return false;
  const { cause, asked } = readReason(call, recorded);
  return asked || cause === 'unread';
}

/** Why a rule was passed over. */
export type PassedOver =
  | { why: 'false' | 'failed'; condition: number }
  | { why: 'hours' | 'uncounted'; condition: null };

/**
 * What the rest of a reason says about rules that were passed over, which are some of `candidates` in their order. A
 * reason names one of them at most; in older entries it names the first few.
 */
export function readPassedOver(
  rest: string | null,
  candidates: readonly number[],
  policy: CompiledPolicy,
): Map<number, PassedOver> {
  const found = new Map<number, PassedOver>();
  let left = rest ?? '';
  for (const index of candidates) {
    const rule = policy.rules[index] as Rule;
    const text = namedOrNot(left, name => says.passedOverText(index, name), rule);
    const why = after(left, text);
    if (why === null) continue;
    const read = readWhy(why, rule.limit ?? '');
    if (read === null) break;
    found.set(index, read.passedOver);
    left = read.rest;
  }
  return found;
}

const CONDITION = /^condition ([0-9]+) /;

function readWhy(text: string, limit: string): { passedOver: PassedOver; rest: string } | null {
  const condition = Number(CONDITION.exec(text)?.[1] ?? Number.NaN);
  const ways: [string, PassedOver][] = [
    [says.OUTSIDE_HOURS, { why: 'hours', condition: null }],
    [says.uncountedText(limit), { why: 'uncounted', condition: null }],
    [says.falseText(condition), { why: 'false', condition }],
    [says.failedText(condition), { why: 'failed', condition }],
  ];
  for (const [sentence, passedOver] of ways) {
    const rest = after(text, `${sentence}.`);
    if (rest !== null) return { passedOver, rest };
  }
  return null;
}
