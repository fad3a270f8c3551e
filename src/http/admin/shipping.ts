// /admin/v1/shipping: how far the audit log has been sent to each target of the server file.

import { z } from 'zod';
import { hostOf, SHIPPING_TYPES, type ShippingTarget } from '../../core/log/shipping.ts';
import { type ShippingReport, shippingReports } from '../../guard/outgoing/shipping/lag.ts';
import { isoOrNull, isoTime } from '../serving/fields.ts';
import { type Route, route } from '../serving/route.ts';

const target = z.object({
  name: z.string(),
  type: z.enum(SHIPPING_TYPES),
  to: z.string().meta({ description: 'The host to which it is sent.' }),
  state: z
    .enum(['ok', 'failing', 'unused'])
    .meta({ description: 'Whether the newest attempt succeeded. `unused`: there was none.' }),
  shippedTo: z
    .int()
    .nullable()
    .meta({ description: 'The newest sequence number that it has confirmed; null if there is none.' }),
  shippedAt: isoTime.nullable().meta({ description: 'When it last confirmed a batch.' }),
  lagEntries: z.int().meta({ description: 'How many sealed entries it has not confirmed.' }),
  lagSeconds: z.number().meta({ description: 'The age of the oldest of them.' }),
  failures: z.int().meta({ description: 'Attempts that failed since the last one that succeeded.' }),
  lastError: z.string().nullable(),
  lastErrorAt: isoTime.nullable(),
});

function show(
  { name, state, entries, since }: ShippingReport,
  settings: ShippingTarget,
  now: number,
): z.output<typeof target> {
  const { shipped = 0, shippedAt = null, failures = 0, lastError = null, lastErrorAt = null } = state ?? {};
  return {
    name,
    type: settings.type,
    to: hostOf(settings),
    state: failures > 0 ? 'failing' : shippedAt === null ? 'unused' : 'ok',
    shippedTo: shipped === 0 ? null : shipped - 1,
    shippedAt: isoOrNull(shippedAt),
    lagEntries: entries,
    lagSeconds: since === null ? 0 : Math.max(0, (now - since) / 1000),
    failures,
    lastError,
    lastErrorAt: isoOrNull(lastErrorAt),
  };
}

export const shippingRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/shipping',
    access: 'view',
    tag: 'audit',
    summary: 'List where the audit log is shipped to, and how far it has come',
    answers: { 200: { description: 'Targets.', schema: z.object({ targets: z.array(target) }) } },
    handle: async ({ services: { deps, config } }) => {
      const reports = await shippingReports(deps, Object.keys(config.shipping));
      const targets = reports.map(report =>
        show(report, config.shipping[report.name] as ShippingTarget, deps.now()),
      );
      return Response.json({ targets });
    },
  }),
];
