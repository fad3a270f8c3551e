// What a caller is told about a call that may not proceed, in one text, where its protocol has room for no more.

import { lackingText } from '../../core/approvals/approval.ts';
import type { Verdict } from '../../guard/check/request.ts';

export function refusalText({ decision, reason, note, referenceId, lacking }: Verdict): string {
  const nobody = lacking === undefined ? '' : ` ${lackingText(lacking)}`;
  if (decision === 'pending')
    return `${reason}${nobody} It waits for the approval ${referenceId}. Repeat the call once it is approved.`;
  return note === undefined ? reason : `${reason} It was denied with this note: ${note}`;
}
