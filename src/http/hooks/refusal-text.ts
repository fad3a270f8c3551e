// The reason why a call may not proceed, with all that the caller needs to know, as one text for protocols that have no
// other field.

import { lackingText } from '../../core/approvals/approval.ts';
import type { Verdict } from '../../guard/check/request.ts';

export function refusalText({ decision, reason, note, referenceId, lacking }: Verdict): string {
  const nobody = lacking === undefined ? '' : ` ${lackingText(lacking)}`;
  if (decision === 'pending')
    return `${reason}${nobody} It waits for the approval ${referenceId}. Repeat the call once it is approved.`;
  return note === undefined ? reason : `${reason} It was denied with this note: ${note}`;
}
