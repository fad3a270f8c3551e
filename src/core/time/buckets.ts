// The statistics are kept in buckets of a minute, an hour and a day (UTC). This file says which buckets make up a
// window, how wide the slices of its graph are, and how exactly latencies are kept.

import { DAY, HOUR, MINUTE } from './duration.ts';

export const SPANS = [MINUTE, HOUR, DAY] as const;
export type Span = (typeof SPANS)[number];

export function floorTo(ms: number, span: number): number {
  return Math.floor(ms / span) * span;
}

export function ceilTo(ms: number, span: number): number {
  return Math.ceil(ms / span) * span;
}

/** A run of whole buckets of one span. */
interface Piece {
  span: Span;
  from: number;
  to: number;
}

/** Cuts a range of whole minutes into runs of the longest buckets that fit, none longer than `longest`. */
export function pieces(from: number, to: number, longest: number): Piece[] {
  const level = SPANS.findLastIndex(span => span <= longest);
  return from < to ? cut(from, to, Math.max(level, 0)) : [];
}

function cut(from: number, to: number, level: number): Piece[] {
  const span = SPANS[level] as Span;
  const start = ceilTo(from, span);
  const end = floorTo(to, span);
  if (level === 0) return start < end ? [{ span, from: start, to: end }] : [];
  if (start >= end) return cut(from, to, level - 1);
  return [...cut(from, start, level - 1), { span, from: start, to: end }, ...cut(end, to, level - 1)];
}

/** How long buckets of each span are kept; buckets of a day are kept forever. `keptSpan` relies on it. */
export const KEPT: Readonly<Partial<Record<Span, number>>> = { [MINUTE]: 3 * DAY, [HOUR]: 100 * DAY };

/** The shortest buckets that are certainly kept of a time so long ago. */
export function keptSpan(age: number): Span {
  if (age <= 2 * DAY) return MINUTE;
  return age <= 93 * DAY ? HOUR : DAY;
}

/** The beginning of a window, rounded down to the start of a bucket that is still kept. */
export function windowStart(now: number, window: number): number {
  return floorTo(now - window, keptSpan(window));
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080].map(each => each * MINUTE);
const MOST_SLICES = 60;

/** The width of a graph's slices: at most 60 of them fill the window. */
export function sliceOf(window: number): number {
  return STEPS.find(step => window / step <= MOST_SLICES) ?? (STEPS.at(-1) as number);
}

/**
 * Rounds a latency to the class that is counted: latencies up to 100 ms stay exact, longer ones are rounded up to two
 * digits.
 */
export function latencyClass(ms: number): number {
  if (ms <= 100) return ms;
  const unit = 10 ** (Math.floor(Math.log10(ms)) - 1);
  return Math.ceil(ms / unit) * unit;
}
