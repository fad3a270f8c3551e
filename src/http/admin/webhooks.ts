// /admin/v1/webhooks and /admin/v1/deliveries: the receivers of events about approvals, and how deliveries went.

import { z } from 'zod';
import { EVENT_TYPES } from '../../core/approvals/event.ts';
import { newId } from '../../guard/ids.ts';
import { urlFault } from '../../guard/outgoing/addresses.ts';
import { tryOnce } from '../../guard/outgoing/deliver.ts';
import {
  ALL_EVENTS,
  changeWebhook,
  createWebhook,
  deleteWebhook,
  redeliver,
  requireWebhook,
  rotateSecret,
} from '../../guard/outgoing/webhooks.ts';
import {
  type AttemptRecord,
  countFailures,
  type DeliveryRecord,
  listAttempts,
  listDeliveries,
} from '../../store/deliveries.ts';
import { listWebhooks, type WebhookRecord } from '../../store/webhooks.ts';
import { before, iso, isoOrNull, isoTime, list, page, paged, text, uuid } from '../serving/fields.ts';
import { actorOf, type Route, route } from '../serving/route.ts';
import { seesAll, withoutSecrets } from '../serving/shown-address.ts';

const fields = {
  url: text(urlFault, 'Where events are sent, by POST.', 'https://example.com/toolgate'),
  keyId: uuid.nullable().meta({ description: 'Send only the events of this key; null: of every key.' }),
  events: z
    .array(z.enum(EVENT_TYPES))
    .min(1)
    .transform(values => [...new Set<string>(values)])
    .meta({ description: 'Which events are sent; all if left out.' }),
};

const shown = z.object({
  id: uuid,
  url: z.string().meta({ description: 'Only its server, unless an admin asks.' }),
  keyId: uuid.nullable(),
  events: z.array(z.enum(EVENT_TYPES)),
  enabled: z.boolean(),
  disabledReason: z.string().nullable(),
  previousSecretUntil: isoTime
    .nullable()
    .meta({ description: 'Until then deliveries are also signed with the previous secret.' }),
  createdAt: isoTime,
});
const watched = shown.extend({
  failures: z.int().meta({
    description:
      'Attempts that have failed since one last succeeded, as far as the newest 20 deliveries tell.',
  }),
});
const withSecret = shown.extend({ secret: z.string().meta({ description: 'Shown in this answer only.' }) });

const attempt = z.object({
  at: isoTime,
  status: z.int().nullable().meta({ description: 'HTTP status; null when there was no answer.' }),
  durationMs: z.int(),
  error: z.string().nullable(),
  response: z.string().nullable().meta({ description: 'The first bytes of the answer, escaped.' }),
});

const delivery = z.object({
  id: uuid,
  eventId: uuid,
  type: z.string(),
  referenceId: uuid,
  status: z.enum(['pending', 'delivered', 'failed']),
  attempts: z.array(attempt),
  nextAttemptAt: isoTime.nullable(),
});

function show(webhook: WebhookRecord, all = true) {
  const { id, url, keyId, events, disabledReason } = webhook;
  return {
    id,
    url: all ? url : withoutSecrets(url),
    keyId,
    events,
    enabled: webhook.disabledAt === null,
    disabledReason,
    previousSecretUntil: isoOrNull(webhook.previousSecretUntil),
    createdAt: iso(webhook.createdAt),
  };
}

function showDelivery(
  { webhookId: _, ...row }: DeliveryRecord,
  attempts: readonly AttemptRecord[],
): z.output<typeof delivery> {
  const own = attempts.filter(each => each.deliveryId === row.id);
  return {
    ...row,
    attempts: own.map(({ id: _id, deliveryId: _deliveryId, ...each }) => ({ ...each, at: iso(each.at) })),
    nextAttemptAt: isoOrNull(row.nextAttemptAt),
  };
}

const NO_STORE = { 'Cache-Control': 'no-store' };
const tag = 'webhooks';

export const webhookRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/webhooks',
    access: 'view',
    tag,
    summary: 'List webhooks, newest first',
    query: z.strictObject(page),
    answers: { 200: { description: 'Webhooks, without their secret.', schema: list('webhooks', watched) } },
    handle: async incoming => {
      const { services, query } = incoming;
      const rows = await listWebhooks(services.deps.db, query.limit + 1, before(query));
      const all = seesAll(incoming);
      const failed = await Promise.all(rows.map(({ id }) => countFailures(services.deps.db, id)));
      const failures = new Map(rows.map(({ id }, at) => [id, failed[at] ?? 0]));
      return Response.json(
        paged(
          'webhooks',
          rows,
          query.limit,
          row => row.id,
          row => ({ ...show(row, all), failures: failures.get(row.id) ?? 0 }),
        ),
      );
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/webhooks',
    access: 'admin',
    tag,
    summary: 'Register a webhook',
    body: z.strictObject({
      url: fields.url,
      keyId: fields.keyId.default(null),
      events: fields.events.default(ALL_EVENTS),
    }),
    answers: { 201: { description: 'The webhook, with its secret.', schema: withSecret } },
    handle: async incoming => {
      const { deps, targetRules } = incoming.services;
      const { webhook, secret } = await createWebhook(deps, actorOf(incoming), targetRules, incoming.body);
      return Response.json({ ...show(webhook), secret }, { status: 201, headers: NO_STORE });
    },
  }),
  route({
    method: 'PATCH',
    path: '/admin/v1/webhooks/:id',
    access: 'admin',
    tag,
    summary: 'Change a webhook, or switch it on or off',
    body: z.strictObject({ ...fields, enabled: z.boolean() }).partial(),
    answers: { 200: { description: 'The webhook.', schema: shown } },
    handle: async incoming => {
      const { deps, targetRules } = incoming.services;
      const given = Object.fromEntries(
        Object.entries(incoming.body).filter(([, value]) => value !== undefined),
      );
      const id = incoming.params['id'] ?? '';
      return Response.json(show(await changeWebhook(deps, actorOf(incoming), targetRules, id, given)));
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/v1/webhooks/:id',
    access: 'admin',
    tag,
    summary: 'Delete a webhook',
    answers: { 204: { description: 'Deleted.' } },
    handle: async incoming => {
      await deleteWebhook(incoming.services.deps, actorOf(incoming), incoming.params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/webhooks/:id/rotate-secret',
    access: 'admin',
    tag,
    summary: 'Give a webhook a new secret; for 24 hours the old one signs too',
    answers: { 200: { description: 'The webhook, with its new secret.', schema: withSecret } },
    handle: async incoming => {
      const { deps } = incoming.services;
      const { webhook, secret } = await rotateSecret(deps, actorOf(incoming), incoming.params['id'] ?? '');
      return Response.json({ ...show(webhook), secret }, { headers: NO_STORE });
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/webhooks/:id/test',
    access: 'admin',
    tag,
    summary: 'Send a signed event of type `webhook.test` now and see what the receiver answers',
    answers: { 200: { description: 'The result of the attempt.', schema: attempt.omit({ at: true }) } },
    handle: async ({ services: { deps, targetRules }, params }) => {
      const webhook = await requireWebhook(deps.db, params['id'] ?? '');
      const body = { type: 'webhook.test', timestamp: iso(deps.now()), data: { webhookId: webhook.id } };
      return Response.json(await tryOnce(deps, targetRules, webhook, newId(), JSON.stringify(body)));
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/webhooks/:id/deliveries',
    access: 'view',
    tag,
    summary: 'List a webhook’s deliveries with their attempts, newest first',
    query: z.strictObject(page),
    answers: { 200: { description: 'Deliveries.', schema: list('deliveries', delivery) } },
    handle: async ({ services: { deps }, params, query }) => {
      const webhook = await requireWebhook(deps.db, params['id'] ?? '');
      const rows = await listDeliveries(deps.db, webhook.id, query.limit + 1, before(query));
      const attempts =
        rows.length === 0
          ? []
          : await listAttempts(
              deps.db,
              rows.map(row => row.id),
            );
      return Response.json(
        paged(
          'deliveries',
          rows,
          query.limit,
          row => row.id,
          row => showDelivery(row, attempts),
        ),
      );
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/deliveries/:id/redeliver',
    access: 'admin',
    tag,
    summary: 'Deliver again, from the start of the schedule',
    answers: {
      202: { description: 'It will be tried at once.' },
      409: { description: 'Its webhook is switched off.' },
    },
    handle: async incoming => {
      await redeliver(incoming.services.deps, actorOf(incoming), incoming.params['id'] ?? '');
      return new Response(null, { status: 202 });
    },
  }),
];
