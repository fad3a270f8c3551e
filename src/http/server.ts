// The HTTP server: it accepts requests, finds the route of each, takes it through the steps of steps.ts, and
// makes a problem body of an error. The runtime's own router matches the paths;
// docs/decisions/0004-no-web-framework.md says why there is no framework.

import { GuardError, overloaded } from '../core/errors.ts';
import { firstRoutes } from './first-routes.ts';
import { OTHER_PATHS } from './later-paths.ts';
import { notFoundPages } from './pages/not-found.ts';
import { asGuardError, noSuchRoute, problem, STATUS } from './serving/errors.ts';
import type { Route } from './serving/route.ts';
import type { Services } from './serving/services.ts';
import { challenged, finished, incomingOf, STEPS, take } from './steps.ts';

/** The runtime refuses larger bodies. Each route has its own, smaller limit. */
const MAX_BODY = 128 * 1024 * 1024;
/**
 * How many requests are begun in one turn of the event loop; the others begin in the next. The runtime accepts
 * connections as long as any wait, and begins a request as soon as its connection is accepted. So fifty clients that
 * opened a connection for each request, and were answered at once, kept the runtime busy with new requests for seconds,
 * in which nobody else was served.
 */
const MOST_A_TURN = 128;
/**
 * The same for paths whose requests are refused under overload. A turn then brings thousands of checks, and putting off
 * those that are refused costs more than refusing them: the soak on SQLite had 10,000 verdicts a second in place of
 * 17,000.
 */
const MOST_CHECKS_A_TURN = 4096;
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
  const dispatcher = new Dispatcher(services);
  const table = dispatcher.byPath();
  const server = Bun.serve({
    hostname: host,
    port,
    reusePort,
    maxRequestBodySize: MAX_BODY,
    routes: table,
    fetch: dispatcher.inTurn(request => dispatcher.atNoPath(request)),
    error: error => dispatcher.refuse(null, error),
  });
  // The runtime counts a request until its answer is written, also if that is a stream.
  const isBusy = () => dispatcher.underWay > 0 || server.pendingRequests > 0;
  const stop: Serving['stop'] = async (graceMs, giveUp) => {
    dispatcher.close();
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
const notFoundPage = notFoundPages([...firstRoutes.map(({ path }) => path), ...OTHER_PATHS]);

type Handler = (request: Bun.BunRequest, server: Bun.Server<undefined>) => Response | Promise<Response>;

/** Accepts requests, runs their routes and counts those in progress. */
class Dispatcher {
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
    for (const { path, sheds } of firstRoutes)
      table[path] ??= this.inTurn(
        this.#atPath(path, firstRoutes),
        sheds === true ? MOST_CHECKS_A_TURN : MOST_A_TURN,
      );
    return table;
  }

  inTurn(handler: Handler, most = MOST_A_TURN): Handler {
    return (request, server) => {
      if (this.#begun++ === 0)
        setImmediate(() => {
          this.#begun = 0;
        });
      if (this.#begun <= most) return handler(request, server);
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

  /** The answer to a path that no route has. */
  atNoPath(request: Request): Response {
    return this.refuse(request, noSuchRoute(), () => notFoundPage(request));
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
    const taken = take(this.#services, route, request, server);
    this.underWay++;
    try {
      if (!this.#open) throw new GuardError('not_ready', 'The service is stopping.', { retryAfter: 1 });
      for (const step of STEPS) {
        const waits = step(taken);
        if (waits !== undefined) await waits;
      }
      const response = await route.handle(incomingOf(taken));
      this.#services.metrics.answered(response.status);
      return finished(taken, response);
    } catch (error) {
      const own = (known: GuardError) => route.refusal?.(known, request, taken.body) ?? null;
      return finished(taken, challenged(taken, this.refuse(request, error, own)));
    } finally {
      taken.ration.free();
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
