// The steps that a request takes before the handler of its route, in their order, and what is added to its answer at
// the end. Each step is a small function that adds to what is known of the request, or throws. server.ts takes a
// request through them.

import type { Span } from '../core/wire/span.ts';
import type { RequestRation } from '../guard/rations/rations.ts';
import { challenge } from './oauth/metadata.ts';
import { identify, lookAgain, servicesFor } from './serving/auth.ts';
import { readBody, readParams, readQuery } from './serving/input.ts';
import { checkOrigin } from './serving/origin.ts';
import { callerOf, clientOf, type Incoming, type Route, type Who } from './serving/route.ts';
import type { Services } from './serving/services.ts';
import { beginSpan, endSpan, isTraced } from './serving/tracing.ts';

/** A request on its way to the handler of its route. */
interface Taken {
  services: Services;
  route: Route;
  request: Bun.BunRequest;
  server: Bun.Server<undefined>;
  /** `performance.now()` at arrival. */
  startedAt: number;
  identifyMs: number;
  who: Who;
  ration: RequestRation;
  span: Span | undefined;
  body: unknown;
}

export function take(
  services: Services,
  route: Route,
  request: Bun.BunRequest,
  server: Bun.Server<undefined>,
): Taken {
  const taken: Taken = {
    services,
    route,
    request,
    server,
    startedAt: performance.now(),
    identifyMs: 0,
    who: { kind: 'nobody' },
    ration: services.rations.request(() => callerOf(taken)),
    span: undefined,
    body: undefined,
  };
  return taken;
}

/** A promise has to be awaited before the next step. */
type Step = (taken: Taken) => Promise<void> | void;

export const STEPS: readonly Step[] = [fromHere, withinRate, identified, traced, bodyRead];

function fromHere({ services, route, request }: Taken): void {
  if (route.checksOrigin) checkOrigin(request, services.config);
}

function withinRate(taken: Taken): Promise<void> | void {
  const { services, route } = taken;
  if (route.rateLimited) return services.approveLimit.admit(clientOf(taken), services.deps.now());
}

function identified(taken: Taken): Promise<void> | void {
  const { services, route, request } = taken;
  const note = (who: Who) => {
    taken.who = who;
    taken.identifyMs = performance.now() - taken.startedAt;
  };
  const who = identify(services, request, route);
  return who instanceof Promise ? who.then(note) : note(who);
}

function traced(taken: Taken): void {
  const { services, route, request, startedAt } = taken;
  if (services.tracer !== null && isTraced(route))
    taken.span = beginSpan(services.tracer, route.path, request, startedAt);
}

/** A body may take long to arrive, so the sign-in is looked up again afterwards. */
async function readWhole(taken: Taken): Promise<void> {
  const { services, route, request, ration, who } = taken;
  const limit = services.config[route.bodyLimit ?? 'bodyLimit'];
  taken.body = await readBody(services, route, request, { limit, ration });
  if (who.kind === 'operator') await lookAgain(services, who);
}

function bodyRead(taken: Taken): Promise<void> | void {
  if (taken.route.body !== undefined) return readWhole(taken);
}

/** What the handler gets. */
export function incomingOf(taken: Taken): Incoming<never, never> {
  const { services, route, request, who } = taken;
  const query = readQuery(route.query, request);
  const params = readParams(route, request);
  const incoming: Incoming<unknown, unknown> = {
    ...taken,
    services: servicesFor(services, who),
    params,
    query,
  };
  return incoming as Incoming<never, never>;
}

/** Says where a client can sign in, if the route does so. */
export function challenged({ services: { config }, route, request }: Taken, refused: Response): Response {
  if (route.challenges && config.oauth && refused.status === 401)
    refused.headers.set('WWW-Authenticate', challenge(config, request));
  return refused;
}

/** Scripts of any page may read the answer. They never send a cookie with it, so they see what everybody sees. */
export function finished({ route, span }: Taken, response: Response): Response {
  if (span !== undefined) endSpan(span, response.status);
  if (route.cors) response.headers.set('Access-Control-Allow-Origin', '*');
  return response;
}
