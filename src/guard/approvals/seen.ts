// Nobody approves by accident what they were not shown. Whoever approves a call has been given at least the beginning of its
// details, as lists give it. Where that was not everything, or where the details are gone, the answer has to name what
// was seen: the digest of the whole details, or the word for what is missing. A denial needs none of this.

import { beginningOf, SEEN_GONE, SEEN_INCOMPLETE } from '../../core/approvals/details.ts';
import { GuardError } from '../../core/errors.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import type { Deps } from '../deps.ts';
import { detailsDigest } from './shown-details.ts';

/** What came with an answer. */
export interface Seen {
  /** A digest, or one of the words that stand for none. */
  seen?: string | undefined;
  /** Whether the answer came from where not even the beginning was shown. */
  unshown?: boolean;
}

/** Why an approval cannot be given so; null if it can. */
export async function seenFault(
  deps: Deps,
  approval: ApprovalRecord,
  { seen, unshown = false }: Seen,
): Promise<GuardError | null> {
  if (approval.shows === 0) return null;
  const details = await deps.details.find(approval);
  const digest = detailsDigest(deps, approval, true);
  if (details === null) {
    // Somebody who read them before they were gone can still say so.
    return seen === SEEN_GONE || seen === digest ? null : notSeen(GONE);
  }
  if (!details.complete) return seen === SEEN_INCOMPLETE ? null : notSeen(INCOMPLETE);
  if (seen === undefined) return !unshown && beginningOf(details).complete ? null : notSeen(UNREAD);
  return seen === digest ? null : notSeen(OTHERS);
}

const UNREAD =
  'There is more to see of this call than lists and messages show. Open its page and look at all of it, then approve it there. (By the API: read the approval, and send the digest of its details as `seen`.)';
const OTHERS =
  'What was seen is not what this call would do. Open its page and look at it again, then approve it there. (By the API: read the approval, and send the digest of its details as `seen`.)';
const INCOMPLETE =
  'This call is too large to be shown completely. Open its page, and approve it there if you have to. (By the API: send `incomplete` as `seen`.)';
const GONE =
  'What this call would do can no longer be shown. Deny it and let the agent ask again, or open its page if you have to approve it. (By the API: send `gone` as `seen`.)';

function notSeen(message: string): GuardError {
  return new GuardError('not_seen', message);
}
