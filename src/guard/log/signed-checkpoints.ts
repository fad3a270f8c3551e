// Checkpoints of the store that are known to be ours: whoever can write to the store can write anything there, except
// our signature. What the service signs next, and what retention may remove, rests on these alone.

import { type Checkpoint, isSignedBy, parseCheckpoint, type VerifierKey } from '../../core/checkpoint.ts';
import { type CheckpointRecord, newestCheckpoint } from '../../store/checkpoints.ts';
import type { Queries } from '../../store/db.ts';

export interface Signed extends Checkpoint {
  number: number;
}

/** The newest checkpoint; throws when the store has one that this key did not sign. */
export async function newestSigned(db: Queries, key: VerifierKey): Promise<Signed | null> {
  const newest = await newestCheckpoint(db);
  return newest && wantSigned(newest, key);
}

/** What a stored checkpoint says, once its signature and what the store says beside it agree with it. */
export async function wantSigned(record: CheckpointRecord, key: VerifierKey): Promise<Signed> {
  const { number, at, size, note } = record;
  const said = parseCheckpoint(note);
  if (said?.at === at && said.size === size && (await isSignedBy(note, key))) return { ...said, number };
  throw new Error(
    `Checkpoint ${number} in the store is not what this service signed: nothing is signed or removed. Run toolgate audit verify.`,
  );
}
