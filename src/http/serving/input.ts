// What a route takes of a request: its body, its query and the parameters of its path, each as the route declares it.

import type { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import {
  type Bounds,
  fields,
  fit,
  isForm,
  readForm,
  readJson,
  requireForm,
  requireStorable,
} from './body.ts';
import type { Route } from './route.ts';
import type { Services } from './services.ts';

export async function readBody(
  services: Services,
  route: Route,
  request: Request,
  bounds: Bounds,
): Promise<unknown> {
  if (route.form === 'only') requireForm(request);
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

export function readQuery(schema: z.ZodObject | undefined, request: Request): unknown {
  if (schema === undefined) return undefined;
  const value = fields(new URL(request.url).searchParams);
  const query = fit(schema, value);
  requireStorable(value);
  return query;
}

const NO_PARAMS: Record<string, string> = {};

/** Ids are plain text made by this service, so a parameter that cannot be stored matches nothing. */
export function readParams({ path }: Route, request: Bun.BunRequest): Record<string, string> {
  // Reading the parameters is expensive in the runtime's router, so a path without any skips it.
  if (!path.includes(':')) return NO_PARAMS;
  const { params } = request;
  try {
    requireStorable(params);
  } catch (error) {
    throw new GuardError('not_found', 'Nothing has this id: it holds a character that no id has.', {
      cause: error,
    });
  }
  return params;
}
