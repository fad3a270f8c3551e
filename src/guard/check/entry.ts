// What a decision becomes: its audit entry, the verdict that the caller gets, and what a caller is told while its call
// waits.

import { type Lacking, lackingText } from '../../core/approvals/approval.ts';
import type { Decided } from '../../core/decision/decide.ts';
import type { WhyNotFreed } from '../../core/decision/reason.ts';
import { notFreedText, reasonText } from '../../core/decision/reason-text.ts';
import { recordedReason } from '../../core/decision/recorded-reason.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import { newId, timeOfId } from '../ids.ts';
import type { Case } from './cases.ts';
import type { CheckRequest, Verdict } from './request.ts';

const PENDING_MESSAGE =
  'This is not the final outcome: nothing was run, a human has to approve the call, and the outcome arrives ' +
  'by the approval.resolved webhook with this referenceId.';
/** A client of `/mcp` gets no webhook. It makes the same call again, as agents do whose hooks ask. */
const REPEAT_MESSAGE =
  'This is not the final outcome: nothing was run, and a human has to approve the call. Repeat the call once it is approved.';

/**
 * A pending result on `/mcp` shows no reason, so the message says why the named approval frees nothing. `note` is what
 * the person wrote who denied it.
 */
export function pendingMessage(
  { surface }: CheckRequest,
  whyNotFreed: WhyNotFreed | null,
  note: string | null,
  lacking: Lacking | null,
): string {
  const why = surface === 'mcp' && whyNotFreed !== null ? ` ${notFreedText(whyNotFreed)}` : '';
  const nobody = lacking === null ? '' : ` ${lackingText(lacking)}`;
  const waits = surface === 'mcp' ? REPEAT_MESSAGE : PENDING_MESSAGE;
  return `${waits}${nobody}${why}${note === null ? '' : ` It was denied with this note: ${note}`}`;
}

/** The entry has the reason as it is stored; the caller gets a sentence. */
export function verdictOf(entry: AuditEntry, decided: Decided): Verdict {
  const { decision, policyId, id: toolCallId, latencyMs } = entry;
  const reason = reasonText(decided.reason, entry);
  const verdict: Verdict = { decision, reason, policyId, toolCallId, latencyMs };
  if ('noPlace' in decided.reason && decided.reason.noPlace !== undefined) verdict.unplaced = true;
  return verdict;
}

export function auditEntry(each: Case, decided: Decided): AuditEntry {
  const { request, person, considered, run } = each;
  const { policy } = considered;
  const { principal, call, surface, startedAt, span } = request;
  const id = newId();
  const marks = run === null ? NO_MARKS : run.run.marks;
  return {
    id,
    at: timeOfId(id),
    keyId: principal.keyId,
    sessionId: principal.sessionId,
    personId: person?.id ?? null,
    surface,
    serverName: call.serverName,
    toolName: call.toolName,
    decision: decided.decision,
    reason: recordedReason(decided.reason, marks),
    policyId: policy.id,
    policyVersion: policy.version,
    ruleIndex: decided.ruleIndex,
    referenceId: (decided.freedBy ?? decided.repeats)?.referenceId ?? null,
    latencyMs: Math.round(performance.now() - startedAt),
    shadow: null,
    traceId: span?.traceId ?? null,
    runId: run === null ? null : run.run.found.id,
    marks: marks.length === 0 ? null : marks.join(' '),
  };
}

const NO_MARKS: readonly string[] = [];
