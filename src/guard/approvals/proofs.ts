// Proof of an answer: where a rule wants it, an approval counts only with an assertion of the approver's passkey over
// this very answer (core/approvals/assertion.ts says what is signed). `beginProof` gives out the challenge, `prove`
// verifies the assertion before the transaction of the answer, and `keepProof` spends the nonce and keeps the assertion
// inside it.

import type { Resolution } from '../../core/approvals/approval.ts';
import { challengeOf, examine, isSound, type Statement } from '../../core/approvals/assertion.ts';
import { GuardError, invalidInput } from '../../core/errors.ts';
import {
  findNonce,
  insertProof,
  listProofs,
  type Nonce,
  type ProofRecord,
  removeOldNonces,
  replaceNonce,
  spendNonce,
} from '../../store/approval-proofs.ts';
import type { ApprovalRecord } from '../../store/approvals.ts';
import type { Transaction } from '../../store/engine/db.ts';
import { findPasskey, listPasskeys } from '../../store/passkeys.ts';
import type { Actor, Deps } from '../deps.ts';
import type { RelyingParty, SignedChallenge } from '../people/passkey-responses.ts';
import { signingOptions, verifyAssertion } from '../people/passkeys.ts';
import { type Answerer, answerFault } from './approvers.ts';

const NONCE_MS = 2 * 60_000;
const NONCE_BYTES = 32;

/** The assertion that came with an answer, and the name and origin at which passkeys are used there. */
export interface GivenProof {
  response: SignedChallenge;
  rp: RelyingParty | null;
}

/** The caller has found out that the question is open. */
export async function beginProof(
  deps: Deps,
  approval: ApprovalRecord,
  who: Answerer,
  action: Resolution,
  rp: RelyingParty | null,
): Promise<ReturnType<typeof signingOptions>> {
  if (approval.proof === null)
    throw new GuardError('conflict', 'This approval needs no passkey: answer it without one.');
  const fault = answerFault(approval, who);
  if (fault !== null) throw fault;
  if (who === 'admin') throw needsPasskey();
  if (rp === null) throw needsName();
  const passkeys = await listPasskeys(deps.db, who.operatorId);
  if (passkeys.length === 0) throw hasNone();
  const now = deps.now();
  const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(NONCE_BYTES))).toString('base64url');
  const ids = { approvalId: approval.id, operatorId: who.operatorId };
  await removeOldNonces(deps.db, now);
  await replaceNonce(deps.db, { ...ids, nonce, action, expiresAt: now + NONCE_MS });
  const challenge = await challengeOf(statementOf(approval, action, nonce));
  return { ...signingOptions(rp, challenge, passkeys), timeout: NONCE_MS };
}

/** A verified assertion, to be kept with the answer. */
export interface Proven extends Omit<ProofRecord, 'by' | 'at'> {
  given: Nonce;
}

/**
 * Verifies the assertion that came with an answer. Null if none is needed and none came. This is done before the
 * transaction of the answer, which must not wait for it; what may change until then, `keepProof` looks at again.
 */
export async function prove(
  deps: Deps,
  approval: ApprovalRecord,
  { action, proof }: { action: Resolution; proof?: GivenProof | undefined },
  who: Answerer | 'link',
): Promise<Proven | null> {
  if (approval.proof === null && proof !== undefined)
    throw invalidInput([
      { path: '/proof', message: 'does not go with this approval: its rule wants no proof' },
    ]);
  if (approval.proof === null || (action === 'deny' && proof === undefined)) return null;
  const fault = who === 'link' ? null : answerFault(approval, who);
  if (fault !== null) throw fault;
  if (typeof who === 'string' || proof === undefined) throw needsPasskey();
  const { response, rp } = proof;
  if (rp === null) throw needsName();
  const given = await findNonce(deps.db, approval.id, who.operatorId, deps.now());
  if (given === null || given.action !== action) throw tooLate();
  const statement = statementOf(approval, action, given.nonce);
  const { operatorId } = who;
  const challenge = await challengeOf(statement);
  const verified = await verifyAssertion(deps, { challenge, response, operatorId, rp }).catch(refused);
  const kept = { response, rpId: rp.id, origin: rp.origin, ...verified };
  // What is kept must convince whoever verifies it later, without this service.
  if (!isSound(await examine(kept, statement))) throw unfit();
  const { nonce, approvalId } = given;
  return { given, approvalId, operatorId, action, nonce, ...kept, response: JSON.stringify(response) };
}

/** Must be called in the transaction of the answer, which holds the lock on operators. */
export async function keepProof(
  tx: Transaction,
  { given, ...proven }: Proven,
  { by, at }: { by: Actor; at: number },
): Promise<void> {
  if (!(await spendNonce(tx, given, at))) throw tooLate();
  await insertProof(tx, { ...proven, by, at });
  if (!(await hasItsPasskey(tx, proven)))
    throw new GuardError('proof_needed', 'This passkey was removed. Answer with another one.');
}

/** Whether a vote is signed, with a passkey that its operator still has. */
export async function hasItsPasskey(
  tx: Transaction,
  { approvalId, operatorId }: { approvalId: string; operatorId: string },
): Promise<boolean> {
  const proof = (await listProofs(tx, approvalId)).find(each => each.operatorId === operatorId);
  const passkey = proof === undefined ? null : await findPasskey(tx, proof.credentialId);
  return passkey?.operatorId === operatorId && passkey.publicKey === proof?.publicKey;
}

export function proofsOf(deps: Deps, { id }: ApprovalRecord): Promise<ProofRecord[]> {
  return listProofs(deps.db, id);
}

function statementOf({ id, argsDigest }: ApprovalRecord, action: Resolution, nonce: string): Statement {
  return { action, referenceId: id, argsDigest, nonce };
}

function refused(error: unknown): never {
  if (error instanceof GuardError) throw new GuardError('proof_needed', error.message, { cause: error });
  throw error;
}

export function needsPasskey(): GuardError {
  return new GuardError(
    'proof_needed',
    'This call has to be approved with a passkey. Sign in to the dashboard and approve it there, or on the page of its link.',
  );
}

function hasNone(): GuardError {
  return new GuardError(
    'proof_needed',
    'This call has to be approved with a passkey, and you have none. Add one on your account page (/dashboard/account), then approve again.',
  );
}

function needsName(): GuardError {
  return new GuardError(
    'proof_needed',
    'Passkeys do not work at an IP address. Open the service at its name, then approve again.',
  );
}

function tooLate(): GuardError {
  return new GuardError(
    'proof_needed',
    'This answer of the passkey was used before, is too old, or is for another answer. Approve again.',
  );
}

function unfit(): GuardError {
  return new GuardError(
    'proof_needed',
    'This answer of the passkey does not fit this approval. Approve again.',
  );
}
