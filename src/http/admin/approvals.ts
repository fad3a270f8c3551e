// /admin/v1/approvals: the questions waiting for a human, and those answered.

import { z } from 'zod';
import { APPROVAL_STATUSES } from '../../core/approval.ts';
import { SURFACES } from '../../core/event.ts';
import { approvalView, listApprovals } from '../../store/approvals.ts';
import { before, isoTime, list, page, paged, uuid } from '../fields.ts';
import { type Route, route } from '../route.ts';

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
];
