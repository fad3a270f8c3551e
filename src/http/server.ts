// The HTTP server: which route takes a request, and the steps that every request takes (authentication, body, handler).
// Errors become problem bodies here. The runtime's own router matches the paths;
// docs/decisions/0004-no-web-framework.md says why there is no framework.

import type { z } from 'zod';
import { GuardError, overloaded } from '../core/errors.ts';
import type { Span } from '../core/wire/span.ts';
import { firstRoutes } from './first-routes.ts';
import { OTHER_PATHS } from './later-paths.ts';
import { challenge } from './oauth/metadata.ts';
import { nowherePages } from './pages/not-found.ts';
import { identify, lookAgain, servicesFor } from './serving/auth.ts';
import {
  type Bounds,
  fields,
  fit,
  isForm,
  readForm,
  readJson,
  requireStorable,
  wantForm,
} from './serving/body.ts';
import { asGuardError, noSuchRoute, problem, STATUS } from './serving/errors.ts';
import { checkOrigin } from './serving/origin.ts';
import { callerOf, clientOf, type Incoming, type Route, type Who } from './serving/route.ts';
import type { Services } from './serving/services.ts';
import { beginSpan, endSpan, isTraced } from './serving/tracing.ts';

/** No body may ever be larger. Each route has its own, smaller limit. */
const MAX_BODY = 128 * 1024 * 1024;
/**
 * How many requests are begun in one turn of the event loop; the others begin in the next. The runtime accepts connections
 * as long as any wait, and begins a request as soon as its connection is accepted. So fifty clients that opened a
 * connection for each request, and were answered at once, kept it there for seconds in which nobody else was served.
 */
const MOST_A_TURN = 128;
/** How long a stop waits for the answers to requests that were given up. */
const LAST_ANSWERS_MS = 1000;

export interface Serving {
  port: number;
  /**
   * Refuses new requests, finishes those in progress and closes the listener. `giveUp` is called when the grace period is
   * over, and lets the requests that are left be answered at once.
   */
  stop: (graceMs: number, giveUp: () => void) => Promise<void>;
  /** The answer to a request to /ext-authz that came another way than by HTTP. */
  ask: (request: Request, server: string | null) => Promise<Response>;
}

export function serve(services: Services, host: string, port: number, reusePort = false): Serving {
  const desk = new Desk(services);
  const table = desk.byPath();
  const server = Bun.serve({
    hostname: host,
    port,
    reusePort,
    maxRequestBodySize: MAX_BODY,
    routes: table,
    fetch: desk.inTurn(request => desk.atNoPath(request)),
    error: error => desk.refuse(null, error),
  });
  // The runtime counts a request until its answer is written, also if that is a stream.
  const isBusy = () => desk.underWay > 0 || server.pendingRequests > 0;
  const stop: Serving['stop'] = async (graceMs, giveUp) => {
    desk.close();
    await untilIdle(isBusy, graceMs);
    if (isBusy()) {
      giveUp();
      await untilIdle(isBusy, LAST_ANSWERS_MS);
    }
    // The last answers still have to be written to their sockets.
    await Promise.race([server.stop(), Bun.sleep(50)]);
    await server.stop(true);
  };
  const ask: Serving['ask'] = async (request, name) => {
    const params = name === null ? {} : { server: name };
    const handler = table[name === null ? '/ext-authz/*' : '/ext-authz/:server'] as Handler;
    return handler(Object.assign(request, { params }) as Bun.BunRequest, server);
  };
  return { port: server.port ?? port, stop, ask };
}

async function untilIdle(isBusy: () => boolean, ms: number): Promise<void> {
  const end = performance.now() + ms;
  // It waits at least once: requests that were sent before the stop may be unread in the sockets, and one turn of the
  // event loop reads them.
  do await Bun.sleep(5);
  while (isBusy() && performance.now() < end);
}

const OVERLOADED = overloaded();
const nowhere = nowherePages([...firstRoutes.map(({ path }) => path), ...OTHER_PATHS]);
const NO_PARAMS: Record<string, string> = {};

type Handler = (request: Bun.BunRequest, server: Bun.Server<undefined>) => Response | Promise<Response>;

/** Accepts requests, runs their routes and counts those in progress. */
class Desk {
  readonly #services: Services;
  #open = true;
  /** How many requests came in this turn of the event loop. */
  #begun = 0;
  underWay = 0;

  constructor(services: Services) {
    this.#services = services;
  }

  close(): void {
    this.#open = false;
  }

  byPath(): Record<string, Handler> {
    const table: Record<string, Handler> = {};
    for (const path of OTHER_PATHS) table[path] = this.inTurn(this.#loadedFirst(path));
    for (const { path } of firstRoutes) table[path] ??= this.inTurn(this.#atPath(path, firstRoutes));
    return table;
  }

  inTurn(handler: Handler): Handler {
    return (request, server) => {
      if (this.#begun++ === 0)
        setImmediate(() => {
          this.#begun = 0;
        });
      if (this.#begun <= MOST_A_TURN) return handler(request, server);
      return new Promise(setImmediate).then(() => handler(request, server));
    };
  }

  /** The first request to the path waits until all routes are loaded. */
  #loadedFirst(path: string): Handler {
    let handler: Handler | null = null;
    const load: Handler = async (request, server) => {
      this.underWay++;
      try {
        const { routes } = await import('./routes.ts');
        handler = this.#atPath(path, routes);
        return await handler(request, server);
      } finally {
        this.underWay--;
      }
    };
    return (request, server) => (handler ?? load)(request, server);
  }

  #atPath(path: string, routes: readonly Route[]): Handler {
    const { config } = this.#services;
    const here = new Map(
      routes
        .filter(route => route.path === path && (route.onlyWith === undefined || config[route.onlyWith]))
        .map(route => [route.method as string, route]),
    );
    if (here.size === 0) return request => this.atNoPath(request);
    const get = here.get('GET');
    if (get !== undefined) here.set('HEAD', get);
    const allow = [...here.keys()].join(', ');
    const open = [...here.values()].some(route => route.cors);
    return (request, server) => {
      const route = here.get(request.method) ?? here.get('ANY');
      if (route?.sheds && this.#services.checks.overloaded) return this.#shed(route, request);
      if (open && request.method === 'OPTIONS') return preflight(allow);
      if (route !== undefined) return this.#quickly(route, request) ?? this.#answer(route, request, server);
      return this.refuse(
        request,
        new GuardError('method_not_allowed', `This path takes ${allow}.`, { allow }),
      );
    };
  }

  /** The answer where no route is. */
  atNoPath(request: Request): Response {
    return this.refuse(request, noSuchRoute(), () => nowhere(request));
  }

  /** This is not an async function: that alone would cost as much as the three promises that are needed anyway. */
  #quickly(route: Route, request: Request): Promise<Response> | null {
    if (route.quickly === undefined || !this.#open) return null;
    const answered = route.quickly(this.#services, request, performance.now());
    if (answered === null) return null;
    this.underWay++;
    return answered.then(
      response => {
        this.underWay--;
        this.#services.metrics.answered(response.status);
        return response;
      },
      error => {
        this.underWay--;
        return this.refuse(request, error);
      },
    );
  }

  async #answer(route: Route, request: Bun.BunRequest, server: Bun.Server<undefined>): Promise<Response> {
    const services = this.#services;
    const startedAt = performance.now();
    let body: unknown;
    let span: Span | undefined;
    let who: Who = { kind: 'nobody' };
    const ration = services.rations.request(() => callerOf({ services, request, server, who }));
    this.underWay++;
    try {
      if (!this.#open) throw new GuardError('not_ready', 'The service is stopping.', { retryAfter: 1 });
      if (route.checksOrigin) checkOrigin(request, services.config);
      if (route.rateLimited) {
        await services.approveLimit.admit(clientOf({ services, request, server }), services.deps.now());
      }
      const identified = identify(services, request, route);
      who = identified instanceof Promise ? await identified : identified;
      const identifyMs = performance.now() - startedAt;
      if (services.tracer !== null && isTraced(route))
        span = beginSpan(services.tracer, route.path, request, startedAt);
      if (route.body !== undefined) {
        const limit = services.config[route.bodyLimit ?? 'bodyLimit'];
        body = await readBody(services, route, request, { limit, ration });
        if (who.kind === 'operator') await lookAgain(services, who);
      }
      const query = route.query === undefined ? undefined : readQuery(route.query, request);
      // Reading the parameters is expensive in the runtime's router, so a path without any skips it.
      const params = route.path.includes(':') ? readParams(request) : NO_PARAMS;
      const incoming: Incoming<unknown, unknown> = {
        services: servicesFor(services, who),
        request,
        server,
        startedAt,
        identifyMs,
        span,
        who,
        ration,
        params,
        body,
        query,
      };
      const response = await route.handle(incoming as Incoming<never, never>);
      services.metrics.answered(response.status);
      if (span !== undefined) endSpan(span, response.status);
      return finished(route, response);
    } catch (error) {
      const refused = this.refuse(request, error, known => route.refusal?.(known, request, body) ?? null);
      if (route.challenges && services.config.oauth && refused.status === 401)
        refused.headers.set('WWW-Authenticate', challenge(services.config, request));
      if (span !== undefined) endSpan(span, refused.status);
      return finished(route, refused);
    } finally {
      ration.free();
      this.underWay--;
    }
  }

  /** Under overload most answers are 503s, so the request is not read and the error is made only once. */
  #shed(route: Route, request: Request): Response {
    const response = route.refusal?.(OVERLOADED, request) ?? problem(OVERLOADED, Bun.randomUUIDv7());
    this.#services.metrics.answered(response.status);
    return response;
  }

  /** `own` is the route's way to show an error, if it has one. */
  refuse(
    request: Request | null,
    error: unknown,
    own: (known: GuardError) => Response | null = () => null,
  ): Response {
    const { metrics, log } = this.#services;
    const known = asGuardError(error);
    const requestId = Bun.randomUUIDv7();
    const status = STATUS[known.code];
    const facts = { requestId, method: request?.method, code: known.code, status };
    // The cause of a failed commit is logged once for its group, so that an outage does not log a stack for each check.
    if (known.code === 'audit_failed')
      log.error({ ...facts, why: (known.cause as Error | undefined)?.message }, 'failed');
    else if (status === 500) log.error({ ...facts, err: known.cause ?? known }, 'failed');
    else log.debug(facts, 'refused');
    const response = own(known) ?? problem(known, requestId, this.#open ? {} : { Connection: 'close' });
    metrics.answered(response.status);
    return response;
  }
}

/** Scripts of any page may read the answer. They never send a cookie with it, so they see what everybody sees. */
function finished(route: Route, response: Response): Response {
  if (route.cors) response.headers.set('Access-Control-Allow-Origin', '*');
  return response;
}

function preflight(allow: string): Response {
  const headers = {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': allow,
    // A wildcard does not stand for Authorization.
    'Access-Control-Allow-Headers': '*, Authorization',
    'Access-Control-Max-Age': '86400',
  };
  return new Response(null, { status: 204, headers });
}

async function readBody(
  services: Services,
  route: Route,
  request: Request,
  bounds: Bounds,
): Promise<unknown> {
  if (route.form === 'only') wantForm(request);
  const value =
    route.form !== undefined && isForm(request)
      ? await readForm(request, bounds, typeof route.form === 'function' ? route.form : fields)
      : await readJson(request, bounds, {
          mayBeEmpty: route.bodyOptional ?? false,
          maxValues: route.maxValues,
          seen: bytes => route.signed?.(bytes, request, services),
        });
  const body = fit(route.body as z.ZodType, value);
  if (route.anyText !== true) requireStorable(value);
  return body;
}

function readQuery(schema: z.ZodType, request: Request): unknown {
  const value = fields(new URL(request.url).searchParams);
  const query = fit(schema, value);
  requireStorable(value);
  return query;
}

/** Ids are plain text made by this service, so a parameter that cannot be stored matches nothing. */
function readParams({ params }: Bun.BunRequest): Record<string, string> {
  try {
    requireStorable(params);
  } catch (error) {
    throw new GuardError('not_found', 'Nothing has this id: it holds a character that no id has.', {
      cause: error,
    });
  }
  return params;
}
