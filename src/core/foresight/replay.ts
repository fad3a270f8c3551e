// What a draft of a policy would have decided about a call in the audit log. Arguments, time, session and surface of the
// call are not known any more, so the answer may be that it depends on them. Whether it does is found by going through
// every way in which the draft's rules may have come out (possibilities.ts), with what the record proves (recorded.ts);
// what follows from each way is asked of `decide`, as everywhere. Limits are left out. docs/replay.md explains it to people.

import { type Decision, decide, type Facts } from '../decision/decide.ts';
import { type CompiledPolicy, ruleReadsRun } from '../policy/compiled-policy.ts';
import { conditionsOf, marksOf } from '../policy/policy.ts';
import { scopeOfRecollection } from '../policy/situation.ts';
import { joinName } from '../text/name.ts';
import { type Evidence, evidenceOf, type RecordedCall } from './evidence.ts';
import { possibilities } from './possibilities.ts';
import { provenBy, provesNothing, textOf } from './recorded.ts';

export interface About {
  /** The policy version that decided the call; null if it cannot be read any more. */
  recorded: CompiledPolicy | null;
  /** Null if it is not known, because the key was renamed since. */
  keyName: string | null;
}

/** `unasked`: it would be allowed, and nobody asked, although people had to free it. */
export type Outcome = Decision | 'unasked' | 'depends';

export function outcomeOf(draft: CompiledPolicy, call: RecordedCall, about: About): Outcome {
  const { recorded } = about;
  const evidence = evidenceOf(call);
  // No policy allows what is outside a session's scope, and none decides about what the key's setting forwards.
  if (evidence.cause === 'scope' || evidence.cause === 'relayed') return call.decision;
  const sameRun = recorded !== null && runsAlike(draft, recorded);
  if (recorded !== null && sameFor(draft, recorded, call, sameRun)) return call.decision;
  const { serverName, toolName, personId } = call;
  const scope = scopeOfRecollection({
    serverName,
    toolName,
    keyName: about.keyName,
    inPersonsName: personId !== null,
  });
  const proven = recorded === null ? provesNothing() : provenBy(call, recorded, evidence, sameRun);
  const outcomes = new Set<Outcome>();
  for (const found of possibilities(draft, { serverName, toolName }, proven, scope)) {
    const { decision } = decide(found, NO_FACTS);
    const isLimited = draft.rules[found.index]?.limit !== undefined;
    for (const each of compared(decision, isLimited, call, evidence)) outcomes.add(each);
    if (outcomes.size > 1) return 'depends';
  }
  const [outcome = 'depends'] = outcomes;
  return outcome;
}

export const NO_FACTS: Facts = { drift: null, freedom: null, approvalLimit: null, usedUp: false };

/**
 * Whether both policies have the same rules for the tool, apart from amounts of limits and from what people see. Rules that
 * depend on the run are the same only if both policies would have brought the same into it.
 */
function sameFor(
  draft: CompiledPolicy,
  recorded: CompiledPolicy,
  call: RecordedCall,
  sameRun: boolean,
): boolean {
  const name = joinName(call.serverName, call.toolName);
  const before = recorded.index.candidatesFor(name, call.toolName);
  const now = draft.index.candidatesFor(name, call.toolName);
  return (
    before.length === now.length &&
    now.every(
      (index, at) => sameRule(draft, index, recorded, before[at]) && (sameRun || !onRun(draft, index)),
    )
  );
}

function onRun({ compiled }: CompiledPolicy, index: number): boolean {
  const rule = compiled.get(index);
  return rule !== undefined && ruleReadsRun(rule);
}

/**
 * Whether a run would have met the same under both policies. What one call brings into it depends on the rule that decided
 * that call, which any change can make another.
 */
function runsAlike(draft: CompiledPolicy, recorded: CompiledPolicy): boolean {
  if (!draft.usesMarks && !draft.usesKnown) return true;
  return decidingText(draft) === decidingText(recorded);
}

const decidingTexts = new WeakMap<CompiledPolicy, string>();

/** All that decides in a policy, who may approve included, without what people see, hear and are told. */
function decidingText(policy: CompiledPolicy): string {
  let text = decidingTexts.get(policy);
  if (text === undefined) {
    const rules = policy.rules.map(rule => {
      const { tool, action, during, limit, approvers, known } = rule;
      return [tool, action, conditionsOf(rule), during, limit, approvers, marksOf(rule), known];
    });
    text = JSON.stringify([rules, policy.limits ?? {}, ofResults(policy)]);
    decidingTexts.set(policy, text);
  }
  return text;
}

/** What entries of `results` bring into a run: their marks, and, where results are trusted, what is left to be known. */
function ofResults({ rules, results = [] }: CompiledPolicy): unknown[] {
  if (rules.some(rule => rule.known !== undefined)) return results.map(({ reason, ...entry }) => entry);
  const marking = results.filter(entry => entry.marks !== undefined);
  return marking.map(entry => [entry.tool, conditionsOf(entry), marksOf(entry)]);
}

function sameRule(draft: CompiledPolicy, index: number, recorded: CompiledPolicy, other: number | undefined) {
  const [a, b] = [draft.rules[index], recorded.rules[other ?? -1]];
  if (a === undefined || b === undefined || a.action !== b.action) return false;
  if ((a.limit === undefined) !== (b.limit === undefined)) return false;
  const [x, y] = [draft.compiled.get(index), recorded.compiled.get(other ?? -1)];
  return x === undefined || y === undefined ? x === y : textOf(x, a) === textOf(y, b);
}

/**
 * What the call would have come to, if the draft's rules say `decision`. Whatever the record says to have stood in the
 * way of the call, apart from rules, would stand there again; who was asked would answer the same.
 */
function compared(
  decision: Decision,
  isLimited: boolean,
  call: RecordedCall,
  evidence: Evidence,
): readonly Outcome[] {
  const { cause, asked, unseen, noPlace } = evidence;
  const same = call.decision;
  const allowed: Outcome = evidence.freed ? 'unasked' : 'allow';
  if (decision === 'deny') return ['deny'];
  if (cause === 'unread') return [decision === 'allow' ? allowed : decision, same];
  if (cause === 'drift') return [same];
  // A limit comes before what holds the call.
  if (cause === 'limit' && isLimited) return [same];
  if (decision === 'pending') return asked || unseen || cause === 'unmetered' ? [same] : ['pending'];
  if (noPlace) return [same];
  if (cause === 'limit') return [allowed];
  if (cause === 'unmetered') return [isLimited ? same : allowed];
  return unseen && isLimited ? [allowed, same] : [allowed];
}
