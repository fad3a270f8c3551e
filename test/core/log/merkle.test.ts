// The Merkle log against RFC 6962: its published test tree, and its own recursive definitions as the oracle.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  consistencyPath,
  type Hash,
  includes,
  inclusionPath,
  joined,
  leafHash,
  nodesOf,
  paired,
  type Subtree,
  Tree,
} from '../../../src/core/log/merkle.ts';
import { mth, pathOf, subproof } from '../../support/rfc6962.ts';

const hex = (hash: Hash) => Buffer.from(hash).toString('hex');
const hexes = (hashes: readonly Hash[]) => hashes.map(hex);
const texts = (count: number) => Array.from({ length: count }, (_, n) => `entry ${n}`);
const MOST = 70;
const LEAVES = texts(MOST);
const HASHES = LEAVES.map(leafHash);

/** From the leaves alone, by way of the nodes that a store would keep. */
function hashOf(subtree: Subtree): Hash {
  return joined(
    nodesOf(subtree).map(({ level, index }) =>
      paired(HASHES.slice(index * 2 ** level, (index + 1) * 2 ** level)),
    ),
  );
}

function grown(count: number): Tree {
  const tree = new Tree();
  for (const leaf of HASHES.slice(0, count)) tree.append(leaf);
  return tree;
}

test('hashes leaves and nodes apart, and the empty tree as nothing', () => {
  expect(hex(new Tree().root())).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  // A leaf without content, as certificate-transparency logs publish it.
  expect(hex(leafHash(''))).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d');
});

test('every tree up to 70 leaves has the root of the definition, grown or joined from its nodes', () => {
  for (let size = 0; size <= MOST; size++) {
    const want = mth(LEAVES.slice(0, size)).toString('hex');
    expect(hex(grown(size).root())).toBe(want);
    expect(hex(hashOf({ from: 0, to: size }))).toBe(want);
  }
});

test('a tree goes on from the hashes of its whole subtrees', () => {
  for (let size = 0; size <= MOST; size++) {
    const whole = nodesOf({ from: 0, to: size }).map(({ level, index }) =>
      hashOf({ from: index * 2 ** level, to: (index + 1) * 2 ** level }),
    );
    const tree = new Tree(size, whole);
    for (const leaf of HASHES.slice(size)) tree.append(leaf);
    expect(hex(tree.root())).toBe(hex(grown(MOST).root()));
  }
});

test('a growing tree tells each node once, when its last leaf comes', () => {
  const told = new Map<string, string>();
  const tree = new Tree();
  for (const leaf of HASHES) {
    tree.append(leaf, ({ level, index }, hash) => {
      expect(told.has(`${level}/${index}`)).toBe(false);
      expect((index + 1) * 2 ** level).toBe(tree.size);
      told.set(`${level}/${index}`, hex(hash));
    });
  }
  for (const [node, hash] of told) {
    const [level = 0, index = 0] = node.split('/').map(Number);
    expect(hash).toBe(hex(hashOf({ from: index * 2 ** level, to: (index + 1) * 2 ** level })));
  }
  expect(told.size).toBe(35 + 17 + 8 + 4 + 2 + 1);
});

test('every inclusion proof is the definition’s, and holds for its leaf, place, size and root only', () => {
  for (let size = 1; size <= MOST; size++) {
    const root = grown(size).root();
    for (let index = 0; index < size; index++) {
      const proof = inclusionPath(index, size).map(hashOf);
      expect(hexes(proof)).toEqual(hexes(pathOf(index, LEAVES.slice(0, size))));
      const leaf = HASHES[index] as Hash;
      expect(includes(leaf, index, size, proof, root)).toBe(true);
      expect(includes(HASHES[(index + 1) % MOST] as Hash, index, size, proof, root)).toBe(false);
      expect(includes(leaf, index + 1, size, proof, root)).toBe(false);
      expect(includes(leaf, index, size, proof.slice(1), root)).toBe(size === 1);
      expect(includes(leaf, index, size, [...proof, leaf], root)).toBe(false);
      expect(includes(leaf, index, size, proof, grown(size + 1).root())).toBe(size === MOST);
    }
  }
});

test('every consistency proof is the definition’s', () => {
  for (let size = 1; size <= MOST; size++) {
    for (let old = 1; old <= size; old++) {
      const proof = consistencyPath(old, size).map(hashOf);
      expect(hexes(proof)).toEqual(hexes(subproof(old, LEAVES.slice(0, size), true)));
    }
  }
});

test('one bit changed anywhere in a proof, a leaf or a root, and it no longer holds', () => {
  const flip = (hash: Hash, bit: number) =>
    hash.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
  const indexes = fc.integer({ min: 0, max: MOST - 1 });
  fc.assert(
    fc.property(indexes, indexes, fc.nat(), fc.integer({ min: 0, max: 255 }), (a, b, which, bit) => {
      const [index, size] = [Math.min(a, b), Math.max(a, b) + 1];
      const proof = inclusionPath(index, size).map(hashOf);
      const parts = [HASHES[index] as Hash, grown(size).root(), ...proof];
      const at = which % parts.length;
      const [leaf, root, ...path] = parts.map((part, n) => (n === at ? flip(part, bit) : part)) as [
        Hash,
        Hash,
      ];
      return !includes(leaf, index, size, path, root);
    }),
    { numRuns: 2000 },
  );
});

test('proofs over a billion entries name few subtrees', () => {
  const size = 1_234_567_891;
  expect(inclusionPath(987_654_321, size).length).toBeLessThanOrEqual(31);
  expect(nodesOf({ from: 0, to: size }).length).toBeLessThanOrEqual(31);
  const nodes = inclusionPath(0, size).flatMap(nodesOf);
  expect(nodes.length).toBeLessThanOrEqual(62);
  for (const { level, index } of nodes) expect(Number.isInteger(index) && level >= 0).toBe(true);
});
