// /admin/v1/approvals: the questions waiting for a human, and those answered.

import { z } from 'zod';
import { APPROVAL_STATUSES } from '../../core/approval.ts';
import { SURFACES } from '../../core/event.ts';
import { resolveByOperator } from '../../guard/approvals.ts';
import { approvalView, listApprovals } from '../../store/approvals.ts';
import { resolution } from '../approve.ts';
import { before, isoTime, list, page, paged, uuid } from '../fields.ts';
import { actorOf, type Route, route } from '../route.ts';

export const approval = z.object({
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
    handle: async ({ services, query }) => {
      const rows = await listApprovals(
        services.guard.db,
        query.status ?? null,
        query.limit + 1,
        before(query),
      );
      return Response.json(paged('approvals', rows, query.limit, row => row.id, approvalView));
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
      const resolved = await resolveByOperator(
        incoming.services.guard,
        actorOf(incoming),
        referenceId,
        resolve,
      );
      return Response.json(approvalView(resolved));
    },
  }),
];
