// /dashboard: the page of the dashboard, under every address that the dashboard shows, and the files that it loads.
// Signed-out visitors are redirected to the sign-in and return to the same address. The pages read their data from the
// routes of the administration.

import { GuardError } from '../../core/errors.ts';
import { keepReturnPath } from '../../guard/people/return-targets.ts';
import { signedInOperator } from '../serving/auth.ts';
import { noSuchRoute } from '../serving/errors.ts';
import { resourceOf } from '../serving/origin.ts';
import { clientOf, type Incoming, type Route, route } from '../serving/route.ts';
import { dashboard } from './dashboard-assets.ts';
import type { Asset } from './dashboard-build.ts';
import { framePage } from './dashboard-page.ts';
import { isBrowser } from './not-found.ts';

export const HOME = '/dashboard';
const SIGN_IN = '/dashboard/sign-in';
const tag = 'dashboard';
const answers = {
  200: { description: 'The dashboard.', type: 'text/html' },
  303: { description: 'Nobody is signed in; redirects to the sign-in.' },
};
const deeper = (path: string, summary: string): Route =>
  route({ method: 'GET', path, access: 'public', tag, summary, answers, handle: show });

/** Redirects people who type an address. Programs get a 404, since they have the wrong address. */
const leadsHome = (path: string): Route =>
  route({
    method: 'GET',
    path,
    access: 'public',
    tag,
    summary: `From ${path} to the dashboard`,
    answers: {
      303: { description: 'Redirects a browser to the dashboard.' },
      404: { description: 'The answer to clients that are not browsers.' },
    },
    handle: ({ request }) => {
      if (!isBrowser(request)) throw noSuchRoute();
      return new Response(null, { status: 303, headers: { Location: HOME } });
    },
  });

export const dashboardRoutes: Route[] = [
  leadsHome('/'),
  leadsHome('/dashboard/'),
  deeper(HOME, 'The dashboard'),
  deeper('/dashboard/:page', 'A page of the dashboard'),
  deeper('/dashboard/:page/:id', 'One thing on a page of the dashboard'),
  route({
    method: 'GET',
    path: '/dashboard/assets/:file',
    access: 'public',
    tag,
    summary: 'A file of the dashboard',
    answers: {
      200: { description: 'Script or style; a changed file has a new name.', type: 'text/javascript' },
    },
    handle: async ({ params, request }) => {
      const asset = (await dashboard()).assets.get(params['file'] ?? '');
      if (asset === undefined) throw new GuardError('not_found', 'There is no such file.');
      return fileOf(asset, request);
    },
  }),
];

async function show(incoming: Incoming<unknown, unknown>): Promise<Response> {
  const visitor = await signedInOperator(incoming.services, incoming.request);
  if (visitor === null) return toSignIn(incoming);
  const { config } = incoming.services;
  return framePage(await dashboard(), visitor.operator, config.oauth ? resourceOf(config) : '');
}

async function toSignIn(incoming: Incoming<unknown, unknown>): Promise<Response> {
  const { pathname, search } = new URL(incoming.request.url);
  const kept = pathname === HOME && search === '' ? null : await keep(incoming, pathname + search);
  const location = kept === null ? SIGN_IN : `${SIGN_IN}?continue=${kept}`;
  return new Response(null, { status: 303, headers: { Location: location, 'Cache-Control': 'no-store' } });
}

/** Keeping an address writes a row, so a client that asks too often can sign in but does not return to its address. */
async function keep(incoming: Incoming<unknown, unknown>, path: string): Promise<string | null> {
  const { deps, approveLimit } = incoming.services;
  try {
    await approveLimit.admit(clientOf(incoming), deps.now());
  } catch (error) {
    if (error instanceof GuardError && error.code === 'rate_limited') return null;
    throw error;
  }
  return keepReturnPath(deps, path);
}

function fileOf({ type, bytes, gzipped }: Asset, request: Request): Response {
  const zipped = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '');
  return new Response(zipped ? gzipped : bytes, {
    headers: {
      'Content-Type': type,
      'Cache-Control': 'public, max-age=31536000, immutable',
      'X-Content-Type-Options': 'nosniff',
      Vary: 'Accept-Encoding',
      ...(zipped ? { 'Content-Encoding': 'gzip' } : {}),
    },
  });
}
