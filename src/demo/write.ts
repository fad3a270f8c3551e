// Writes the demo's week with the functions of store/: verdicts, approvals with their answers, and the deliveries to
// webhooks. It writes in pieces, because a transaction has a time limit.

import { joinName } from '../core/text/name.ts';
import type { Deps } from '../guard/deps.ts';
import { newWebhookSecret } from '../guard/outgoing/sign.ts';
import { encryptSecret } from '../guard/outgoing/webhooks.ts';
import { mintToken } from '../guard/secrets.ts';
import { approvalView } from '../store/approval-views.ts';
import * as store from '../store/approvals.ts';
import { insertChange } from '../store/changes.ts';
import { insertDelivery, insertEvent, recordAttempt } from '../store/deliveries.ts';
import type { Transaction } from '../store/engine/db.ts';
import { insertGrant } from '../store/grants.ts';
import { addCounts } from '../store/limits.ts';
import { insertAudit } from '../store/log/audit.ts';
import { insertOutcomes } from '../store/log/outcomes.ts';
import { findOperatorCredential } from '../store/operators.ts';
import { insertSession } from '../store/sessions.ts';
import { spendApproval } from '../store/usable-approvals.ts';
import { insertVote } from '../store/votes.ts';
import { insertWebhook, updateWebhook, type WebhookRecord } from '../store/webhooks.ts';
import { demoDigest } from './live.ts';
import { ADMIN, ON_CALL, WEBHOOKS } from './scenario.ts';
import { daysBefore, idAt, type Week } from './week.ts';

const PIECE = 256;

/** Somebody's change, as it is listed; most were made by the admin. */
export function noteChange(
  tx: Transaction,
  action: string,
  target: string,
  at: number,
  detail: Record<string, unknown>,
  actor = `operator:${ADMIN}`,
): Promise<void> {
  return insertChange(tx, { id: idAt(at), at, actor, action, target, detail });
}

export async function writeWeek(deps: Deps, week: Week): Promise<void> {
  const inTime = week.entries.sort((a, b) => (a.id < b.id ? -1 : 1));
  const { approvals } = week;
  // Sorted by the time at which they timed out, each is the next one that the store ends.
  const lapsed = approvals
    .filter(({ status }) => status === 'timed_out')
    .sort((a, b) => a.expiresAt - b.expiresAt);
  await inPieces(deps, inTime, insertAudit);
  await inPieces(deps, week.outcomes, insertOutcomes);
  await each(deps, [...week.sessions.values()], (tx, session) => {
    const { hash, prefix } = mintToken('session');
    return insertSession(tx, { ...session, prefix }, hash);
  });
  await each(deps, approvals, (tx, approval) => {
    const argsDigest = demoDigest(deps, approval.id);
    store.insertApproval(tx, { ...approval, argsDigest, status: 'pending' }, mintToken('approval').hash);
  });
  await each(deps, approvals, answer);
  await each(deps, lapsed, (tx, { expiresAt }) => store.lapseApprovals(tx, expiresAt, 1));
  await each(deps, week.grants, insertGrant);
  await inPieces(deps, [...week.counts.values()], addCounts);
}

async function inPieces<T>(deps: Deps, rows: T[], write: (tx: Transaction, rows: T[]) => unknown) {
  for (let at = 0; at < rows.length; at += PIECE)
    await deps.db.transaction({}, async tx => void (await write(tx, rows.slice(at, at + PIECE))));
}

function each<T>(deps: Deps, rows: T[], write: (tx: Transaction, row: T) => unknown): Promise<void> {
  return inPieces(deps, rows, async (tx, some) => {
    for (const row of some) await write(tx, row);
  });
}

async function answer(tx: Transaction, approval: store.ApprovalRecord): Promise<void> {
  const { id, status, resolvedAt: at, resolvedBy: by, grantExpiresAt, spentAt, note } = approval;
  const tool = joinName(approval.serverName, approval.toolName);
  if (status === 'pending' && approval.approverGroup !== null) return vote(tx, approval, tool);
  if (at === null || by === null || (status !== 'approved' && status !== 'denied')) return;
  await store.resolveApproval(tx, id, { status, at, by, grantExpiresAt, note });
  if (spentAt !== null) await spendApproval(tx, id, spentAt);
  const detail = { tool, grantExpiresAt: grantExpiresAt && new Date(grantExpiresAt).toISOString() };
  await noteChange(tx, status === 'approved' ? 'approval.approve' : 'approval.deny', id, at, detail, by);
}

/** The first of the votes that are needed. */
async function vote(tx: Transaction, approval: store.ApprovalRecord, tool: string): Promise<void> {
  const operator = await findOperatorCredential(tx, ON_CALL);
  if (operator === null) return;
  const { id: approvalId, createdAt, votesNeeded: needed } = approval;
  const [at, by] = [createdAt + 20_000, `operator:${ON_CALL}`];
  await insertVote(tx, { approvalId, operatorId: operator.id, by, at });
  await noteChange(tx, 'approval.vote', approvalId, at, { tool, approved: 1, needed }, by);
}

/** Each webhook hears of every answer, until its receiver is gone. */
export async function writeHooks(deps: Deps, { approvals }: Week): Promise<void> {
  const answered = approvals.flatMap(approval =>
    approval.resolvedAt === null
      ? []
      : [{ id: idAt(approval.resolvedAt), at: approval.resolvedAt, approval }],
  );
  answered.sort((a, b) => a.at - b.at);
  await each(deps, answered, (tx, { id, at, approval }) => {
    const timestamp = new Date(at).toISOString();
    const event = { type: 'approval.resolved', timestamp, data: approvalView(approval) } as const;
    insertEvent(tx, { id, event, createdAt: at });
  });
  for (const hook of WEBHOOKS) {
    const { id: webhookId, disabledAt } = await deps.db.transaction({}, tx => addHook(deps, tx, hook));
    const heard = answered.filter(({ at }) => at <= (disabledAt ?? at));
    await each(deps, heard, (tx, event) => {
      const id = idAt(event.at);
      insertDelivery(tx, { id, eventId: event.id, webhookId, createdAt: event.at });
      attempt(tx, id, event.at, disabledAt !== null && event === heard.at(-1) ? 410 : 200);
    });
  }
}

type Hook = (typeof WEBHOOKS)[number];

async function addHook(
  deps: Deps,
  tx: Transaction,
  { url, daysAgo, goneDaysAgo }: Hook,
): Promise<WebhookRecord> {
  const createdAt = daysBefore(deps.now(), daysAgo);
  const id = idAt(createdAt);
  const webhook: WebhookRecord = {
    ...{ id, url, keyId: null, events: ['approval.resolved'], createdAt },
    secretEncrypted: encryptSecret(deps.vault, id, newWebhookSecret()),
    ...{ previousSecretEncrypted: null, previousSecretUntil: null },
    disabledAt: goneDaysAgo === null ? null : daysBefore(deps.now(), goneDaysAgo),
    disabledReason: goneDaysAgo === null ? null : 'its receiver answered 410 Gone',
  };
  await insertWebhook(tx, webhook);
  await updateWebhook(tx, webhook);
  return webhook;
}

function attempt(tx: Transaction, deliveryId: string, at: number, status: 200 | 410): void {
  const [error, then] = status === 200 ? [null, 'delivered' as const] : ['answered 410', 'failed' as const];
  const made = { id: idAt(at), deliveryId, at, status, error, durationMs: 35 + (at % 200), response: null };
  recordAttempt(tx, made, { status: then, nextAttemptAt: null });
}
