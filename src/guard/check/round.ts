// Decides the calls of one group, one after the other, by the facts that were read for them. It makes the entry of each,
// and collects what is to be done once they are committed. A call whose rule asks for approval may open one.

import type { Considered } from '../../core/decision/consider.ts';
import { type Decided, decide } from '../../core/decision/decide.ts';
import type { WhyNotFreed } from '../../core/decision/reason.ts';
import { GuardError } from '../../core/errors.ts';
import type { Transaction } from '../../store/engine/db.ts';
import type { ExecutionRecord } from '../../store/executions.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import type { RunMark } from '../../store/runs.ts';
import type { RepeatedApproval } from '../../store/usable-approvals.ts';
import { ask, carriersFor } from '../approvals/ask.ts';
import type { Carrier } from '../approvals/channels.ts';
import type { Deps } from '../deps.ts';
import type { AskingCalls } from './asking.ts';
import { type Case, type Group, isCase } from './cases.ts';
import { auditEntry, pendingMessage, verdictOf } from './entry.ts';
import { followRun, type Made } from './follow-run.ts';
import type { Asking } from './freeing.ts';
import { LATER, MOVED, type Outcome } from './group-work.ts';
import { holdDetails } from './hold-details.ts';
import type { Learner } from './learner.ts';
import { type LimitFacts, meteredBy } from './limits.ts';
import { attributesOf, type Verdict, WATCHED, type Watched } from './request.ts';
import type { RunCase } from './run-cases.ts';
import type { Shadows } from './shadow.ts';
import { asTask, concernsTask, followTask, mayResume, NotResumed, waitsAgain } from './task-calls.ts';

/** What the calls of one group share. */
export interface Round {
  deps: Deps;
  tx: Transaction;
  group: Group;
  limits: LimitFacts | null;
  shadows: Shadows;
  /** Null if no call of the group asks for approval. */
  asking: AskingCalls | null;
  /** Each decision adds its entry. */
  entries: AuditEntry[];
  /** The calls of which it is recorded that they are forwarded; null if there are none. */
  executions: ExecutionRecord[] | null;
  /** What is done once the entries are committed. */
  afterCommit: (() => void)[];
  /** What is done after the commit and before a call is answered, by its place in the group. */
  beforeAnswer: Map<number, () => Promise<void>> | null;
  /** Whether something was put into the outbox. */
  hasOpened: boolean;
  learner: Learner;
}

export async function decideCalls(round: Round): Promise<Outcome<Verdict>[]> {
  const { group, limits, shadows, asking } = round;
  const results: Outcome<Verdict>[] = new Array(group.cases.length);
  for (let turn = 0; turn < results.length; turn++) {
    const index = asking === null ? turn : (asking.order[turn] as number);
    const each = group.cases[index] as Group['cases'][number];
    const question = asking !== null && isCase(each) ? asking.questionOf(each) : undefined;
    if (!isCase(each)) results[index] = each;
    else if (each.metered !== null && limits === null) results[index] = MOVED;
    else if (question === null || (each.run !== null && !stillApplies(each, each.run)))
      results[index] = LATER;
    else if (each.request.resumes !== undefined && !(await mayResume(round, each.request.resumes, each)))
      results[index] = new NotResumed();
    else {
      if (each.run !== null) each.shadow = shadowByNow(each, each.run);
      const shadow = shadows.judge(each, question, asking?.approvals ?? null);
      const made =
        asking === null || question === undefined
          ? decideByRule(round, each)
          : await decideAsking(round, asking, each, question);
      note(round, each, made, shadow);
      if (concernsTask(each.request, made)) await followTask(round, each, made);
      if (each.watch !== null) watchResult(each.watch, made);
      if (each.run !== null) noteRun(round, each, each.run, made, index);
      results[index] = made.result;
    }
  }
  // What approvers are shown says which of its values are known.
  if (asking !== null && group.runs !== null) await group.runs.resolve(round.tx);
  return results;
}

/**
 * Whether the rule that was found applies also by the marks that calls before it in this group have given the run. If not,
 * a later group decides the call, which reads what another rule depends on.
 */
function stillApplies({ considered }: Case, run: RunCase): boolean {
  if (run.marks === run.run.marks) return true;
  const { asked } = run.run;
  const again = run.again();
  return run.run.asked === asked && isSameRule(again, considered);
}

/**
 * What the shadow finds by the marks that calls before it in this group have given the run. If another rule of it depends on
 * what was not read, it judges nothing, because no call is put off for a shadow.
 */
function shadowByNow({ key, shadow }: Case, run: RunCase): Considered | null {
  if (run.marks === run.run.marks) return shadow;
  const { asked } = run.run;
  const again = run.shadowAgain();
  if (again === null || run.run.asked !== asked) return null;
  if (shadow !== null && isSameRule(again, shadow)) return shadow;
  return meteredBy(again, key.id) === null ? again : null;
}

function isSameRule(one: Considered, other: Considered): boolean {
  return one.index === other.index && one.failed === other.failed && one.held?.index === other.held?.index;
}

/** Lets the run of a decided call follow it. `index` is the place of the call in its group. */
function noteRun(round: Round, each: Case, run: RunCase, made: Made, index: number): void {
  const { runs } = round.group;
  if (runs === null) return;
  // There are never both: the first is of a call that is allowed, the second of one that waits for people.
  const beforeAnswer = followRun(runs, round.learner, each, run, made) ?? made.beforeAnswer;
  if (!beforeAnswer) return;
  round.beforeAnswer ??= new Map();
  round.beforeAnswer.set(index, beforeAnswer);
}

/** Adds to the entry of a decided call what its shadow says, and counts the call against its limit. */
function note(
  { deps, limits, entries, afterCommit }: Round,
  { request, metered }: Case,
  { entry, result }: Made,
  shadow: AuditEntry['shadow'],
): void {
  if (entry === null) return;
  entry.shadow = shadow;
  entries.push(entry);
  if (request.span?.sampled) afterCommit.push(() => request.span?.set(attributesOf(request, entry)));
  const isSent = 'decision' in result && result.decision === 'allow' && request.call.unsent !== true;
  if (metered !== null && isSent) limits?.count(metered, Math.max(entry.at, deps.now()));
}

/** What a call brings back is looked at by the version of the policy that has just decided it. */
function watchResult(watch: Omit<Watched, 'by'>, { entry, result }: Made): void {
  if (entry === null || !('decision' in result) || result.decision !== 'allow') return;
  const { serverName, toolName, id: toolCallId } = entry;
  result.results = true;
  result[WATCHED] = { ...watch, by: { serverName, toolName, toolCallId } };
}

function isUsedUp({ limits }: Round, { metered }: Case): boolean {
  return metered !== null && limits?.isUsedUp(metered) === true;
}

/** Decides a call whose rule does not ask for approval. */
function decideByRule(round: Round, each: Case): Made {
  const { considered, drift, heldFor } = each;
  const usedUp = isUsedUp(round, each);
  const decided = decide(considered, { drift, heldFor, freedom: null, approvalLimit: null, usedUp });
  const entry = auditEntry(each, decided);
  return { entry, result: verdictOf(entry, decided) };
}

async function decideAsking(round: Round, calls: AskingCalls, each: Case, asking: Asking): Promise<Made> {
  const isHanded = asking.receiver !== null;
  const before = calls.approvals.repeated(asking);
  const { decided, whyNotFreed, spent } = await decideAndSpend(round, calls, each, asking, before);
  const { resumes } = each.request;
  if (decided.decision === 'pending' && resumes !== undefined)
    return { entry: null, result: await waitsAgain(round, resumes) };
  const opens = decided.decision === 'pending' && decided.repeats === null && !isHanded;
  const carriers = opens ? carriersFor(round.deps, each.key, asking.rule) : [];
  if (carriers instanceof GuardError) return { entry: null, result: carriers };
  const entry = auditEntry(each, decided);
  const verdict = verdictOf(entry, decided);
  if (decided.decision === 'deny' && decided.repeats !== null)
    return { entry, result: { ...verdict, ...(before?.note && { note: before.note }) } };
  if (decided.decision !== 'pending' || isHanded)
    return { entry, result: verdict, approved: decided.freedBy?.kind === 'approval', spent };
  const expiresAt = opens
    ? openApproval(round, calls, asking, entry, verdict, { carriers, marks: each.run?.run.shown ?? [] })
    : (before?.expiresAt ?? round.group.now);
  const referenceId = entry.referenceId as string;
  const question = { referenceId, expiresAt };
  return {
    entry,
    result: {
      ...verdict,
      ...waiting(calls, asking, { ...question, whyNotFreed }),
      ...asTask(round, each, before, question),
    },
    beforeAnswer: holdDetails(round, calls, each, asking, question),
  };
}

/** Decides first and then spends the approval that freed the call. If it can no longer be spent, it decides again. */
async function decideAndSpend(
  round: Round,
  { approvals }: AskingCalls,
  each: Case,
  asking: Asking,
  before: RepeatedApproval | null,
): Promise<{ decided: Decided; whyNotFreed: WhyNotFreed | null; spent?: string | undefined }> {
  const { request, considered, drift, heldFor } = each;
  const { tx, group } = round;
  const usedUp = isUsedUp(round, each);
  const handedTo = asking.receiver;
  // The held call of a task asks nobody again, so that no limit on questions is in its way.
  const mayAsk = handedTo === null && request.resumes === undefined;
  const approvalLimit = mayAsk ? approvals.limit(request) : null;
  const repeats = before && { referenceId: before.id, denied: before.status === 'denied' };
  for (;;) {
    const freedom = approvals.freedom(asking);
    const whyNotFreed = freedom === null ? approvals.whyNotFreed(asking) : null;
    const facts = { drift, heldFor, freedom, whyNotFreed, repeats, approvalLimit, usedUp, handedTo };
    const decided = decide(considered, facts);
    const { freedBy } = decided;
    const spends = freedBy !== null && request.call.unsent !== true;
    const spent = spends && approvals.hasTask(freedBy, asking) ? freedBy.referenceId : undefined;
    if (!spends || (await approvals.spend(tx, freedBy, group.now))) return { decided, whyNotFreed, spent };
  }
}

/** Puts the question to people. Returns when it ends if nobody answers. */
function openApproval(
  round: Round,
  { approvals, slice }: AskingCalls,
  asking: Asking,
  entry: AuditEntry,
  { reason }: Verdict,
  { carriers, marks }: { carriers: readonly Carrier[]; marks: readonly RunMark[] },
): number {
  const { deps, tx, group } = round;
  const { request, person } = asking;
  const { args, agent } = request;
  const { subscribers } = approvals;
  const folder = agent?.folder;
  const telling = { reason, args, folder, person, carriers, subscribers, marks, now: group.now };
  const approval = slice.spend(() => ask(deps, tx, entry, asking, telling));
  round.hasOpened = true;
  entry.referenceId = approval.id;
  approvals.opened(approval, asking);
  return approval.expiresAt;
}

/** What a verdict says beside the decision about a call that waits for people. */
function waiting(
  { approvals }: AskingCalls,
  asking: Asking,
  {
    referenceId,
    whyNotFreed,
    expiresAt,
  }: { referenceId: string; whyNotFreed: WhyNotFreed | null; expiresAt: number },
): Partial<Verdict> {
  const { request } = asking;
  const lacking = approvals.lacking(asking);
  const message = pendingMessage(request, whyNotFreed, approvals.noteOf(asking), lacking);
  const until = request.surface === 'check' ? {} : { expiresAt, ...(lacking && { lacking }) };
  return { referenceId, message, ...until };
}
