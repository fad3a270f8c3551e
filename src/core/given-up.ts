// What retention may have removed, as signed checkpoints show it. A checkpoint gives up the first entries of the log and
// says by what right: an earlier checkpoint of exactly those was signed a whole retention period before. Whether that
// earlier one belongs to this log is for the verifier to see, which holds it against the tree like any other.

import { durationText } from './approval.ts';
import type { Checkpoint } from './checkpoint.ts';

/** Clocks of replicas may differ by this much. */
export const CLOCKS_MS = 5 * 60_000;
const MOST_REMARKS = 5;

/** The earlier checkpoint that the right to remove entries rests on. */
export function covering(checkpoint: Checkpoint): Checkpoint | null {
  const { origin, pruned: size, givenUp } = checkpoint;
  if (givenUp === null) return null;
  const { root, signedAt: at } = givenUp;
  return { origin, size, root, at, through: 0, pruned: 0, retention: 'unstated', givenUp: null };
}

/** Whether a checkpoint gives up no more than it may, by what it says itself. */
export function keepsRetention({ size, at, pruned, givenUp }: Checkpoint): boolean {
  if (pruned > size) return false;
  return givenUp === null || (givenUp.at <= at && givenUp.signedAt <= givenUp.at - givenUp.retention);
}

export interface Claim {
  /** Entries before this sequence number may be gone, … */
  before: number;
  /** … unless this speaks against it. */
  refusal: string | null;
}

/** What the checkpoints give up. With `atLeast`, only what was kept for that long counts. */
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
  if (!keepsRetention(checkpoint)) return `${which} gives it up before its time.`;
  if (givenUp === null) {
    return atLeast === null ? null : `${which} gives it up, but does not say for how long it was kept.`;
  }
  if (givenUp.at > earliestLater + CLOCKS_MS) {
    return `${which} gives it up, but the clock was ahead: a later checkpoint is of ${iso(earliestLater)}.`;
  }
  return atLeast !== null && givenUp.retention < atLeast
    ? `${which} gives it up after only ${durationText(givenUp.retention)}.`
    : null;
}

/** As they were signed: a log only grows, and gives up ever more. */
function inOrder(checkpoints: readonly Checkpoint[]): Checkpoint[] {
  return checkpoints.toSorted((a, b) => a.size - b.size || a.pruned - b.pruned || a.at - b.at);
}

/** What a reader of the checkpoints should know although it is no contradiction: whole sentences. */
export function remarksOn(checkpoints: readonly Checkpoint[]): string[] {
  const sorted = inOrder(checkpoints);
  return [...some(changesIn(sorted)), ...some(jumpsIn(sorted)), ...keptShorter(sorted), ...unstated(sorted)];
}

function some(remarks: readonly string[]): string[] {
  const more = remarks.length - MOST_REMARKS;
  return more <= 0
    ? [...remarks]
    : [...remarks.slice(0, MOST_REMARKS), `The same happened ${more} more times.`];
}

function changesIn(sorted: readonly Checkpoint[]): string[] {
  const stated = sorted.filter(each => each.retention !== 'unstated');
  return stated.flatMap((each, at) => {
    const before = stated[at - 1];
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

/** A retention that was short for a while and was set back before anybody kept a checkpoint. */
function keptShorter(sorted: readonly Checkpoint[]): string[] {
  const newest = sorted.at(-1);
  if (newest === undefined || newest.givenUp === null) return [];
  const { at, retention } = newest.givenUp;
  if (retention >= lengthOf(newest)) return [];
  const given = `The first ${newest.pruned} entries were given up on ${iso(at)} after ${durationText(retention)}`;
  return [`${given}, which is shorter than the retention of the newest checkpoint (${textOf(newest)}).`];
}

/** Programs before this one gave entries up without a word about time. */
function unstated(sorted: readonly Checkpoint[]): string[] {
  const most = (some: readonly Checkpoint[]) =>
    some.reduce((before, { pruned }) => Math.max(before, pruned), 0);
  const [silent, stated] = [
    sorted.filter(each => each.retention === 'unstated'),
    sorted.filter(each => each.givenUp),
  ];
  const before = most(silent);
  if (before <= most(stated)) return [];
  const who = 'was signed by an older version, which did not state the retention';
  return [`What gave up the first ${before} entries ${who}: nobody can tell how long they were kept.`];
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
