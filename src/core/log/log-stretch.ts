// Finds out what happened between two checkpoints when the later one does not match: leaves in another order than the
// signed one, or one additional leaf.

import type { Checkpoint } from './checkpoint.ts';
import type { Hash, Tree } from './merkle.ts';

/** Finding the additional leaf tries each one, which takes quadratic time; this is the largest number that is tried. */
const TRIED = 1500;

export interface Leaf {
  seq: number;
  entryId: string | null;
  hash: Hash;
}

/** The leaves since the last checkpoint that matched, and the tree at that checkpoint. */
export interface Stretch {
  from: Tree;
  leaves: Leaf[];
}

function leadsTo(from: Tree, leaves: readonly Leaf[], { size, root }: Checkpoint): boolean {
  const tree = from.copy();
  for (const leaf of leaves.slice(0, size - tree.size)) tree.append(leaf.hash);
  return tree.size === size && Buffer.from(tree.root()).toString('base64') === root;
}

/** The first leaf that is out of order, if the leaves sorted by id match the checkpoint. */
export function outOfOrder({ from, leaves }: Stretch, checkpoint: Checkpoint): Leaf | null {
  if (leaves.some(leaf => leaf.entryId === null)) return null;
  const sorted = leaves.toSorted((a, b) => ((a.entryId as string) < (b.entryId as string) ? -1 : 1));
  if (!leadsTo(from, sorted, checkpoint)) return null;
  return leaves.find((leaf, at) => leaf !== sorted[at]) ?? null;
}

/** The one leaf without which the other leaves, including the one that follows, match the checkpoint. */
export function foreign({ from, leaves }: Stretch, next: Leaf | null, checkpoint: Checkpoint): Leaf | null {
  if (leaves.length > TRIED) return null;
  const known = next === null ? leaves : [...leaves, next];
  const before = from.copy();
  for (const [at, leaf] of known.entries()) {
    if (leadsTo(before, known.slice(at + 1), checkpoint)) return leaf;
    before.append(leaf.hash);
  }
  return null;
}
