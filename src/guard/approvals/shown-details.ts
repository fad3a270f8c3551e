// What somebody is shown of a waiting call: its details, or why there are none. Only whoever may answer sees them, since
// details are arguments: not a viewer, and where a rule names a group, nobody outside of it.

import type { Details } from '../../core/details.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import type { Deps } from '../deps.ts';
import { type Answerer, mayAnswer } from './approvers.ts';

/** At most one of them. There is none if the rule shows nothing. */
export interface ShownDetails {
  details?: Details;
  /** The approval has ended, or no process holds them any more. */
  detailsGone?: true;
  /** This reader may not see them. */
  detailsHidden?: true;
}

/**
 * `reader` is `link` for somebody who has the link and may answer with it. The approval must have been read just now.
 */
export async function shownDetails(
  deps: Deps,
  approval: ApprovalRecord,
  reader: Answerer | 'link',
): Promise<ShownDetails> {
  if (approval.shows === 0) return {};
  if (reader !== 'link' && !mayAnswer(approval, reader)) return { detailsHidden: true };
  const details = await deps.details.find(approval);
  return details === null ? { detailsGone: true } : { details };
}
