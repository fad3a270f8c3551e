// Writes the demo's week with the functions of store/: verdicts, approvals with their answers, and the deliveries to
// webhooks. It writes in pieces, because a transaction has a time limit.

import { joinName } from '../core/text/name.ts';
import type { Deps } from '../guard/deps.ts';
import { newWebhookSecret } from '../guard/outgoing/sign.ts';
import { encryptSecret } from '../guard/outgoing/webhooks.ts';
import { mintToken } from '../guard/secrets.ts';
import {
  type ApprovalRecord,
  approvalView,
  insertApproval,
  lapseApprovals,
  resolveApproval,
} from '../store/approvals.ts';
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
import { daysBefore, idAt, type Resident, type Week } from './week.ts';

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
    .filter(each => each.status === 'timed_out')
    .sort((a, b) => a.expiresAt - b.expiresAt);
  await inPieces(deps, inTime, async (tx, entries) => insertAudit(tx, entries));
  await inPieces(deps, week.outcomes, async (tx, outcomes) => insertOutcomes(tx, outcomes));
  await each(deps, [...week.sessions.values()], (tx, session) => {
    const { hash, prefix } = mintToken('session');
    return insertSession(tx, { ...session, prefix }, hash);
  });
  await each(deps, approvals, (tx, approval) => {
    const argsDigest = demoDigest(deps, approval.id);
    insertApproval(tx, { ...approval, argsDigest, status: 'pending' }, mintToken('approval').hash);
  });
  await each(deps, approvals, answer);
  await each(deps, lapsed, (tx, { expiresAt }) => lapseApprovals(tx, expiresAt, 1));
  await each(deps, week.grants, insertGrant);
  await inPieces(deps, [...week.counts.values()], async (tx, counts) => addCounts(tx, counts));
}

async function inPieces<T>(
  deps: Deps,
  rows: readonly T[],
  write: (tx: Transaction, rows: readonly T[]) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < rows.length; at += PIECE)
    await deps.db.transaction({}, tx => write(tx, rows.slice(at, at + PIECE)));
}

function each<T>(deps: Deps, rows: readonly T[], write: (tx: Transaction, row: T) => unknown): Promise<void> {
  return inPieces(deps, rows, async (tx, some) => {
    for (const row of some) await write(tx, row);
  });
}

async function answer(tx: Transaction, approval: ApprovalRecord): Promise<void> {
  const { id, status, resolvedAt, resolvedBy, grantExpiresAt, spentAt, note } = approval;
  if (status === 'pending' && approval.approverGroup !== null) return vote(tx, approval);
  if (resolvedAt === null || resolvedBy === null || (status !== 'approved' && status !== 'denied')) return;
  await resolveApproval(tx, id, { status, at: resolvedAt, by: resolvedBy, grantExpiresAt, note });
  if (spentAt !== null) await spendApproval(tx, id, spentAt);
  const ends = grantExpiresAt === null ? null : new Date(grantExpiresAt).toISOString();
  const action = status === 'approved' ? 'approval.approve' : 'approval.deny';
  const detail = { tool: joinName(approval.serverName, approval.toolName), grantExpiresAt: ends };
  await noteChange(tx, action, id, resolvedAt, detail, resolvedBy);
}

/** The first of the votes that are needed. */
async function vote(tx: Transaction, approval: ApprovalRecord): Promise<void> {
  const operator = await findOperatorCredential(tx, ON_CALL);
  if (operator === null) return;
  const [at, by] = [approval.createdAt + 20_000, `operator:${ON_CALL}`];
  await insertVote(tx, { approvalId: approval.id, operatorId: operator.id, by, at });
  const tool = joinName(approval.serverName, approval.toolName);
  await noteChange(
    tx,
    'approval.vote',
    approval.id,
    at,
    { tool, approved: 1, needed: approval.votesNeeded },
    by,
  );
}

export async function writeHooks(deps: Deps, week: Week, residents: readonly Resident[]): Promise<void> {
  const hooks = await deps.db.transaction({}, tx =>
    Promise.all(WEBHOOKS.map(hook => addHook(deps, tx, residents, hook))),
  );
  const answered = week.approvals.filter(({ resolvedAt }) => resolvedAt !== null);
  const hears = ({ keyId, disabledAt }: WebhookRecord, approval: ApprovalRecord) =>
    (keyId ?? approval.keyId) === approval.keyId && (approval.resolvedAt ?? 0) <= (disabledAt ?? Infinity);
  const lastOf = hooks.map(hook => answered.findLast(approval => hears(hook, approval)));
  await each(deps, answered, (tx, approval) => {
    const at = approval.resolvedAt as number;
    const eventId = idAt(at);
    const timestamp = new Date(at).toISOString();
    const event = { type: 'approval.resolved', timestamp, data: approvalView(approval) } as const;
    insertEvent(tx, { id: eventId, event, createdAt: at });
    for (const [index, hook] of hooks.entries()) {
      if (!hears(hook, approval)) continue;
      const id = idAt(at);
      insertDelivery(tx, { id, eventId, webhookId: hook.id, createdAt: at });
      const isGone = hook.disabledAt !== null && lastOf[index] === approval;
      attempt(tx, id, at, isGone ? 410 : 200);
    }
  });
}

async function addHook(
  deps: Deps,
  tx: Transaction,
  residents: readonly Resident[],
  { url, agent, daysAgo, goneDaysAgo }: (typeof WEBHOOKS)[number],
): Promise<WebhookRecord> {
  const createdAt = daysBefore(deps.now(), daysAgo);
  const id = idAt(createdAt);
  const webhook: WebhookRecord = {
    id,
    url,
    keyId: residents.find(each => each.agent.name === agent)?.keyId ?? null,
    events: ['approval.resolved'],
    secretEncrypted: encryptSecret(deps.vault, id, newWebhookSecret()),
    previousSecretEncrypted: null,
    previousSecretUntil: null,
    createdAt,
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
