// Makes proofs from the sealed log: that an entry is in the tree of a signed checkpoint, and that a later tree begins
// with an earlier one. A proof reads a few hashes per level of the tree, however large the log is.

import { GuardError } from '../../core/errors.ts';
import { parseCheckpoint } from '../../core/log/checkpoint.ts';
import { entryLeaf, sealedEntry } from '../../core/log/entry.ts';
import { consistencyPath, type Hash, includes, inclusionPath, type Subtree } from '../../core/log/merkle.ts';
import { findAudit } from '../../store/log/audit.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import { newestCheckpoint } from '../../store/log/checkpoints.ts';
import { readSealing, sealOf, subtreeHash } from '../../store/log/seals.ts';
import type { Deps } from '../deps.ts';

interface InclusionProof {
  seq: number;
  size: number;
  path: string[];
  /** Null if retention has removed the entry. The proof still holds for a copy of the entry. */
  entry: AuditEntry | null;
  checkpoint: string;
}

export async function proveInclusion(deps: Deps, entryId: string): Promise<InclusionProof> {
  const { db } = deps;
  const entry = await findAudit(db, entryId);
  const seal = await sealOf(db, entryId);
  if (entry === null && seal === null) {
    throw new GuardError('not_found', 'There is no audit entry with this id.');
  }
  const newest = await newestCheckpoint(db);
  const checkpoint = newest === null ? null : parseCheckpoint(newest.note);
  if (seal === null || newest === null || checkpoint === null || seal.seq >= checkpoint.size) {
    throw new GuardError(
      'conflict',
      'No checkpoint contains the entry yet. The next one will, a few seconds after it is due (TOOLGATE_CHECKPOINT_INTERVAL).',
    );
  }
  const { size, root } = checkpoint;
  const path = await hashes(deps, inclusionPath(seal.seq, size));
  const leaf = entry === null ? bytes(seal.leafHash) : entryLeaf(sealedEntry(entry));
  if (!includes(leaf, seal.seq, size, path.map(bytes), bytes(root))) {
    throw new GuardError(
      'conflict',
      'There is no proof: the entry or the log is not what was signed. Run toolgate audit verify.',
    );
  }
  return { seq: seal.seq, size, path, entry, checkpoint: newest.note };
}

function bytes(base64: string): Hash {
  return new Uint8Array(Buffer.from(base64, 'base64'));
}

/** Proves that the tree of the first `to` entries begins with the tree of the first `from` entries. */
export async function proveConsistency(deps: Deps, from: number, to: number): Promise<string[]> {
  const { size } = await readSealing(deps.db);
  if (from > to || to > size) {
    throw new GuardError(
      'conflict',
      `"from" must be at most "to", and "to" at most ${size}, the size of the sealed log.`,
    );
  }
  return hashes(deps, consistencyPath(from, to));
}

async function hashes({ db }: Deps, subtrees: readonly Subtree[]): Promise<string[]> {
  const found: string[] = [];
  for (const subtree of subtrees) {
    found.push(Buffer.from(await subtreeHash(db, subtree)).toString('base64'));
  }
  return found;
}
