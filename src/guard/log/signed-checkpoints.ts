// Reads checkpoints from the store and verifies their signatures. Somebody who can write to the store can forge
// everything in it except a signature. What the service signs next, and what retention may remove, depends on verified
// checkpoints only.

import { type Checkpoint, isSignedBy, parseCheckpoint, type VerifierKey } from '../../core/log/checkpoint.ts';
import type { Queries } from '../../store/engine/db.ts';
import { type CheckpointRecord, newestCheckpoint } from '../../store/log/checkpoints.ts';

export interface Signed extends Checkpoint {
  number: number;
}

/** The newest checkpoint. It throws if this key did not sign it. */
export async function newestSigned(db: Queries, key: VerifierKey): Promise<Signed | null> {
  const newest = await newestCheckpoint(db);
  return newest && requireSigned(newest, key);
}

/** The content of a stored checkpoint. It throws unless the signature is valid and the row's columns match the note. */
export async function requireSigned(record: CheckpointRecord, key: VerifierKey): Promise<Signed> {
  const { number, at, size, note } = record;
  const said = parseCheckpoint(note);
  if (said?.at === at && said.size === size && (await isSignedBy(note, key))) return { ...said, number };
  throw new Error(
    `Checkpoint ${number} in the store is not what this service signed: nothing is signed or removed. Run toolgate audit verify.`,
  );
}

/**
 * The number of places that the newest checkpoint has given up. They are signed before anything is deleted, so that a
 * verification does not mistake retention for tampering.
 */
export async function givenUpPlaces(db: Queries, key: VerifierKey): Promise<number> {
  const newest = await newestSigned(db, key);
  return newest?.pruned ?? 0;
}
