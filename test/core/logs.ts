// Sealed logs to hold against their checkpoints: places, checkpoints of them, and what a verifier finds.

import type { Checkpoint } from '../../src/core/log/checkpoint.ts';
import { entryLeaf } from '../../src/core/log/entry.ts';
import { type Finding, LogVerifier, type Place } from '../../src/core/log/log-verifier.ts';
import { Tree } from '../../src/core/log/merkle.ts';
import { idAt, NOW } from '../store/stores.ts';

const leafOf = (entry: object) => Buffer.from(entryLeaf(entry)).toString('base64');

export function placeOf(seq: number, more: object = {}, at = NOW + seq): Place {
  const entryId = idAt(at, seq);
  const entry = { id: entryId, decision: 'allow', ...more };
  return { seq, entryId, entry, leafHash: leafOf(entry) };
}

export function checkpointsOf(places: readonly Place[], sizes: readonly number[]): Checkpoint[] {
  return sizes.map(size => {
    const tree = new Tree();
    for (const place of places.slice(0, size))
      tree.append(new Uint8Array(Buffer.from(place.leafHash, 'base64')));
    const root = Buffer.from(tree.root()).toString('base64');
    const [at, through] = [NOW + size, NOW + size];
    return { origin: 'log', size, root, at, through, pruned: 0, retention: 'forever', givenUp: null };
  });
}

export function findings(places: readonly Place[], checkpoints: readonly Checkpoint[]): Finding[] {
  const verifier = new LogVerifier(checkpoints);
  for (const place of places) verifier.take(place);
  return verifier.end();
}

/** So many places, one a millisecond. */
export function placesOf(length: number): Place[] {
  return Array.from({ length }, (_, seq) => placeOf(seq));
}
