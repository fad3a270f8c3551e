// /dashboard: the frame of the dashboard, at every address that it may show, and the files it loads. Who is
// not signed in is led to the sign-in and comes back to the same address. What the pages show comes from the
// administration's own routes.

import { GuardError } from '../core/errors.ts';
import { keepReturnPath } from '../guard/return-targets.ts';
import { signedInOperator } from './auth.ts';
import { type Asset, dashboard } from './dashboard-assets.ts';
import { framePage } from './dashboard-page.ts';
import { clientOf, type Incoming, type Route, route } from './route.ts';

export const HOME = '/dashboard';
const SIGN_IN = '/dashboard/sign-in';
const tag = 'dashboard';
const answers = {
  200: { description: 'The dashboard.', type: 'text/html' },
  303: { description: 'Nobody is signed in; leads to the sign-in.' },
};
const deeper = (path: string, summary: string): Route =>
  route({ method: 'GET', path, access: 'public', tag, summary, answers, handle: show });

export const dashboardRoutes: Route[] = [
  deeper(HOME, 'The dashboard'),
  deeper('/dashboard/:page', 'A page of the dashboard'),
  deeper('/dashboard/:page/:id', 'One thing on a page of the dashboard'),
  route({
    method: 'GET',
    path: '/dashboard/assets/:file',
    access: 'public',
    tag,
    summary: 'A file of the dashboard',
    answers: { 200: { description: 'Script or style; its name changes with it.', type: 'text/javascript' } },
    handle: async ({ params, request }) => {
      const asset = (await dashboard()).assets.get(params['file'] ?? '');
      if (asset === undefined) throw new GuardError('not_found', 'There is no such file.');
      return fileOf(asset, request);
    },
  }),
];

async function show(incoming: Incoming<unknown, unknown>): Promise<Response> {
  const operator = await signedInOperator(incoming.services, incoming.request);
  if (operator === null) return toSignIn(incoming);
  return framePage(await dashboard());
}

/** Keeping an address writes a row, so that strangers may ask for it only so often. */
async function toSignIn(incoming: Incoming<unknown, unknown>): Promise<Response> {
  const { services, request } = incoming;
  const { pathname, search } = new URL(request.url);
  let location = SIGN_IN;
  if (pathname !== HOME || search !== '') {
    await services.approveLimit.admit(clientOf(incoming), services.guard.now());
    location += `?continue=${await keepReturnPath(services.guard, pathname + search)}`;
  }
  return new Response(null, { status: 303, headers: { Location: location, 'Cache-Control': 'no-store' } });
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
