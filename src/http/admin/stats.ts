// /admin/v1/stats: how many calls were decided in a window of time and how, and whether events are delivered.

import { z } from 'zod';
import { parseDuration } from '../../core/time/duration.ts';
import type { Deps } from '../../guard/deps.ts';
import { type Named, type Stats, stats } from '../../guard/log/stats.ts';
import { countPending } from '../../store/approvals.ts';
import { type DeliveryStatus, deliveryTally, oldestPending } from '../../store/deliveries.ts';
import { firstIdAt } from '../../store/log/audit.ts';
import { iso, isoOrNull, isoTime, uuid } from '../serving/fields.ts';
import { type Route, route } from '../serving/route.ts';

const MAX_WINDOW = 366 * 86_400_000;

const counts = z.object({ allow: z.int(), deny: z.int(), pending: z.int() });
const summary = z.object({
  from: isoTime.meta({
    description: 'Rounded down: to a minute, to an hour beyond 2 days, to a day beyond 93.',
  }),
  to: isoTime,
  totals: counts,
  series: z
    .array(counts.extend({ at: isoTime }))
    .meta({ description: 'Counts per slice of the window, at most 62; slices begin at round times (UTC).' }),
  topTools: z.array(counts.extend({ tool: z.string(), count: z.int() })),
  topKeys: z.array(counts.extend({ keyId: uuid, count: z.int() })),
  latencyMs: z
    .object({ p50: z.int(), p90: z.int(), p99: z.int() })
    .nullable()
    .meta({ description: 'Exact up to 100 ms; beyond, rounded up to two digits.' }),
  pendingApprovals: z.int().meta({ description: 'How many approvals are open now.' }),
  deliveries: z
    .object({
      pending: z.int(),
      delivered: z.int(),
      failed: z.int(),
      oldestPendingAt: isoTime.nullable().meta({
        description: 'Since when the oldest pending delivery has waited, also outside the window.',
      }),
    })
    .meta({ description: 'The deliveries of the events in the window, by their current state.' }),
});

export const statsRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/stats',
    access: 'view',
    tag: 'audit',
    summary: 'Counts by decision over time, top tools and keys, latency percentiles, health of deliveries',
    query: z.strictObject({
      window: z
        .string()
        .default('24h')
        .transform(value => parseDuration(value) ?? Number.NaN)
        .refine(ms => ms <= MAX_WINDOW, 'must be a duration such as 15m, 24h or 7d, at most 366d')
        .meta({ type: 'string', example: '24h' }),
    }),
    answers: { 200: { description: 'Statistics.', schema: summary } },
    handle: async ({ services: { deps }, query }) => {
      const found = await stats(deps, query.window);
      return Response.json({ ...show(found), ...(await waiting(deps, found.from)) });
    },
  }),
];

function show(found: Stats): Omit<z.input<typeof summary>, 'pendingApprovals' | 'deliveries'> {
  return {
    ...found,
    from: iso(found.from),
    to: iso(found.to),
    series: found.series.map(each => ({ ...each, at: iso(each.at) })),
    topTools: found.topTools.map(each => named('tool', each)),
    topKeys: found.topKeys.map(each => named('keyId', each)),
  };
}

async function waiting(
  { db, now }: Deps,
  from: number,
): Promise<Pick<z.input<typeof summary>, 'pendingApprovals' | 'deliveries'>> {
  const tally: Record<DeliveryStatus, number> = { pending: 0, delivered: 0, failed: 0 };
  for (const { status, count } of await deliveryTally(db, firstIdAt(from))) tally[status] = count;
  const oldestPendingAt = isoOrNull(await oldestPending(db));
  return { pendingApprovals: await countPending(db, now()), deliveries: { ...tally, oldestPendingAt } };
}

function named<Field extends string>(field: Field, { name, ...rest }: Named) {
  return { [field]: name, ...rest } as Omit<Named, 'name'> & Record<Field, string>;
}
