// What an audit entry refers to, by name: its key, policy and session, and what became of the question that it opened or
// that permitted it. Every field is null once what it refers to is no longer kept.

import { z } from 'zod';
import { APPROVAL_STATUSES } from '../../core/approvals/approval.ts';
import { findApproval } from '../../store/approvals.ts';
import type { Queries } from '../../store/engine/db.ts';
import { findKey } from '../../store/keys.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import { findPolicy } from '../../store/policies.ts';
import { findSession } from '../../store/sessions.ts';
import { isoOrNull, isoTime } from '../serving/fields.ts';

export const entryContext = z
  .object({
    keyName: z.string().nullable(),
    policyName: z.string().nullable().meta({ description: 'The name that the policy has now.' }),
    policyCurrentVersion: z.int().nullable(),
    sessionLabel: z.string().nullable(),
    approval: z
      .object({
        status: z.enum(APPROVAL_STATUSES),
        decidedBy: z.string().nullable(),
        decidedAt: isoTime.nullable(),
        note: z.string().nullable().meta({ description: 'What the person who answered wrote to the agent.' }),
      })
      .nullable()
      .meta({ description: 'The approval that `referenceId` names: asked for by the call, or spent by it.' }),
  })
  .meta({ description: 'What the ids in the entry stand for.' });

export async function contextOf(db: Queries, entry: AuditEntry): Promise<z.output<typeof entryContext>> {
  const { keyId, policyId, sessionId, referenceId } = entry;
  const [key, policy, session, approval] = await Promise.all([
    findKey(db, keyId),
    findPolicy(db, policyId),
    sessionId === null ? null : findSession(db, sessionId),
    referenceId === null ? null : findApproval(db, referenceId),
  ]);
  return {
    keyName: key?.name ?? null,
    policyName: policy?.name ?? null,
    policyCurrentVersion: policy?.version ?? null,
    sessionLabel: session?.label ?? null,
    approval: approval && {
      status: approval.status,
      decidedBy: approval.resolvedBy,
      decidedAt: isoOrNull(approval.resolvedAt),
      note: approval.note,
    },
  };
}
