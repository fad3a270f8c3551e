// Holds what approvers see of a call that waits for them, once its approval is committed. If its policy asks which values are
// known, this says of each value that is shown whether it is, as of the moment of the question.

import { type Details, detailsOf, type IsKnown } from '../../core/approvals/details.ts';
import { knownValue } from '../../core/approvals/known-value.ts';
import type { Deps } from '../deps.ts';
import { type AskingCalls, hasLarge } from './asking.ts';
import type { Case, Group } from './cases.ts';
import type { Asking } from './freeing.ts';
import type { Run } from './run.ts';

/** Of a call with more values than this, nobody looks up the further ones: they count as not known. */
const MOST_LOOKED_UP = 2048;

/** What the calls of one group share. */
interface Holding {
  deps: Deps;
  group: Group;
  /** What is done once the entries are committed. */
  afterCommit: (() => void)[];
}

/**
 * Details of large arguments take up to about 100 ms, and are made once the locks are released. If something has to be read
 * for them then, this returns what does so before the call is answered.
 */
export function holdDetails(
  { deps, afterCommit, group }: Holding,
  { slice }: AskingCalls,
  { considered, run: found }: Case,
  { rule, request }: Asking,
  { referenceId, expiresAt }: { referenceId: string; expiresAt: number },
): (() => Promise<void>) | null {
  if (rule.show === undefined && rule.ask === undefined) return null;
  const run = considered.policy.usesKnown && found !== null ? found.run : null;
  const make = () =>
    detailsOf(rule, request.args, request.agent?.folder, run === null ? undefined : knownIn(run));
  const hold = (details: Details | null) => {
    if (details !== null) deps.details.hold(referenceId, details, expiresAt);
  };
  const isLarge = hasLarge(request);
  if (isLarge && run !== null)
    return async () => {
      const unread = make();
      // Where it cannot be read, nothing is said of the values.
      await group.runs?.resolve(deps.db).then(
        () => hold(make()),
        () => hold(unread),
      );
    };
  // With a run, this asks for what the group then reads for all its calls at once.
  const made = isLarge ? undefined : slice.spend(make);
  afterCommit.push(() => hold(made === undefined || run !== null ? make() : made));
  return null;
}

function knownIn(run: Run): IsKnown {
  const room = { left: MOST_LOOKED_UP };
  return value => knownValue(value, run.knows, room);
}
