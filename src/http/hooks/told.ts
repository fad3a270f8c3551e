// What a caller is told about a call that may not proceed, in one text, where its protocol has room for no more.

import type { Verdict } from '../../guard/check/request.ts';

export function told({ decision, reason, note, referenceId }: Verdict): string {
  if (decision === 'pending')
    return `${reason} It waits for the approval ${referenceId}. Repeat the call once it is approved.`;
  return note === undefined ? reason : `${reason} It was denied with this note: ${note}`;
}
