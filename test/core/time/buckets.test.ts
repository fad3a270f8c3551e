// Windows cut into buckets: every minute exactly once, in the longest buckets that fit; slices and latencies.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  floorTo,
  KEPT,
  latencyClass,
  pieces,
  SPANS,
  type Span,
  sliceOf,
  windowStart,
} from '../../../src/core/time/buckets.ts';
import { DAY, HOUR, MINUTE } from '../../../src/core/time/duration.ts';

const minutes = fc.integer({ min: 0, max: 30 * 24 * 60 });

test('pieces cover a range without gap or overlap, each of whole buckets', () => {
  fc.assert(
    fc.property(minutes, minutes, fc.constantFrom(...SPANS), (a, length, longest) => {
      const from = a * MINUTE;
      const to = from + length * MINUTE;
      let at = from;
      for (const piece of pieces(from, to, longest)) {
        expect(piece.from).toBe(at);
        expect(piece.from % piece.span).toBe(0);
        expect(piece.to % piece.span).toBe(0);
        expect(piece.to).toBeGreaterThan(piece.from);
        expect(piece.span).toBeLessThanOrEqual(longest);
        at = piece.to;
      }
      expect(at).toBe(to);
      expect(pieces(from, to, longest).length).toBeLessThanOrEqual(5);
    }),
  );
});

test('pieces are of the longest buckets that fit', () => {
  const noon = Date.UTC(2030, 1, 3, 12);
  const cut = (from: number, to: number, longest: number) =>
    pieces(from, to, longest).map(({ span, from, to }) => [span, (to - from) / span]);
  const [from, to] = [noon - 2 * MINUTE, noon + 2 * DAY + HOUR + MINUTE];
  expect(cut(from, to, DAY)).toEqual([
    [MINUTE, 2],
    [HOUR, 12],
    [DAY, 1],
    [HOUR, 13],
    [MINUTE, 1],
  ]);
  expect(cut(from, to, DAY - 1)).toEqual([
    [MINUTE, 2],
    [HOUR, 49],
    [MINUTE, 1],
  ]);
  expect(cut(from, to, 1)).toEqual([[MINUTE, 2 + 49 * 60 + 1]]);
  expect(pieces(to, to, DAY)).toEqual([]);
  expect(pieces(to, from, DAY)).toEqual([]);
});

test('a window has at most 60 slices, which whole buckets fill', () => {
  for (const window of [MINUTE, HOUR, 3 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 90 * DAY, 366 * DAY]) {
    const step = sliceOf(window);
    expect(window / step).toBeLessThanOrEqual(60);
    const now = Date.UTC(2030, 1, 3, 4, 5);
    const cut = pieces(windowStart(now, window), now, step);
    expect(cut.length).toBeGreaterThan(0);
    for (const { span } of cut) expect(step % span).toBe(0);
  }
  expect(sliceOf(DAY)).toBe(30 * MINUTE);
  expect([sliceOf(HOUR), sliceOf(HOUR + 1)]).toEqual([MINUTE, 2 * MINUTE]);
});

test('a window begins no later than asked for, at a bucket that is kept by then', () => {
  const now = Date.UTC(2030, 5, 6, 7, 8, 9);
  const begins: [number, number][] = [
    [DAY, MINUTE],
    [2 * DAY, MINUTE],
    [2 * DAY + 1, HOUR],
    [93 * DAY, HOUR],
    [93 * DAY + 1, DAY],
    [366 * DAY, DAY],
  ];
  for (const [window, span] of begins) {
    expect(windowStart(now, window)).toBe(floorTo(now - window, span));
    expect(now - windowStart(now, window)).toBeLessThan(KEPT[span as Span] ?? Number.POSITIVE_INFINITY);
  }
});

test('latencies are exact up to 100 ms, then rounded up to two digits', () => {
  const wanted: [number, number][] = [
    [0, 0],
    [7, 7],
    [100, 100],
    [101, 110],
    [110, 110],
    [999, 1000],
    [1000, 1000],
    [1001, 1100],
    [2999, 3000],
  ];
  for (const [ms, shown] of wanted) expect(latencyClass(ms)).toBe(shown);
});
