// Finds the call that an approval of one call freed, and what became of it. The audit log names the approval in that
// call's entry and has no index for it, but the entry was written in the transaction that spent the approval.

import { joinName } from '../../core/text/name.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import { searchAudit } from '../../store/log/audit-search.ts';
import { findOutcome, type OutcomeRecord } from '../../store/log/outcomes.ts';
import type { Deps } from '../deps.ts';
import { AFTER_EVERY_ID } from '../ids.ts';

interface FreedCall {
  toolCallId: string;
  /** Null if the call was not forwarded, or nothing came back yet. */
  forwarded: OutcomeRecord | null;
}

/** How far the entry's time can be from the time at which the approval was spent. */
const APART_MS = 5000;
const MOST_ENTRIES = 1000;

/** Null if the approval is not spent, or the entry is no longer kept. */
export async function freedCall({ db }: Deps, approval: ApprovalRecord): Promise<FreedCall | null> {
  const { id, keyId, surface, serverName, toolName, spentAt } = approval;
  if (spentAt === null) return null;
  const filter = {
    keyId,
    surface,
    tool: joinName(serverName, toolName),
    decision: 'allow',
    from: spentAt - APART_MS,
    to: spentAt + APART_MS,
  } as const;
  const { entries } = await searchAudit(db, filter, MOST_ENTRIES, AFTER_EVERY_ID);
  const entry = entries.find(each => each.referenceId === id);
  if (entry === undefined) return null;
  return { toolCallId: entry.id, forwarded: await findOutcome(db, entry.id) };
}
