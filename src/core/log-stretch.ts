// What may have happened between two checkpoints when the later one does not hold: leaves in another order than the
// signed one, or one leaf too many.

import type { Checkpoint } from './checkpoint.ts';
import type { Hash, Tree } from './merkle.ts';

/** Trying each place as the one put in takes time by the square of the places. */
const TRIED = 1500;

export interface Leaf {
  seq: number;
  entryId: string | null;
  hash: Hash;
}

/** Leaves since the last checkpoint that held, and the tree as it was then. */
export interface Stretch {
  from: Tree;
  leaves: Leaf[];
}

function leadsTo(from: Tree, leaves: readonly Leaf[], { size, root }: Checkpoint): boolean {
  const tree = from.copy();
  for (const leaf of leaves.slice(0, size - tree.size)) tree.append(leaf.hash);
  return tree.size === size && Buffer.from(tree.root()).toString('base64') === root;
}

/** The first leaf that is not where its id would have it, if that order is the signed one. */
export function outOfOrder({ from, leaves }: Stretch, checkpoint: Checkpoint): Leaf | null {
  if (leaves.some(leaf => leaf.entryId === null)) return null;
  const sorted = leaves.toSorted((a, b) => ((a.entryId as string) < (b.entryId as string) ? -1 : 1));
  if (!leadsTo(from, sorted, checkpoint)) return null;
  return leaves.find((leaf, at) => leaf !== sorted[at]) ?? null;
}

/** The one leaf without which the rest, and the leaf that follows, leads to the checkpoint. */
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
