// What the person has in front of them of a call, and what an approval therefore has to name: nobody approves by accident
// what they were not shown.

import { beginningOf, type Details } from '../../../../src/core/approvals/details.ts';
import type { Approval, WholeApproval } from '../../resources.ts';

export type Held = Partial<
  Pick<WholeApproval, 'status' | 'details' | 'detailsGone' | 'detailsHidden' | 'detailsInserted'>
>;

/** Where it is shown: lists give the beginning of long values, the approval's own page all that is held. */
export type Place = 'card' | 'page';

export type Sight =
  /** All of it. `seen` stands for it; it is left out where the rule shows nothing. */
  | { kind: 'whole'; seen?: string }
  /** There is more on the approval's own page. */
  | { kind: 'beginning' }
  /** Nobody can see it whole: it is too large, or no longer there. */
  | { kind: 'unseen'; seen: 'incomplete' | 'gone' };

export function sightOf({ details, detailsGone }: Held, place: Place): Sight {
  if (detailsGone === true) return { kind: 'unseen', seen: 'gone' };
  if (details === undefined) return { kind: 'whole' };
  if (place === 'card' && !beginningOf(details).complete) return { kind: 'beginning' };
  return details.complete ? { kind: 'whole', seen: details.digest } : { kind: 'unseen', seen: 'incomplete' };
}

/** The details as they are shown there. */
export function shownOf({ details, detailsInserted: inserted }: Held, place: Place): Details | null {
  if (details === undefined) return null;
  const all: Details = inserted === undefined ? details : { ...details, inserted };
  return place === 'card' ? beginningOf(all) : all;
}

/**
 * Whether an approval has to be read by itself: the list has not all of it. A live event brings no details at all, nor `proof`,
 * which every listed approval has.
 */
export const mustBeRead = ({ details, detailsGone, detailsElsewhere, proof }: Approval): boolean =>
  details?.complete === false || detailsGone === true || detailsElsewhere === true || proof === undefined;
