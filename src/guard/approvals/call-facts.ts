// Reads what every message says about a call.

import type { CallFacts, NotificationMessage } from '../../core/channels/message.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import type { KeyRecord } from '../../store/keys.ts';
import { findSession } from '../../store/sessions.ts';
import type { Deps } from '../deps.ts';
import { marksOf } from './context.ts';

export async function callFacts(
  { db }: Deps,
  approval: ApprovalRecord,
  key: KeyRecord | null,
): Promise<CallFacts> {
  const session = approval.sessionId === null ? null : await findSession(db, approval.sessionId);
  return {
    referenceId: approval.id,
    keyName: key?.name ?? '',
    sessionLabel: session?.label ?? null,
    personEmail: approval.personEmail,
    serverName: approval.serverName,
    toolName: approval.toolName,
    reason: approval.reason,
    expiresAt: iso(approval.expiresAt),
  };
}

/** What the run had read when it asked; nothing for a channel that carries no details. */
export function readBefore(
  approval: ApprovalRecord,
  details: boolean,
): Pick<NotificationMessage, 'marks' | 'askedAt'> {
  return {
    marks: details ? marksOf(approval).map(each => ({ ...each, since: iso(each.since) })) : [],
    askedAt: iso(approval.createdAt),
  };
}

const iso = (at: number): string => new Date(at).toISOString();
