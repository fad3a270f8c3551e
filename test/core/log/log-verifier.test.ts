// Any one thing done to any log of any size, under any checkpoints, is found at its place; and a log that nobody
// touched never is.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Checkpoint } from '../../../src/core/log/checkpoint.ts';
import { LogVerifier, type Place } from '../../../src/core/log/log-verifier.ts';
import { idAt, NOW } from '../../store/stores.ts';
import { checkpointsOf, findings, placeOf } from '../logs.ts';

/** A log, the sizes that were signed (its whole size too), and a place in it. */
const logs = fc.integer({ min: 1, max: 80 }).chain(size =>
  fc.record({
    places: fc.constant(Array.from({ length: size }, (_, seq) => placeOf(seq))),
    sizes: fc.uniqueArray(fc.integer({ min: 0, max: size })).map(some => [...new Set([...some, size])]),
    at: fc.integer({ min: 0, max: size - 1 }),
  }),
);

/** Where the stretch between two checkpoints begins that holds a place. */
const stretchOf = (sizes: readonly number[], at: number) => Math.max(0, ...sizes.filter(size => size <= at));

test('a log that nobody touched is as it was signed, with or without more behind', () => {
  fc.assert(
    fc.property(logs, fc.nat(5), ({ places, sizes }, more) => {
      const longer = Array.from({ length: more }, (_, n) => placeOf(places.length + n));
      expect(findings([...places, ...longer], checkpointsOf(places, sizes))).toEqual([]);
    }),
  );
});

test('an edited, removed or cut place is named', () => {
  fc.assert(
    fc.property(logs, ({ places, sizes, at }) => {
      const signed = checkpointsOf(places, sizes);
      const place = places[at] as Place;
      const told = (changed: readonly Place[]) =>
        findings(changed, signed).map(({ kind, seq }) => [kind, seq]);
      expect(told(places.with(at, { ...place, entry: { ...place.entry, decision: 'deny' } }))).toEqual([
        ['edited', at],
      ]);
      expect(told(places.with(at, { ...place, entry: null }))).toEqual([['removed', at]]);
      expect(told(places.slice(0, at))).toEqual([['truncated', at]]);
      const last = at === places.length - 1;
      expect(told(places.toSpliced(at, 1))).toEqual([[last ? 'truncated' : 'removed', at]]);
    }),
  );
});

test('an entry changed with its seal is known to lie between two checkpoints', () => {
  fc.assert(
    fc.property(logs, ({ places, sizes, at }) => {
      const changed = places.with(at, placeOf(at, { decision: 'deny' }));
      const found = findings(changed, checkpointsOf(places, sizes));
      expect(found.map(({ kind, seq }) => [kind, seq])).toEqual([['rewritten', stretchOf(sizes, at)]]);
    }),
  );
});

test('an entry put in with its seal, and entries that changed places, are named', () => {
  fc.assert(
    fc.property(logs, ({ places, sizes, at }) => {
      const signed = checkpointsOf(places, sizes);
      const foreign = { ...placeOf(at, { decision: 'deny' }), seq: at };
      const moved = places.slice(at).map(place => ({ ...place, seq: place.seq + 1 }));
      expect(findings([...places.slice(0, at), foreign, ...moved], signed)).toMatchObject([
        { kind: 'inserted', seq: at },
      ]);
      const [one, other] = [places[at], places[at + 1]];
      if (one === undefined || other === undefined) return;
      const exchanged = places.with(at, { ...other, seq: at }).with(at + 1, { ...one, seq: at + 1 });
      const [found] = findings(exchanged, signed);
      // Across a checkpoint, the one that came too early was not there when it was signed.
      expect(found).toMatchObject({ kind: sizes.includes(at + 1) ? 'inserted' : 'reordered', seq: at });
    }),
  );
});

test('an entry with an old time, sealed when its time was over, was put in', () => {
  const places = Array.from({ length: 10 }, (_, seq) => placeOf(seq, {}, NOW + seq * 600_000));
  const signed = checkpointsOf(places, [10]).map(each => ({ ...each, through: NOW + 9 * 600_000 }));
  const late = placeOf(10, {}, NOW + 5 * 600_000);
  expect(findings([...places, late], signed)).toMatchObject([{ kind: 'inserted', seq: 10 }]);
  const inTime = placeOf(10, {}, NOW + 9 * 600_000 - 1000);
  expect(findings([...places, inTime], signed)).toEqual([]);
});

test('what a checkpoint gave up may be gone, its seal may not', () => {
  const places = Array.from({ length: 20 }, (_, seq) => placeOf(seq));
  const [first] = checkpointsOf(places, [5]) as [Checkpoint];
  const givenUp = { at: first.at, retention: 0, root: first.root, signedAt: first.at };
  const signed = checkpointsOf(places, [10, 20]).map(each => ({ ...each, pruned: 5, givenUp }));
  const pruned = places.map(place => (place.seq < 5 ? { ...place, entry: null } : place));
  expect(findings(pruned, signed)).toEqual([]);
  expect(findings(pruned.with(5, { ...placeOf(5), entry: null }), signed)).toMatchObject([
    { kind: 'removed', seq: 5 },
  ]);
  const spoilt = pruned.with(2, { ...(pruned[2] as Place), leafHash: placeOf(3).leafHash });
  expect(findings(spoilt, signed)).toMatchObject([{ kind: 'rewritten', seq: 0 }]);
});

describe('places that stand elsewhere than in their order', () => {
  const places = Array.from({ length: 20 }, (_, seq) => placeOf(seq));
  const signed = checkpointsOf(places, [20]);
  const of = (...order: number[]) => order.map(seq => places[seq] as Place);
  const upTo = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
  const told = (order: readonly Place[]) => findings(order, signed).map(({ kind, seq }) => [kind, seq]);

  test('a place that comes later than it should was moved, each of several', () => {
    for (const late of [[3], [4], [5], [3, 4], [4, 3], [3, 5], [5, 4, 3], [3, 4, 5]]) {
      const rest = [3, 4, 5].filter(seq => !late.includes(seq));
      expect(told(of(...upTo(0, 3), ...rest, ...upTo(6, 20), ...late))).toEqual(
        late.toSorted((a, b) => a - b).map(seq => ['reordered', seq]),
      );
    }
    const [moved] = findings(of(...upTo(0, 3), ...upTo(4, 20), 3), signed);
    expect(moved?.message).toBe('It stands after place 19.');
    expect(moved?.entryId).toBe(places[3]!.entryId);
  });

  test('a place that is there twice was put in, and those that never come are gone', () => {
    expect(told(of(...upTo(0, 20), 7))).toEqual([['inserted', 7]]);
    expect(told(of(...upTo(0, 10), 9, ...upTo(10, 20)))).toEqual([['inserted', 9]]);
    const gone = findings(of(...upTo(0, 3), ...upTo(6, 10), 4, ...upTo(12, 20)), signed);
    expect(gone.map(({ kind, seq, message }) => [kind, seq, message])).toEqual([
      ['removed', 3, 'This place is gone from the sealed log.'],
      ['reordered', 4, 'It stands after place 9.'],
      ['removed', 5, 'This place is gone from the sealed log.'],
      ['removed', 10, 'The places up to 11 are gone from the sealed log.'],
    ]);
  });

  test('entries that stand in each other’s places were exchanged, one that stands for none was edited', () => {
    const [three, nine] = [places[3]!, places[9]!];
    const exchanged = places
      .with(3, { ...three, entry: nine.entry })
      .with(9, { ...nine, entry: three.entry });
    expect(findings(exchanged, signed).map(({ kind, seq, message }) => [kind, seq, message])).toEqual([
      ['reordered', 3, 'The entry was sealed in place 9.'],
      ['reordered', 9, 'The entry was sealed in place 3.'],
    ]);
    // The copy stands for one that is in its own place.
    expect(told(places.with(3, { ...three, entry: nine.entry }))).toEqual([['edited', 3]]);
  });

  test('whether places are missing is known', () => {
    const gaps = (order: readonly Place[]) => {
      const verifier = new LogVerifier(signed);
      for (const place of order) verifier.take(place);
      return [verifier.hasGaps, verifier.size];
    };
    expect(gaps(places)).toEqual([false, 20]);
    expect(gaps(of(...upTo(0, 19)))).toEqual([true, 19]);
    expect(gaps(of(...upTo(1, 20)))).toEqual([true, 20]);
    expect(gaps(of(...upTo(1, 20), 0))).toEqual([false, 20]);
  });

  test('what is gone from the end is counted, and its time told', () => {
    expect(findings(of(...upTo(0, 17)), checkpointsOf(places, [20, 10]))).toMatchObject([
      {
        kind: 'truncated',
        seq: 17,
        message: expect.stringMatching(/^3 of 20 entries are gone from the end: .*020Z\.$/),
      },
    ]);
  });
});

test('an entry without a place waits for its seal, or is overdue by what was sealed before', () => {
  const places = Array.from({ length: 4 }, (_, seq) => placeOf(seq));
  const verifier = new LogVerifier(checkpointsOf(places, [4]));
  const through = NOW + 4;
  const late = through - 5 * 60_000;
  expect(verifier.isOverdue(idAt(late, 9))).toBe(false);
  expect(verifier.isOverdue(idAt(late - 1, 9))).toBe(true);
  for (const place of places) verifier.take(place);
  expect([late, late - 1].map(at => verifier.isOverdue(idAt(at, 9)))).toEqual([false, true]);
  expect(verifier.isOverdue('no id of ours')).toBe(false);
});

test('checkpoints that are signed while the log is read count from where they stand', () => {
  const places = Array.from({ length: 20 }, (_, seq) => placeOf(seq));
  const [ten, fifteen, twenty] = checkpointsOf(places, [10, 15, 20]) as [Checkpoint, Checkpoint, Checkpoint];
  const read = (more: Checkpoint[]) => {
    const verifier = new LogVerifier([twenty]);
    for (const place of places.slice(0, 10)) verifier.take(place);
    verifier.believe(more);
    for (const place of places.slice(10)) verifier.take(place);
    return verifier.end().map(({ kind, seq }) => [kind, seq]);
  };
  expect(read([])).toEqual([]);
  expect(read([ten])).toEqual([]);
  expect(read([fifteen])).toEqual([]);
  expect(read([fifteen, ten])).toEqual([]);
  // What was passed already is not looked at again.
  expect(read([checkpointsOf(places, [9])[0]!])).toEqual([]);
  expect(read([{ ...ten, root: twenty.root }])).toEqual([['rewritten', 0]]);
  expect(read([ten, { ...fifteen, root: twenty.root }])).toEqual([['rewritten', 10]]);
});

test('an entry that is gone by a claim which does not hold is told with the reason, those beyond it without', () => {
  const DAY = 86_400_000;
  const places = Array.from({ length: 20 }, (_, seq) => placeOf(seq));
  const [signed] = checkpointsOf(places, [20]) as [Checkpoint];
  const [earlier] = checkpointsOf(places, [5]) as [Checkpoint];
  const givenUp = { at: signed.at, retention: DAY, root: earlier.root, signedAt: signed.at - DAY + 1 };
  const early: Checkpoint = { ...signed, pruned: 5, retention: DAY, givenUp };
  const gone = places.map(place => (place.seq === 4 || place.seq === 5 ? { ...place, entry: null } : place));
  expect(findings(gone, [early]).map(({ seq, message }) => [seq, message])).toEqual([
    [
      4,
      expect.stringMatching(/^Its seal is there, the entry is not\. The checkpoint of .* before its time\.$/),
    ],
    [5, 'Its seal is there, the entry is not.'],
  ]);
  const inTime = { ...early, givenUp: { ...givenUp, signedAt: signed.at - DAY } };
  expect(findings(gone, [inTime]).map(each => each.seq)).toEqual([5]);
  expect(new LogVerifier([inTime]).prunedBefore).toBe(5);
  // The earlier checkpoint has to be of this very log.
  const foreign = { ...inTime, givenUp: { ...inTime.givenUp, root: signed.root } };
  expect(findings(places, [foreign]).map(({ kind, seq }) => [kind, seq])).toEqual([['rewritten', 0]]);
});
