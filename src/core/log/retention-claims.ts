// Says what retention may have removed, according to signed checkpoints. A checkpoint may give up the first entries of
// the log, that is, declare that retention may remove them. It also states why: an earlier checkpoint of exactly those
// entries was signed a whole retention period before. The verifier (log-verifier.ts) finds out whether that earlier
// checkpoint belongs to this log, as for any other checkpoint.

import { durationText } from '../time/duration.ts';
import type { Checkpoint } from './checkpoint.ts';

/** The clocks of replicas may differ by this much. */
export const CLOCKS_MS = 5 * 60_000;
const MOST_REMARKS = 5;

/** The earlier checkpoint that permits the removal of entries. */
export function covering(checkpoint: Checkpoint): Checkpoint | null {
  const { origin, pruned: size, givenUp } = checkpoint;
  if (givenUp === null) return null;
  const { root, signedAt: at } = givenUp;
  return { origin, size, root, at, through: 0, pruned: 0, retention: 'forever', givenUp: null };
}

/** Whether a checkpoint, by its own statements, gives up no more than it may. */
export function keepsRetention({ size, at, pruned, givenUp }: Checkpoint): boolean {
  if (pruned > size) return false;
  return givenUp === null || (givenUp.at <= at && givenUp.signedAt <= givenUp.at - givenUp.retention);
}

export interface Claim {
  /** Entries before this sequence number may be missing, unless there is a refusal. */
  before: number;
  /** The reason why the claim does not count, or null. */
  refusal: string | null;
}

/** What the checkpoints give up. With `atLeast`, only entries that were kept for that long may be missing. */
export function claimsOf(checkpoints: readonly Checkpoint[], atLeast: number | null): Claim[] {
  const claims: Claim[] = [];
  let earliestLater = Number.POSITIVE_INFINITY;
  for (const checkpoint of inOrder(checkpoints).reverse()) {
    earliestLater = Math.min(earliestLater, checkpoint.at);
    if (checkpoint.pruned === 0) continue;
    const refusal = refusalOf(checkpoint, earliestLater, atLeast);
    claims.push({ before: checkpoint.pruned, refusal });
  }
  return claims;
}

function refusalOf(checkpoint: Checkpoint, earliestLater: number, atLeast: number | null): string | null {
  const { at, givenUp } = checkpoint;
  const which = `The checkpoint of ${iso(at)}`;
  if (givenUp === null || !keepsRetention(checkpoint)) return `${which} gives it up before its time.`;
  if (givenUp.at > earliestLater + CLOCKS_MS) {
    return `${which} gives it up, but the clock was ahead: a later checkpoint is of ${iso(earliestLater)}.`;
  }
  return atLeast !== null && givenUp.retention < atLeast
    ? `${which} gives it up after only ${durationText(givenUp.retention)}.`
    : null;
}

/** Sorts checkpoints in the order of signing: both the size of a log and the number of entries given up only grow. */
function inOrder(checkpoints: readonly Checkpoint[]): Checkpoint[] {
  return checkpoints.toSorted((a, b) => a.size - b.size || a.pruned - b.pruned || a.at - b.at);
}

/** Sentences about the checkpoints that a reader should know although they are not contradictions. */
export function remarksOn(checkpoints: readonly Checkpoint[]): string[] {
  const sorted = inOrder(checkpoints);
  return [...some(changesIn(sorted)), ...some(jumpsIn(sorted)), ...keptShorter(sorted)];
}

function some(remarks: readonly string[]): string[] {
  const more = remarks.length - MOST_REMARKS;
  return more <= 0
    ? [...remarks]
    : [...remarks.slice(0, MOST_REMARKS), `The same happened ${more} more times.`];
}

function changesIn(sorted: readonly Checkpoint[]): string[] {
  return sorted.flatMap((each, at) => {
    const before = sorted[at - 1];
    if (before === undefined || before.retention === each.retention) return [];
    const way = lengthOf(each) < lengthOf(before) ? 'shortened' : 'lengthened';
    const change = `from ${textOf(before)} to ${textOf(each)}`;
    return [`The retention was ${way} ${change}, says the checkpoint of ${iso(each.at)}.`];
  });
}

function jumpsIn(sorted: readonly Checkpoint[]): string[] {
  return sorted.flatMap((each, at) => {
    const before = sorted[at - 1];
    if (before === undefined || each.size === before.size || each.at >= before.at - CLOCKS_MS) return [];
    const sizes = `${before.size} entries were signed on ${iso(before.at)}, ${each.size} entries on ${iso(each.at)}`;
    return [`The clock of the checkpoints went back: ${sizes}.`];
  });
}

/** Reports a retention that was shortened for some time and set back before anybody kept a checkpoint. */
function keptShorter(sorted: readonly Checkpoint[]): string[] {
  const newest = sorted.at(-1);
  if (newest === undefined || newest.givenUp === null) return [];
  const { at, retention } = newest.givenUp;
  if (retention >= lengthOf(newest)) return [];
  const given = `The first ${newest.pruned} entries were given up on ${iso(at)} after ${durationText(retention)}`;
  return [`${given}, which is shorter than the retention of the newest checkpoint (${textOf(newest)}).`];
}

function lengthOf({ retention }: Checkpoint): number {
  return typeof retention === 'number' ? retention : Number.POSITIVE_INFINITY;
}

function textOf({ retention }: Checkpoint): string {
  return typeof retention === 'number' ? durationText(retention) : 'for ever';
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
