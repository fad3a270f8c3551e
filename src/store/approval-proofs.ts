// Proofs of answers to approvals: the assertions of passkeys, kept with the public key of that time, so that they can
// be verified after the passkey is removed. The nonces for the next answer are kept here too, at most one for each
// operator and approval.

import type { Resolution } from '../core/approvals/approval.ts';
import { placeholders, type Queries } from './engine/db.ts';

export interface ProofRecord {
  approvalId: string;
  operatorId: string;
  by: string;
  action: Resolution;
  nonce: string;
  credentialId: string;
  /** COSE, in base64url. */
  publicKey: string;
  rpId: string;
  origin: string;
  /** The assertion as the browser sent it, as JSON. */
  response: string;
  at: number;
}

const COLUMNS = `approval_id AS "approvalId", operator_id AS "operatorId", given_by AS "by", action, nonce,
  credential_id AS "credentialId", public_key AS "publicKey", rp_id AS "rpId", origin, response, at`;

/** A denial by somebody who has approved before takes the place of their approval. */
export async function insertProof(db: Queries, proof: ProofRecord): Promise<void> {
  await db.run(
    `INSERT INTO approval_proofs (approval_id, operator_id, given_by, action, nonce, credential_id, public_key, rp_id,
       origin, response, at)
     VALUES (${placeholders(11)})
     ON CONFLICT (approval_id, operator_id) DO UPDATE SET given_by = $3, action = $4, nonce = $5, credential_id = $6,
       public_key = $7, rp_id = $8, origin = $9, response = $10, at = $11`,
    [
      proof.approvalId,
      proof.operatorId,
      proof.by,
      proof.action,
      proof.nonce,
      proof.credentialId,
      proof.publicKey,
      proof.rpId,
      proof.origin,
      proof.response,
      proof.at,
    ],
  );
}

export async function removeProof(
  db: Queries,
  { approvalId, operatorId }: Pick<ProofRecord, 'approvalId' | 'operatorId'>,
): Promise<void> {
  await db.run('DELETE FROM approval_proofs WHERE approval_id = $1 AND operator_id = $2', [
    approvalId,
    operatorId,
  ]);
}

/** The oldest first. */
export function listProofs(db: Queries, approvalId: string): Promise<ProofRecord[]> {
  return db.all(`SELECT ${COLUMNS} FROM approval_proofs WHERE approval_id = $1 ORDER BY at, operator_id`, [
    approvalId,
  ]);
}

export interface Nonce {
  approvalId: string;
  operatorId: string;
  nonce: string;
  action: Resolution;
  expiresAt: number;
}

export async function removeOldNonces(db: Queries, now: number): Promise<void> {
  await db.run('DELETE FROM approval_nonces WHERE expires_at <= $1', [now]);
}

/** Takes the place of the one that the operator had for this approval. */
export async function replaceNonce(db: Queries, given: Nonce): Promise<void> {
  await db.run(
    `INSERT INTO approval_nonces (approval_id, operator_id, nonce, action, expires_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (approval_id, operator_id) DO UPDATE SET nonce = $3, action = $4, expires_at = $5`,
    [given.approvalId, given.operatorId, given.nonce, given.action, given.expiresAt],
  );
}

export async function findNonce(
  db: Queries,
  approvalId: string,
  operatorId: string,
  now: number,
): Promise<Nonce | null> {
  const [row] = await db.all<Nonce>(
    `SELECT approval_id AS "approvalId", operator_id AS "operatorId", nonce, action, expires_at AS "expiresAt"
     FROM approval_nonces WHERE approval_id = $1 AND operator_id = $2 AND expires_at > $3`,
    [approvalId, operatorId, now],
  );
  return row ?? null;
}

/** False if it was spent before, was replaced, or its time is over. */
export async function spendNonce(db: Queries, nonce: Nonce, now: number): Promise<boolean> {
  const spent = await db.run(
    'DELETE FROM approval_nonces WHERE approval_id = $1 AND operator_id = $2 AND nonce = $3 AND expires_at > $4',
    [nonce.approvalId, nonce.operatorId, nonce.nonce, now],
  );
  return spent === 1;
}
