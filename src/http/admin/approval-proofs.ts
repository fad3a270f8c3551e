// /admin/v1/approvals/:referenceId/proof and /proofs: the challenge for a passkey that signs an answer, and the answers
// that were signed, with all that is needed to verify them elsewhere (core/approvals/proof-check.ts).

import { z } from 'zod';
import { APPROVAL_STATUSES, RESOLUTIONS } from '../../core/approvals/approval.ts';
import { fingerprintOf } from '../../core/approvals/assertion.ts';
import { beginAnswer, requireApproval } from '../../guard/approvals/approvals.ts';
import { proofsOf } from '../../guard/approvals/proofs.ts';
import { votesFor } from '../../guard/approvals/votes.ts';
import { rpOf } from '../../guard/people/passkeys.ts';
import type { ProofRecord } from '../../store/approval-proofs.ts';
import { approvalVotes } from '../../store/approval-views.ts';
import { iso, isoOrNull, isoTime, uuid, votes } from '../serving/fields.ts';
import { browserOptions } from '../serving/passkey-fields.ts';
import { answererOf, type Route, route } from '../serving/route.ts';

const base64url = z.string();

const options = browserOptions('parseRequestOptionsFromJSON');

const proof = z.object({
  by: z.string(),
  operatorId: uuid,
  action: z.enum(RESOLUTIONS),
  at: isoTime,
  nonce: z.string(),
  credentialId: base64url,
  publicKey: base64url.meta({ description: 'Of the passkey, as COSE, as it was then.' }),
  fingerprint: z.string().meta({ description: 'Names the public key: its SHA-256.' }),
  rpId: z.string(),
  origin: z.string(),
  response: z
    .object({
      id: base64url,
      response: z.object({
        clientDataJSON: base64url,
        authenticatorData: base64url,
        signature: base64url,
      }),
    })
    .meta({ description: 'The assertion as the browser sent it.' }),
});

const proofs = z.object({
  referenceId: uuid,
  toolCallId: uuid.meta({ description: 'The audit entry of the call that asked.' }),
  serverName: z.string(),
  toolName: z.string(),
  askedAt: isoTime,
  argsDigest: z.string().meta({
    description:
      'A keyed digest of the call with its arguments. It tells calls apart, and nothing about them.',
  }),
  status: z.enum(APPROVAL_STATUSES),
  resolvedAt: isoTime.nullable(),
  proof: z.enum(['passkey']).nullable(),
  votes,
  proofs: z.array(proof),
});

async function showProof(record: ProofRecord): Promise<z.output<typeof proof>> {
  const { approvalId: _, at, response, ...rest } = record;
  const { id, response: parts } = JSON.parse(response) as z.output<typeof proof>['response'];
  const { clientDataJSON, authenticatorData, signature } = parts;
  return {
    ...rest,
    at: iso(at),
    fingerprint: await fingerprintOf(record.publicKey),
    response: { id, response: { clientDataJSON, authenticatorData, signature } },
  };
}

const shared = { tag: 'approvals (administration)' } as const;

export const approvalProofRoutes: Route[] = [
  route({
    ...shared,
    method: 'POST',
    path: '/admin/v1/approvals/:referenceId/proof',
    access: 'resolve',
    summary: 'Begin an answer that a passkey signs',
    description:
      'The challenge is for this answer and for whoever asks, once and within 2 minutes. Send what the passkey signs as `proof` with the answer.',
    body: z.strictObject({ action: z.enum(RESOLUTIONS) }),
    answers: {
      200: { description: 'What the browser needs.', schema: z.object({ options }) },
      403: { description: 'You may not answer it, or you cannot sign (`proof_needed`).' },
      409: { description: 'It was answered before, has lapsed, or needs no passkey.' },
    },
    handle: async incoming => {
      const { services, request, params, body } = incoming;
      const asked = { action: body.action, rp: rpOf(services.config, request) };
      const given = await beginAnswer(
        services.deps,
        answererOf(incoming),
        params['referenceId'] ?? '',
        asked,
      );
      return Response.json({ options: given }, { headers: { 'Cache-Control': 'no-store' } });
    },
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/admin/v1/approvals/:referenceId/proofs',
    access: 'view',
    summary: 'Read the signed answers to an approval',
    description: '`toolgate approvals verify` checks them without trusting this service.',
    answers: { 200: { description: 'The answers that were signed.', schema: proofs } },
    handle: async ({ services: { deps }, params }) => {
      const approval = await requireApproval(deps, params['referenceId'] ?? '');
      const { id, toolCallId, serverName, toolName, createdAt, argsDigest, status, resolvedAt } = approval;
      const [cast, signed] = await Promise.all([votesFor(deps.db, [approval]), proofsOf(deps, approval)]);
      return Response.json({
        referenceId: id,
        toolCallId,
        serverName,
        toolName,
        askedAt: iso(createdAt),
        argsDigest,
        status,
        resolvedAt: isoOrNull(resolvedAt),
        proof: approval.proof,
        votes: approvalVotes(approval, cast),
        proofs: await Promise.all(signed.map(showProof)),
      });
    },
  }),
];
