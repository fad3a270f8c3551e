// /admin/v1/approvals: the approvals that wait for an answer, and those that were answered.

import { z } from 'zod';
import { APPROVAL_STATUSES } from '../../core/approval.ts';
import { SURFACES } from '../../core/event.ts';
import { resolveByOperator, withdraw } from '../../guard/approvals/approvals.ts';
import { approvalListed, listApprovals } from '../../store/approvals.ts';
import { resolution } from '../approve.ts';
import { before, isoTime, list, page, paged, uuid } from '../fields.ts';
import { actorOf, type Route, route } from '../route.ts';

const approval = z.object({
  referenceId: uuid,
  toolCallId: uuid,
  policyId: uuid,
  keyId: uuid,
  sessionId: uuid.nullable(),
  surface: z.enum(SURFACES),
  serverName: z.string(),
  toolName: z.string(),
  status: z.enum(APPROVAL_STATUSES),
  reason: z.string(),
  createdAt: isoTime,
  expiresAt: isoTime,
  resolvedAt: isoTime.nullable(),
  resolvedBy: z.string().nullable(),
  grantExpiresAt: isoTime.nullable(),
  spentAt: isoTime.nullable().meta({ description: 'When the one call that it frees was allowed.' }),
  withdrawnAt: isoTime.nullable(),
  usableUntil: isoTime.nullable().meta({
    description:
      'For an approval that frees a single call: when it becomes unusable, if it is not spent or withdrawn before.',
  }),
});

export const approvalAdminRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/approvals',
    access: 'view',
    tag: 'approvals (administration)',
    summary: 'List approvals, newest first',
    query: z.strictObject({ ...page, status: z.enum(APPROVAL_STATUSES).optional() }),
    answers: { 200: { description: 'Approvals.', schema: list('approvals', approval) } },
    handle: async ({ services: { deps }, query }) => {
      const rows = await listApprovals(deps.db, query.status ?? null, query.limit + 1, before(query));
      const show = (row: (typeof rows)[number]) => approvalListed(row, deps.settings.approvedFor);
      return Response.json(paged('approvals', rows, query.limit, row => row.id, show));
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/approvals/:referenceId/resolve',
    access: 'resolve',
    tag: 'approvals (administration)',
    summary: 'Answer an approval',
    body: resolution,
    answers: {
      200: { description: 'The approval, answered.', schema: approval },
      409: { description: 'It was answered before, or has lapsed.' },
    },
    handle: async incoming => {
      const { action, duration } = incoming.body;
      const resolve = { action, grantMs: duration ?? null };
      const referenceId = incoming.params['referenceId'] ?? '';
      const { deps } = incoming.services;
      const resolved = await resolveByOperator(deps, actorOf(incoming), referenceId, resolve);
      return Response.json(approvalListed(resolved, deps.settings.approvedFor));
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/approvals/:referenceId/withdraw',
    access: 'resolve',
    tag: 'approvals (administration)',
    summary: 'Withdraw an approval that is not spent',
    description:
      'From then on it frees no call. An approval with a duration has opened a grant, which is ended separately.',
    answers: {
      204: { description: 'Withdrawn.' },
      409: { description: 'It is spent, was withdrawn before, opened a grant, or was never given.' },
    },
    handle: async incoming => {
      const referenceId = incoming.params['referenceId'] ?? '';
      await withdraw(incoming.services.deps, actorOf(incoming), referenceId);
      return new Response(null, { status: 204 });
    },
  }),
];
