// How much a verifier keeps and tries, to the place; and what it makes of checkpoints whose sizes and times are not
// in one order.

import { describe, expect, test } from 'bun:test';
import type { Checkpoint } from '../../src/core/log/checkpoint.ts';
import { LogVerifier, type Place } from '../../src/core/log/log-verifier.ts';
import { idAt, NOW } from '../store/stores.ts';
import { checkpointsOf, findings, placeOf, placesOf } from './logs.ts';

const MINUTE = 60_000;
const told = (places: readonly Place[], checkpoints: readonly Checkpoint[]) =>
  findings(places, checkpoints).map(({ kind, seq }) => [kind, seq]);

describe('bounds', () => {
  test('places that changed places are named among 20,000, and not among more', () => {
    const places = placesOf(20_001);
    const [one, other] = places.slice(7, 9) as [Place, Place];
    const exchanged = places.with(7, { ...other, seq: 7 }).with(8, { ...one, seq: 8 });
    const signed = (size: number) => checkpointsOf(places, [size]);
    expect(told(exchanged.slice(0, 20_000), signed(20_000))).toEqual([['reordered', 7]]);
    expect(told(exchanged, signed(20_001))).toEqual([['rewritten', 0]]);
  });

  test('a place that was put in is looked for among 1500, and not among more', () => {
    const places = placesOf(1501);
    const longer = [placeOf(0, { decision: 'deny' }), ...places].map((place, seq) => ({ ...place, seq }));
    expect(told(longer.slice(0, 1501), checkpointsOf(places, [1500]))).toEqual([['inserted', 0]]);
    expect(told(longer, checkpointsOf(places, [1501]))).toEqual([['rewritten', 0]]);
  });

  test('of what was edited, 20,000 are asked whether they stand in another’s place', () => {
    const places = placesOf(20_001);
    const edited = places.map<Place>(place => ({ ...place, entry: {} }));
    const [first, second] = edited as [Place, Place];
    const changed = edited
      .with(0, { ...first, entry: places[19_999]?.entry ?? null })
      .with(1, { ...second, entry: places[20_000]?.entry ?? null });
    expect(told(changed, []).slice(0, 2)).toEqual([
      ['reordered', 0],
      ['edited', 1],
    ]);
  });

  test('a thousand findings are listed', () => {
    const gone = (length: number) => placesOf(length).map(place => ({ ...place, entry: null }));
    expect([999, 1000, 1001].map(length => told(gone(length), []).length)).toEqual([999, 1000, 1000]);
  });
});

describe('times', () => {
  test('an entry is late from five minutes before the time up to which all were sealed', () => {
    const places = placesOf(10);
    const signed = checkpointsOf(places, [10]);
    const late = NOW + 10 - 5 * MINUTE;
    expect(told([...places, placeOf(10, {}, late)], signed)).toEqual([]);
    expect(told([...places, placeOf(10, {}, late - 1)], signed)).toEqual([['inserted', 10]]);
  });

  test('of two checkpoints of one size the later one says up to when all were sealed, in either order', () => {
    const places = placesOf(10);
    const [first] = checkpointsOf(places, [10]) as [Checkpoint];
    const [at, through] = [NOW + 60 * MINUTE, NOW + 60 * MINUTE];
    const both = [first, { ...first, at, through }];
    const late = placeOf(10, {}, NOW + 30 * MINUTE);
    expect(told([...places, late], [first])).toEqual([]);
    for (const signed of [both, both.toReversed()]) {
      expect(told([...places, late], signed)).toEqual([['inserted', 10]]);
    }
    expect(new LogVerifier([first]).isOverdue(idAt(NOW + 30 * MINUTE))).toBe(false);
    expect(new LogVerifier(both).isOverdue(idAt(NOW + 30 * MINUTE))).toBe(true);
  });

  test('checkpoints are met by their sizes, also after a clock went back', () => {
    const places = placesOf(20);
    const signed = checkpointsOf(places, [10, 20]).map(each => ({ ...each, at: NOW - each.size }));
    expect(told(places, signed)).toEqual([]);
    expect(told(places.with(12, placeOf(12, { decision: 'deny' })), signed)).toEqual([['rewritten', 10]]);
  });

  test('what was rewritten is told with its bounds and the time of the signature', () => {
    const places = placesOf(20);
    const signed = checkpointsOf(places, [10, 20]);
    const [found] = findings(places.with(12, placeOf(12, { decision: 'deny' })), signed);
    expect(found?.message).toBe(
      'One of the entries from here to sequence number 19 was changed together with its seal: ' +
        'they are not what was signed on 2030-01-01T00:00:00.020Z.',
    );
  });
});

describe('gaps', () => {
  const places = placesOf(20);
  const signed = checkpointsOf(places, [20]);
  const of = (...order: number[]) => order.map(seq => places[seq] as Place);

  test('a late place fills the gap that it is missing from', () => {
    const order = of(0, 1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 8);
    expect(told(order, signed)).toEqual([
      ['removed', 3],
      ['reordered', 8],
    ]);
  });

  test('the place behind a gap is in none: once more it is there twice', () => {
    const rest = [7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
    expect(told(of(0, 1, 2, 6, 6, ...rest), signed)).toEqual([
      ['removed', 3],
      ['inserted', 6],
    ]);
  });

  test('a place that was put in before its twin is told once, though a checkpoint ends with it', () => {
    const twin = placeOf(9, { decision: 'deny' });
    expect(told([...places.slice(0, 9), twin, ...places.slice(9)], checkpointsOf(places, [10, 20]))).toEqual([
      ['inserted', 9],
    ]);
  });
});

test('checkpoints that come while the log is read are met after some were met already', () => {
  const places = placesOf(20);
  const [five, fifteen, twenty] = checkpointsOf(places, [5, 15, 20]) as [Checkpoint, Checkpoint, Checkpoint];
  const verifier = new LogVerifier([five, twenty]);
  for (const place of places.slice(0, 10)) verifier.take(place);
  verifier.believe([{ ...fifteen, root: twenty.root }]);
  for (const place of places.slice(10)) verifier.take(place);
  expect(verifier.end()).toMatchObject([{ kind: 'rewritten', seq: 5 }]);
});

test('of two claims to the same entries that do not hold, the newer one is told', () => {
  const DAY = 86_400_000;
  const places = placesOf(20);
  const [ten, twenty] = checkpointsOf(places, [10, 20]) as [Checkpoint, Checkpoint];
  const [earlier] = checkpointsOf(places, [5]) as [Checkpoint];
  const early = (each: Checkpoint): Checkpoint => {
    const givenUp = { at: each.at, retention: DAY, root: earlier.root, signedAt: each.at };
    return { ...each, pruned: 5, retention: DAY, givenUp };
  };
  const gone = places.with(4, { ...placeOf(4), entry: null });
  for (const signed of [
    [early(ten), early(twenty)],
    [early(twenty), early(ten)],
  ]) {
    expect(findings(gone, signed)[0]?.message).toContain('The checkpoint of 2030-01-01T00:00:00.020Z ');
  }
});
