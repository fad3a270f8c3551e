// /admin/v1/notifications: whether the messages with approval links were sent, so that a failing channel is noticed.

import { z } from 'zod';
import { listNotifications, NOTIFICATION_STATUSES } from '../../store/notifications.ts';
import { before, iso, isoOrNull, isoTime, list, page, paged, uuid } from '../fields.ts';
import { type Route, route } from '../route.ts';

const notification = z.object({
  id: uuid,
  referenceId: uuid,
  channel: z.string(),
  status: z
    .enum(NOTIFICATION_STATUSES)
    .meta({ description: '`dropped`: the approval ended before the notification was sent.' }),
  attempts: z.int(),
  nextAttemptAt: isoTime.nullable(),
  lastError: z.string().nullable(),
  createdAt: isoTime,
});

export const notificationRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/notifications',
    access: 'view',
    tag: 'approvals (administration)',
    summary: 'List notifications, newest first',
    query: z.strictObject({
      ...page,
      status: z.enum(NOTIFICATION_STATUSES).optional(),
      referenceId: uuid.optional(),
    }),
    answers: { 200: { description: 'Notifications.', schema: list('notifications', notification) } },
    handle: async ({ services, query }) => {
      const filter = { status: query.status ?? null, approvalId: query.referenceId ?? null };
      const rows = await listNotifications(services.deps.db, filter, query.limit + 1, before(query));
      return Response.json(
        paged(
          'notifications',
          rows,
          query.limit,
          row => row.id,
          ({ approvalId, attemptedAt: _, ...row }) => ({
            ...row,
            referenceId: approvalId,
            nextAttemptAt: isoOrNull(row.nextAttemptAt),
            createdAt: iso(row.createdAt),
          }),
        ),
      );
    },
  }),
];
