// Writes the demo's week with the functions of store/: verdicts, approvals with their answers, and the deliveries to
// webhooks. It writes in pieces, because a transaction has a time limit.

import type { Event, EventType } from '../core/approvals/event.ts';
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
import { ON_CALL, WEBHOOKS } from './scenario.ts';
import { daysBefore, dice, idAt, type Resident, type Week } from './week.ts';

const PIECE = 256;

export async function writeWeek(deps: Deps, week: Week): Promise<void> {
  const inTime = week.entries.sort((a, b) => (a.id < b.id ? -1 : 1));
  await inPieces(deps, inTime, async (tx, entries) => insertAudit(tx, entries));
  await inPieces(deps, week.outcomes, async (tx, outcomes) => insertOutcomes(tx, outcomes));
  await inPieces(deps, week.sessions, async (tx, sessions) => {
    for (const session of sessions) {
      const { hash, prefix } = mintToken('session');
      await insertSession(tx, { ...session, prefix }, hash);
    }
  });
  await inPieces(
    deps,
    week.approvals,
    each((tx, approval) => ask(deps, tx, approval)),
  );
  await inPieces(deps, week.approvals, async (tx, approvals) => {
    for (const approval of approvals) await answer(tx, approval);
  });
  await inPieces(deps, week.approvals.filter(wantsVotes), async (tx, approvals) => {
    for (const approval of approvals) await vote(tx, approval);
  });
  await inPieces(deps, lapsed(week.approvals), async (tx, approvals) => {
    for (const { expiresAt } of approvals) await lapseApprovals(tx, expiresAt, 1);
  });
  await inPieces(deps, week.grants, each(insertGrant));
  await inPieces(deps, week.counts, async (tx, counts) => addCounts(tx, counts));
}

async function inPieces<T>(
  deps: Deps,
  rows: readonly T[],
  write: (tx: Transaction, rows: readonly T[]) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < rows.length; at += PIECE) {
    await deps.db.transaction({}, tx => write(tx, rows.slice(at, at + PIECE)));
  }
}

const each =
  <T>(write: (tx: Transaction, row: T) => void) =>
  async (tx: Transaction, rows: readonly T[]): Promise<void> => {
    for (const row of rows) write(tx, row);
  };

function ask(deps: Deps, tx: Transaction, approval: ApprovalRecord): void {
  const argsDigest = demoDigest(deps, approval.id);
  insertApproval(tx, { ...approval, argsDigest, status: 'pending' }, mintToken('approval').hash);
}

async function answer(tx: Transaction, approval: ApprovalRecord): Promise<void> {
  const { id, status, resolvedAt, resolvedBy, grantExpiresAt, spentAt, note } = approval;
  const tool = joinName(approval.serverName, approval.toolName);
  if (resolvedAt === null || resolvedBy === null || (status !== 'approved' && status !== 'denied')) return;
  await resolveApproval(tx, id, { status, at: resolvedAt, by: resolvedBy, grantExpiresAt, note });
  if (spentAt !== null) await spendApproval(tx, id, spentAt);
  const action = status === 'approved' ? 'approval.approve' : 'approval.deny';
  const ends = grantExpiresAt === null ? null : new Date(grantExpiresAt).toISOString();
  await insertChange(tx, {
    id: idAt(resolvedAt),
    at: resolvedAt,
    actor: resolvedBy,
    action,
    target: id,
    detail: { tool, grantExpiresAt: ends },
  });
}

function wantsVotes({ approverGroup, status }: ApprovalRecord): boolean {
  return approverGroup !== null && status === 'pending';
}

/** The first of the votes that are needed. */
async function vote(tx: Transaction, approval: ApprovalRecord): Promise<void> {
  const { id, serverName, toolName, createdAt, votesNeeded } = approval;
  const operator = await findOperatorCredential(tx, ON_CALL);
  if (operator === null) return;
  const at = createdAt + 20_000;
  const by = `operator:${ON_CALL}`;
  await insertVote(tx, { approvalId: id, operatorId: operator.id, by, at });
  const detail = { tool: joinName(serverName, toolName), approved: 1, needed: votesNeeded };
  await insertChange(tx, { id: idAt(at), at, actor: by, action: 'approval.vote', target: id, detail });
}

/** Sorted by the time at which they timed out, so that each is the next one that the store ends. */
function lapsed(approvals: readonly ApprovalRecord[]): ApprovalRecord[] {
  const found = approvals.filter(approval => approval.status === 'timed_out');
  return found.sort((a, b) => a.expiresAt - b.expiresAt);
}

interface Hook {
  id: string;
  keyId: string | null;
  goneAt: number | null;
  /** From this time on its answers are errors. */
  downFrom: number;
  /** Whether the receiver has answered 410. Only one delivery gets that answer, since it switches the webhook off. */
  saidGone: boolean;
}

interface DemoEvent {
  type: EventType;
  at: number;
  approval: ApprovalRecord;
}

/** How many deliveries fail before a receiver answers 410. */
const LAST_FAILED = 3;

export async function writeHooks(deps: Deps, week: Week, residents: readonly Resident[]): Promise<void> {
  const hooks = await deps.db.transaction({}, tx => addHooks(deps, tx, residents));
  const roll = dice(11);
  const all = events(week.approvals);
  for (const hook of hooks) {
    if (hook.goneAt !== null)
      hook.downFrom = all.filter(event => hears(hook, event)).at(-LAST_FAILED)?.at ?? 0;
  }
  await inPieces(
    deps,
    all,
    each((tx, event) => tell(tx, event, hooks, roll)),
  );
}

function addHooks(deps: Deps, tx: Transaction, residents: readonly Resident[]): Promise<Hook[]> {
  const add = async ({ url, agent, daysAgo, goneDaysAgo }: (typeof WEBHOOKS)[number]): Promise<Hook> => {
    const createdAt = daysBefore(deps.now(), daysAgo);
    const goneAt = goneDaysAgo === null ? null : daysBefore(deps.now(), goneDaysAgo);
    const id = idAt(createdAt);
    const keyId = residents.find(each => each.agent.name === agent)?.keyId ?? null;
    const webhook: WebhookRecord = {
      id,
      url,
      keyId,
      events: agent === null ? ['approval.created', 'approval.resolved'] : ['approval.resolved'],
      secretEncrypted: encryptSecret(deps.vault, id, newWebhookSecret()),
      previousSecretEncrypted: null,
      previousSecretUntil: null,
      createdAt,
      disabledAt: goneAt,
      disabledReason: goneAt === null ? null : 'its receiver answered 410 Gone',
    };
    await insertWebhook(tx, webhook);
    await updateWebhook(tx, webhook);
    return { id, keyId, goneAt, downFrom: Number.POSITIVE_INFINITY, saidGone: false };
  };
  return Promise.all(WEBHOOKS.map(add));
}

/** The events of the approvals, oldest first. */
function events(approvals: readonly ApprovalRecord[]): DemoEvent[] {
  const all: DemoEvent[] = approvals.flatMap(approval => {
    const { createdAt, resolvedAt } = approval;
    const asked = {
      ...approval,
      status: 'pending',
      resolvedAt: null,
      resolvedBy: null,
      grantExpiresAt: null,
    };
    const opened: DemoEvent = { type: 'approval.created', at: createdAt, approval: asked as ApprovalRecord };
    return resolvedAt === null ? [opened] : [opened, { type: 'approval.resolved', at: resolvedAt, approval }];
  });
  return all.sort((a, b) => a.at - b.at);
}

function tell(
  tx: Transaction,
  { type, at, approval }: DemoEvent,
  hooks: readonly Hook[],
  roll: () => number,
): void {
  const eventId = idAt(at);
  const event: Event = { type, timestamp: new Date(at).toISOString(), data: approvalView(approval) };
  insertEvent(tx, { id: eventId, event, createdAt: at });
  for (const hook of hooks) {
    if (!hears(hook, { type, at, approval })) continue;
    const id = idAt(at);
    insertDelivery(tx, { id, eventId, webhookId: hook.id, createdAt: at });
    attempt(tx, id, at, hook, roll);
  }
}

function hears({ keyId, goneAt }: Hook, { type, at, approval }: DemoEvent): boolean {
  if (keyId !== null && (keyId !== approval.keyId || type !== 'approval.resolved')) return false;
  return goneAt === null || at <= goneAt;
}

/**
 * Most deliveries succeed at once, some need a second attempt, and a receiver that will answer 410 fails before that.
 */
function attempt(tx: Transaction, deliveryId: string, at: number, hook: Hook, roll: () => number): void {
  const durationMs = Math.round(35 + 260 * roll() ** 2);
  const made = { deliveryId, durationMs, response: null };
  const delivered = { status: 'delivered', nextAttemptAt: null } as const;
  const luck = roll();
  if (hook.goneAt !== null && at >= hook.downFrom) {
    const waits = { status: 'pending', nextAttemptAt: hook.goneAt } as const;
    recordAttempt(tx, { ...made, id: idAt(at), at, status: 503, error: 'answered 503' }, waits);
    fail(tx, deliveryId, hook, hook.goneAt);
  } else if (luck > 0.06) {
    recordAttempt(tx, { ...made, id: idAt(at), at, status: 200, error: null }, delivered);
  } else {
    const again = at + 1000 + Math.round(400 * roll());
    const waits = { status: 'pending', nextAttemptAt: again } as const;
    recordAttempt(tx, { ...made, id: idAt(at), at, status: 503, error: 'answered 503' }, waits);
    recordAttempt(tx, { ...made, id: idAt(again), at: again, status: 200, error: null }, delivered);
  }
}

function fail(tx: Transaction, deliveryId: string, hook: Hook, at: number): void {
  const answer = hook.saidGone
    ? { status: null, durationMs: 0, error: 'the webhook is switched off' }
    : { status: 410, durationMs: 58, error: 'answered 410' };
  hook.saidGone = true;
  const then = { status: 'failed', nextAttemptAt: null } as const;
  recordAttempt(tx, { id: idAt(at), deliveryId, at, response: null, ...answer }, then);
}
