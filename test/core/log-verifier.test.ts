// Any one thing done to any log of any size, under any checkpoints, is found at its place; and a log that nobody
// touched never is.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Checkpoint } from '../../src/core/checkpoint.ts';
import { entryLeaf } from '../../src/core/entry.ts';
import { type Finding, LogVerifier, type Place } from '../../src/core/log-verifier.ts';
import { Tree } from '../../src/core/merkle.ts';
import { idAt, NOW } from '../store/stores.ts';

const leafOf = (entry: object) => Buffer.from(entryLeaf(entry)).toString('base64');

function placeOf(seq: number, more: object = {}, at = NOW + seq): Place {
  const entryId = idAt(at, seq);
  const entry = { id: entryId, decision: 'allow', ...more };
  return { seq, entryId, entry, leafHash: leafOf(entry) };
}

function checkpointsOf(places: readonly Place[], sizes: readonly number[]): Checkpoint[] {
  return sizes.map(size => {
    const tree = new Tree();
    for (const place of places.slice(0, size))
      tree.append(new Uint8Array(Buffer.from(place.leafHash, 'base64')));
    const root = Buffer.from(tree.root()).toString('base64');
    const [at, through] = [NOW + size, NOW + size];
    return { origin: 'log', size, root, at, through, pruned: 0, retention: 'forever', givenUp: null };
  });
}

function findings(places: readonly Place[], checkpoints: readonly Checkpoint[]): Finding[] {
  const verifier = new LogVerifier(checkpoints);
  for (const place of places) verifier.take(place);
  return verifier.end();
}

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
  const signed = checkpointsOf(places, [10, 20]).map(each => ({ ...each, pruned: 5 }));
  const pruned = places.map(place => (place.seq < 5 ? { ...place, entry: null } : place));
  expect(findings(pruned, signed)).toEqual([]);
  expect(findings(pruned.with(5, { ...placeOf(5), entry: null }), signed)).toMatchObject([
    { kind: 'removed', seq: 5 },
  ]);
  const spoilt = pruned.with(2, { ...(pruned[2] as Place), leafHash: placeOf(3).leafHash });
  expect(findings(spoilt, signed)).toMatchObject([{ kind: 'rewritten', seq: 0 }]);
});
