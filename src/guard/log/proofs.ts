// Proofs from the sealed log: that an entry is in the tree of a signed checkpoint, and that one tree begins with
// another. They read a few hashes per level, whatever the log's size.

import { parseCheckpoint } from '../../core/checkpoint.ts';
import { entryLeaf, shownEntry } from '../../core/entry.ts';
import { GuardError } from '../../core/errors.ts';
import { consistencyPath, type Hash, includes, inclusionPath, type Subtree } from '../../core/merkle.ts';
import { type AuditEntry, findAudit } from '../../store/audit.ts';
import { newestCheckpoint } from '../../store/checkpoints.ts';
import { readSealing, sealOf, subtreeHash } from '../../store/seals.ts';
import type { Deps } from '../deps.ts';

interface InclusionProof {
  seq: number;
  size: number;
  path: string[];
  /** Null when retention has removed it; whoever has a copy can still prove that one. */
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
      'The entry is in no checkpoint yet. It will be a few seconds after the next one is due (TOOLGATE_CHECKPOINT_INTERVAL).',
    );
  }
  const { size, root } = checkpoint;
  const path = await hashes(deps, inclusionPath(seal.seq, size));
  const leaf = entry === null ? bytes(seal.leafHash) : entryLeaf(shownEntry(entry));
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

/** That the tree of the first `to` entries begins with that of the first `from`. */
export async function proveConsistency(deps: Deps, from: number, to: number): Promise<string[]> {
  const { size } = await readSealing(deps.db);
  if (from > to || to > size) {
    throw new GuardError(
      'conflict',
      `from must not be above to, nor to above ${size}, the sealed log's size.`,
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
