// Asks for an approval: writes the approval, its event and the notifications that carry its link, all in the
// transaction of the audit entry that says `pending`. approvals.ts handles the answers.

import { auditFailed, type GuardError } from '../../core/errors.ts';
import type { Rule } from '../../core/policy/policy.ts';
import { parseDuration } from '../../core/time/duration.ts';
import type { Json } from '../../core/wire/json.ts';
import { type ApprovalRecord, insertApproval } from '../../store/approvals.ts';
import type { Subscriber } from '../../store/deliveries.ts';
import type { Transaction } from '../../store/engine/db.ts';
import type { KeyFacts } from '../../store/keys.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import { insertNotification } from '../../store/notifications.ts';
import type { PersonFacts } from '../../store/people.ts';
import type { RunMark } from '../../store/runs.ts';
import type { Deps } from '../deps.ts';
import { newId } from '../ids.ts';
import { emit } from '../outgoing/outbox.ts';
import { mintToken } from '../secrets.ts';
import { valueDigests } from './bound-grants.ts';
import { type Carrier, carriersOf } from './channels.ts';

/** What an approval is bound to: the arguments, the rule that asks, and the tool as it was when it was asked for. */
export interface Binding {
  argsDigest: string;
  /** Null where the service does not run the call itself. */
  definitionDigest: string | null;
  ruleDigest: string;
}

/** A call whose rule asks for approval. */
export interface Asked extends Binding {
  rule: Rule;
}

/** The ways in which people learn of the question. If the key's setting cannot be decrypted, only its own calls fail. */
export function carriersFor(deps: Deps, key: KeyFacts, rule: Rule): readonly Carrier[] | GuardError {
  try {
    return carriersOf(deps, key, rule);
  } catch (error) {
    return auditFailed(new Error(`the setting "notify" of key ${key.id} cannot be read`, { cause: error }));
  }
}

/** Returns the approval that it has opened. */
export function ask(
  deps: Deps,
  tx: Transaction,
  entry: AuditEntry,
  { rule, argsDigest, definitionDigest, ruleDigest }: Asked,
  {
    reason,
    args,
    folder = null,
    person,
    carriers,
    subscribers,
    marks,
    now,
  }: {
    /** For people. */
    reason: string;
    args: Json | undefined;
    /** The folder in which a coding agent works. */
    folder?: string | null | undefined;
    /** The person for whom the session acts; null if it acts for nobody. */
    person: PersonFacts | null;
    carriers: readonly Carrier[];
    subscribers: readonly Subscriber[];
    /** The marks of the run. */
    marks: readonly RunMark[];
    now: number;
  },
): ApprovalRecord {
  const id = newId();
  const { group: approverGroup = null, count: votesNeeded = 1, proof = null } = rule.approvers ?? {};
  const approval: ApprovalRecord = {
    id,
    toolCallId: entry.id,
    keyId: entry.keyId,
    sessionId: entry.sessionId,
    policyId: entry.policyId,
    surface: entry.surface,
    serverName: entry.serverName,
    toolName: entry.toolName,
    argsDigest,
    definitionDigest,
    ruleDigest,
    reason,
    status: 'pending',
    createdAt: now,
    expiresAt: now + (parseDuration(rule.timeout ?? '') ?? deps.settings.approvalTimeout),
    resolvedAt: null,
    resolvedBy: null,
    grantExpiresAt: null,
    spentAt: null,
    withdrawnAt: null,
    note: null,
    shows: rule.show !== undefined || rule.ask !== undefined ? 1 : 0,
    personId: person?.id ?? null,
    personEmail: person?.email ?? null,
    proof,
    approverGroup,
    votesNeeded,
    // The digests serve bound grants. An approval by several votes, or with proof, opens no grant.
    valueDigests: votesNeeded > 1 || proof !== null ? null : valueDigests(deps.vault, id, args, folder),
    runId: entry.runId,
    runMarks: marks.length === 0 ? null : JSON.stringify(marks),
  };
  const { token, hash } = mintToken('approval');
  insertApproval(tx, approval, hash);
  emit(tx, subscribers, 'approval.created', approval, now);
  for (const { channel, name, afterMs } of carriers) {
    // A message that would go out after the question has ended is not made.
    if (now + afterMs >= approval.expiresAt) continue;
    const notificationId = newId();
    const tokenEncrypted = deps.vault.encrypt(token, `notification ${notificationId}`);
    insertNotification(tx, {
      id: notificationId,
      approvalId: approval.id,
      keyId: approval.keyId,
      channel,
      channelName: name,
      tokenEncrypted,
      createdAt: now,
      dueAt: now + afterMs,
    });
  }
  return approval;
}
