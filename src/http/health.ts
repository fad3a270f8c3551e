// Routes for monitoring: whether the process is alive, whether it can serve, and its metrics.

import { z } from 'zod';
import { GuardError } from '../core/errors.ts';
import { answerTo, PROBE_HEADER, type Seen } from '../doctor/probe.ts';
import { METRICS_TYPES, metricsText, preferredFormat } from '../metrics/text.ts';
import { MIGRATIONS, schemaVersion } from '../store/engine/migrate.ts';
import { isTrusted } from './serving/client-ip.ts';
import { isOwnHost } from './serving/origin.ts';
import { type Incoming, type Route, route } from './serving/route.ts';
import type { Services } from './serving/services.ts';

const MOST_SHOWN = 200;

const state = z.object({ status: z.literal('ok'), version: z.string() });

export const healthRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/healthz',
    access: 'public',
    tag: 'health',
    summary: 'Whether the process is alive',
    answers: { 200: { description: 'It is alive.', schema: state } },
    handle: incoming => {
      const { services, request } = incoming;
      const probe = request.headers.get(PROBE_HEADER);
      const answer = probe === null ? null : answerTo(services.deps.vault, probe, () => seenOf(incoming));
      const headers = answer === null ? {} : { [PROBE_HEADER]: answer };
      return Response.json({ status: 'ok', version: services.version }, { headers });
    },
  }),
  route({
    method: 'GET',
    path: '/readyz',
    access: 'public',
    tag: 'health',
    summary: 'Whether the store is reachable, with the schema of this program or a newer one',
    description:
      'A newer version of the program may have migrated the store already; this one keeps running beside it until it is replaced.',
    answers: { 200: { description: 'Ready to decide.', schema: state }, 503: { description: 'Not ready.' } },
    handle: async ({ services }) => {
      await requireReady(services);
      return Response.json({ status: 'ok', version: services.version });
    },
  }),
  route({
    method: 'GET',
    path: '/metrics',
    access: 'public',
    tag: 'health',
    summary: 'Metrics for Prometheus',
    description:
      'The text format of Prometheus; or OpenMetrics 1.0, which has exemplars too, if `Accept` prefers `application/openmetrics-text`.',
    answers: { 200: { description: 'The metrics as text.', type: 'text/plain' } },
    handle: async ({ services, request }) => {
      const format = preferredFormat(request.headers.get('accept'));
      return new Response(metricsText(await services.allMetrics(), format), {
        headers: { 'Content-Type': METRICS_TYPES[format], Vary: 'Accept' },
      });
    },
  }),
];

/** What the doctor learns about its own request. Headers are cut, because anybody on the way may have made them. */
function seenOf({ services: { config }, request, server }: Incoming<unknown, unknown>): Seen {
  const peer = server.requestIP(request)?.address ?? '';
  return {
    peer,
    isTrusted: isTrusted(peer, config.trustedProxies),
    forwardedFor: request.headers.get('x-forwarded-for')?.slice(0, MOST_SHOWN) ?? null,
    host: (request.headers.get('host') ?? '').slice(0, MOST_SHOWN),
    isHostAccepted: isOwnHost(request, config),
  };
}

async function requireReady(services: Services): Promise<void> {
  try {
    const version = await schemaVersion(services.deps.db);
    if (version >= (MIGRATIONS.at(-1)?.version ?? 0)) return;
  } catch (error) {
    throw new GuardError('not_ready', 'The store cannot be reached.', { cause: error, retryAfter: 1 });
  }
  throw new GuardError('not_ready', 'The store has the schema of an older version.', { retryAfter: 5 });
}
