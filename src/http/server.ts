// The contents page of the web surface: every route in one list, and what happens to a request on its way:
// request id, authentication, body, handler; errors become problem bodies here, once.

import { Hono } from 'hono';
import { GuardError } from '../core/errors.ts';
import { adminRoutes } from './admin/routes.ts';
import { identify } from './auth.ts';
import { fit, readJson } from './body.ts';
import { checkRoutes } from './check.ts';
import { asGuardError, problem, STATUS } from './errors.ts';
import { healthRoutes } from './health.ts';
import { openapiRoutes } from './openapi.ts';
import type { Incoming, Route, Services } from './route.ts';
import { sessionRoutes } from './sessions.ts';

export const routes: Route[] = [
  ...checkRoutes,
  ...sessionRoutes,
  ...adminRoutes,
  ...healthRoutes,
  ...openapiRoutes(() => routes),
];

export type Handler = (request: Request) => Response | Promise<Response>;

export function createHandler(services: Services): Handler {
  const app = new Hono();
  for (const route of routes) {
    app.on(route.method, route.path, context =>
      answer(services, route, context.req.raw, context.req.param() as Record<string, string>),
    );
  }
  for (const [path, allow] of methodsByPath()) {
    app.all(path, context => {
      const error = new GuardError('method_not_allowed', `This path takes ${allow}.`);
      return refuse(services, context.req.raw, error, { Allow: allow });
    });
  }
  app.notFound(context =>
    refuse(services, context.req.raw, new GuardError('not_found', 'There is nothing here.')),
  );
  app.onError((error, context) => refuse(services, context.req.raw, error));
  return request => {
    if (services.open()) return app.fetch(request);
    const stopping = new GuardError('not_ready', 'The service is stopping.', { retryAfter: 1 });
    return refuse(services, request, stopping, { Connection: 'close' });
  };
}

async function answer(
  services: Services,
  route: Route,
  request: Request,
  params: Record<string, string>,
): Promise<Response> {
  const startedAt = performance.now();
  try {
    const identified = identify(services, request, route.access);
    const who = identified instanceof Promise ? await identified : identified;
    const body =
      route.body === undefined ? undefined : fit(route.body, await readBody(services, route, request));
    const query = route.query === undefined ? undefined : fit(route.query, readQuery(request.url));
    const incoming = { services, request, startedAt, who, params, body, query } as Incoming<never, never>;
    const response = await route.handle(incoming);
    services.metrics.answered(response.status);
    services.log.debug({ method: route.method, route: route.path, status: response.status }, 'answered');
    return response;
  } catch (error) {
    return refuse(services, request, error);
  }
}

function readBody(services: Services, route: Route, request: Request) {
  return readJson(request, services.config[route.bodyLimit ?? 'bodyLimit'], route.bodyOptional ?? false);
}

/** Every parameter once: a repeated one has no single meaning. */
function readQuery(url: string): Record<string, string> {
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of new URL(url).searchParams) {
    if (name in query)
      throw new GuardError('invalid_input', `The parameter ${JSON.stringify(name)} is repeated.`);
    query[name] = value;
  }
  return query;
}

function refuse(
  services: Services,
  request: Request,
  error: unknown,
  headers: Record<string, string> = {},
): Response {
  const known = asGuardError(error);
  const requestId = Bun.randomUUIDv7();
  const status = STATUS[known.code];
  services.metrics.answered(status);
  if (status === 500) {
    services.log.error(
      { requestId, method: request.method, code: known.code, err: known.cause ?? known },
      'failed',
    );
  } else {
    services.log.debug({ requestId, method: request.method, code: known.code, status }, 'refused');
  }
  return problem(known, requestId, headers);
}

function methodsByPath(): Map<string, string> {
  const methods = new Map<string, string>();
  for (const { path, method } of routes) {
    const known = methods.get(path);
    const added = method === 'GET' ? 'GET, HEAD' : method;
    methods.set(path, known === undefined ? added : `${known}, ${added}`);
  }
  return methods;
}
