// Reads what every message says about a call.

import type { CallFacts } from '../../core/channels/message.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import type { KeyRecord } from '../../store/keys.ts';
import { findSession } from '../../store/sessions.ts';
import type { Deps } from '../deps.ts';

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
    expiresAt: new Date(approval.expiresAt).toISOString(),
  };
}
