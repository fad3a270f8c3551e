// What somebody is shown of a waiting call: its details, or why there are none. Only whoever may answer sees them, since
// details are arguments: not a viewer, and where a rule names a group, nobody outside of it.

import type { Details } from '../../core/approvals/details.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import type { Deps } from '../deps.ts';
import { type Answerer, mayAnswer } from './approvers.ts';

/** Details with the digest that stands for the whole of them, also where they are not given whole. */
export interface GivenDetails extends Details {
  digest: string;
}

/** At most one of them. There is none if the rule shows nothing. */
export interface ShownDetails {
  details?: GivenDetails;
  /** The approval has ended, or no process holds them any more. */
  detailsGone?: true;
  /** This reader may not see them. */
  detailsHidden?: true;
  /** Only in lists: this process does not hold them. Whoever reads the approval itself is told whether another does. */
  detailsElsewhere?: true;
}

/**
 * All that is held. `reader` is `link` for somebody who has the link and may answer with it. The approval must have been
 * read just now.
 */
export async function shownDetails(
  deps: Deps,
  approval: ApprovalRecord,
  reader: Answerer | 'link',
): Promise<ShownDetails> {
  const none = withoutDetails(approval, reader);
  if (none !== null) return none;
  const details = await deps.details.find(approval);
  if (details === null) return { detailsGone: true };
  return { details: { ...details, digest: detailsDigest(deps, approval, details.complete) } };
}

/** The beginning, for lists. */
export function listedDetails(deps: Deps, approval: ApprovalRecord, reader: Answerer): ShownDetails {
  const none = withoutDetails(approval, reader);
  if (none !== null) return none;
  const found = deps.details.beginning(approval);
  if (found === null) return { detailsGone: true };
  if (found === 'elsewhere') return { detailsElsewhere: true };
  return {
    details: { ...found.details, digest: detailsDigest(deps, approval, found.wholeIsComplete) },
  };
}

function withoutDetails(approval: ApprovalRecord, reader: Answerer | 'link'): ShownDetails | null {
  if (approval.shows === 0) return {};
  if (reader !== 'link' && !mayAnswer(approval, reader)) return { detailsHidden: true };
  return null;
}

/**
 * Details follow from the call and the rule, which are bound to the approval by digests. So every replica knows this one,
 * also when nobody holds the details any more, and nothing more about the call is stored for it.
 */
export function detailsDigest(
  { vault }: Pick<Deps, 'vault'>,
  { id, argsDigest, ruleDigest }: ApprovalRecord,
  complete: boolean,
): string {
  return vault.detailsDigest([id, argsDigest, ruleDigest ?? '', complete ? 'complete' : 'incomplete']);
}
