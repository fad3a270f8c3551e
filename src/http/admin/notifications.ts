// /admin/v1/notifications: whether the messages with approval links were sent, so that a failing channel is noticed, and
// how each channel does.

import { z } from 'zod';
import { channelHealth, NEWEST, testChannel } from '../../guard/approvals/notify/health.ts';
import type { NotifySettings } from '../../guard/approvals/notify/notify.ts';
import { CHANNEL_KINDS, listNotifications, NOTIFICATION_STATUSES } from '../../store/notifications.ts';
import { before, iso, isoOrNull, isoTime, list, page, paged, uuid } from '../serving/fields.ts';
import { baseUrl } from '../serving/origin.ts';
import { type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';

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

const channel = z.object({
  name: z.string(),
  type: z.enum(CHANNEL_KINDS),
  target: z
    .string()
    .nullable()
    .meta({ description: 'Where it leads: masked addresses, or the host of a URL.' }),
  state: z
    .enum(['ok', 'failing', 'unused'])
    .meta({ description: 'Whether the newest attempt to send a message succeeded.' }),
  sent: z.int().meta({ description: `How many of its newest ${NEWEST} messages were sent.` }),
  waiting: z.int(),
  failed: z.int(),
  lastSentAt: isoTime.nullable(),
  lastErrorAt: isoTime.nullable(),
  lastError: z.string().nullable(),
});

const result = z.object({ type: z.enum(CHANNEL_KINDS), error: z.string().nullable() });

/** Nothing is printed here: only the background worker prints links. */
const nothing = async () => {};

function notifySettings({ config, targetRules, slack }: Services, request: Request): NotifySettings {
  return { ...config, publicUrl: baseUrl(config, request), rules: targetRules, slack, print: nothing };
}

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
  route({
    method: 'GET',
    path: '/admin/v1/notifications/channels',
    access: 'view',
    tag: 'approvals (administration)',
    summary: 'List the channels of notifications, and how they do',
    description:
      '`default` stands for the settings of the service, and for the addresses that keys have of their own; it is listed ' +
      'once for each of its types.',
    answers: { 200: { description: 'Channels.', schema: z.object({ channels: z.array(channel) }) } },
    handle: async ({ services, request }) => {
      const channels = await channelHealth(services.deps, notifySettings(services, request));
      const shown = channels.map(each => ({
        ...each,
        lastSentAt: isoOrNull(each.lastSentAt),
        lastErrorAt: isoOrNull(each.lastErrorAt),
      }));
      return Response.json({ channels: shown });
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/notifications/channels/:name/test',
    access: 'admin',
    tag: 'approvals (administration)',
    summary: 'Send a test message by a channel now, and see whether it was taken',
    answers: {
      200: { description: 'One result for each type.', schema: z.object({ results: z.array(result) }) },
    },
    handle: async ({ services, request, params }) => {
      const settings = notifySettings(services, request);
      return Response.json({ results: await testChannel(services.deps, settings, params['name'] ?? '') });
    },
  }),
];
