// /admin/v1/stats: what the guard did in the last while, read from the audit log in slices of time, so that
// a long window never holds up a check.

import { z } from 'zod';
import { parseDuration } from '../../core/approval.ts';
import type { Decision } from '../../core/decide.ts';
import { joinName } from '../../core/name.ts';
import { countPending } from '../../store/approvals.ts';
import { auditTally, auditTools, firstIdAt } from '../../store/audit.ts';
import type { Queries } from '../../store/db.ts';
import { deliveryTally } from '../../store/deliveries.ts';
import { iso, isoTime } from '../fields.ts';
import { type Route, route } from '../route.ts';

const SLICES = 48;
const TOP = 10;
const MAX_WINDOW = 31 * 86_400_000;

const counts = z.object({ allow: z.int(), deny: z.int(), pending: z.int() });
const stats = z.object({
  from: isoTime,
  to: isoTime,
  totals: counts,
  series: z.array(counts.extend({ at: isoTime })).meta({ description: 'Counts per slice of the window.' }),
  topTools: z.array(z.object({ tool: z.string(), count: z.int() })),
  latencyMs: z.object({ p50: z.int(), p90: z.int(), p99: z.int() }).nullable(),
  pendingApprovals: z.int().meta({ description: 'Open now.' }),
  deliveries: z
    .object({ pending: z.int(), delivered: z.int(), failed: z.int() })
    .meta({ description: 'Of the events of the window, by state now.' }),
});

export const statsRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/stats',
    access: 'view',
    tag: 'audit',
    summary: 'Counts by decision over time, top tools, latency percentiles',
    query: z.strictObject({
      window: z
        .string()
        .default('24h')
        .transform(value => parseDuration(value) ?? Number.NaN)
        .refine(ms => ms <= MAX_WINDOW, 'must be a duration such as 15m, 24h or 7d, at most 31d')
        .meta({ type: 'string', example: '24h' }),
    }),
    answers: { 200: { description: 'Statistics.', schema: stats } },
    handle: async ({ services: { guard }, query }) =>
      Response.json(await summarise(guard.db, guard.now() - query.window, guard.now())),
  }),
];

async function summarise(db: Queries, from: number, to: number): Promise<z.input<typeof stats>> {
  const totals = none();
  const tools = new Map<string, number>();
  const latencies = new Map<number, number>();
  const series = [];
  const step = (to - from) / SLICES;
  for (let slice = 0; slice < SLICES; slice++) {
    const start = from + slice * step;
    const here = none();
    for (const { decision, latencyMs, count } of await auditTally(db, start, start + step)) {
      here[decision] += count;
      totals[decision] += count;
      latencies.set(latencyMs, (latencies.get(latencyMs) ?? 0) + count);
    }
    for (const { serverName, toolName, count } of await auditTools(db, start, start + step)) {
      const name = joinName(serverName, toolName);
      tools.set(name, (tools.get(name) ?? 0) + count);
    }
    series.push({ at: iso(start), ...here });
  }
  const topTools = [...tools].sort((a, b) => b[1] - a[1]).slice(0, TOP);
  return {
    from: iso(from),
    to: iso(to),
    totals,
    series,
    topTools: topTools.map(([tool, count]) => ({ tool, count })),
    latencyMs: percentiles(latencies),
    pendingApprovals: await countPending(db, to),
    deliveries: await deliveries(db, from),
  };
}

async function deliveries(db: Queries, from: number) {
  const counts = { pending: 0, delivered: 0, failed: 0 };
  for (const { status, count } of await deliveryTally(db, firstIdAt(from))) counts[status] = count;
  return counts;
}

function none(): Record<Decision, number> {
  return { allow: 0, deny: 0, pending: 0 };
}

function percentiles(latencies: Map<number, number>): { p50: number; p90: number; p99: number } | null {
  const sorted = [...latencies].sort((a, b) => a[0] - b[0]);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  const at = (share: number) => {
    let seen = 0;
    for (const [latency, count] of sorted) {
      seen += count;
      if (seen >= share * total) return latency;
    }
    return 0;
  };
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}
