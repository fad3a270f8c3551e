// /dashboard/sign-in/oidc: redirects to the single sign-on provider, and handles the return. Errors are shown on the
// sign-in page, where the password still works and the page to return to is kept.

import { z } from 'zod';
import { GuardError } from '../../core/errors.ts';
import type { Provider } from '../../guard/people/provider.ts';
import { takeReturnPath } from '../../guard/people/return-targets.ts';
import { beginSignOn, finishSignOn, takeReturned } from '../../guard/people/single-sign-on.ts';
import { browserOf } from '../admin/sign-ins.ts';
import { cookieFor, readSignOnCookie, signOnCookie, signOnCookieGone } from '../serving/cookie.ts';
import { baseUrl } from '../serving/origin.ts';
import { clientOf, type Incoming, type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';
import { HOME } from './dashboard.ts';
import { expected, next, refusal, seeOther, signInForm } from './sign-in.ts';

const BEGIN = '/dashboard/sign-in/oidc';
const BACK = `${BEGIN}/callback`;
const tag = 'operators';
const page = (description: string) => ({ description, type: 'text/html' });

const answers = {
  404: page('Single sign-on is not set up.'),
  429: page('Too many failed attempts.'),
  503: page('The provider cannot be reached; the password still works.'),
};

export const signOnRoutes: Route[] = [
  route({
    method: 'GET',
    path: BEGIN,
    access: 'public',
    tag,
    summary: 'Sign in with the single sign-on provider',
    query: z.strictObject({ continue: next }),
    answers: { 303: { description: 'Redirects to the provider.' }, ...answers },
    refusal,
    handle: begin,
  }),
  route({
    method: 'GET',
    path: BACK,
    access: 'public',
    tag,
    summary: 'Where the provider sends people back to',
    description: 'Works once, in the browser that began. Providers may add other parameters to the query.',
    query: z.looseObject({ state: z.string().max(200).default('') }),
    answers: {
      303: {
        description: 'Signed in; redirects to the page that the person came from, or to the dashboard.',
      },
      401: page('The provider did not sign the person in.'),
      403: page('The person has no role here.'),
      410: page('Used, too old, or begun in another browser.'),
      ...answers,
    },
    refusal,
    handle: finish,
  }),
];

async function begin(incoming: Incoming<unknown, { continue: string }>): Promise<Response> {
  const { services, request, query } = incoming;
  const provider = requireProvider(services);
  refuseEmbedded(request);
  try {
    const redirectUri = baseUrl(services.config, request) + BACK;
    const ip = clientOf(incoming);
    const begun = await beginSignOn(services.deps, provider, { redirectUri, next: query.continue, ip });
    return seeOther(begun.url, { 'Set-Cookie': signOnCookie(services.config, begun.browser) });
  } catch (error) {
    return complain(incoming, error, query.continue);
  }
}

/** A page of another site could use up somebody's attempts with images or frames. An ordinary link is allowed. */
function refuseEmbedded({ headers }: Request): void {
  if ((headers.get('sec-fetch-dest') ?? 'document') === 'document') return;
  throw new GuardError('forbidden', 'A sign-in begins on a page of its own.');
}

async function finish(incoming: Incoming<unknown, { state: string }>): Promise<Response> {
  const { services, request, query } = incoming;
  const { deps, config } = services;
  const provider = requireProvider(services);
  let goesOn = '';
  try {
    const returned = await takeReturned(deps, query.state, readSignOnCookie(config, request) ?? '');
    goesOn = returned.next;
    const { searchParams } = new URL(request.url);
    const { secret } = await finishSignOn(deps, provider, returned, searchParams, browserOf(incoming));
    const target = goesOn === '' ? null : await takeReturnPath(deps, goesOn);
    const response = seeOther(target ?? HOME, { 'Set-Cookie': cookieFor(config, secret) });
    response.headers.append('Set-Cookie', signOnCookieGone(config));
    return response;
  } catch (error) {
    return complain(incoming, error, goesOn);
  }
}

function requireProvider({ signOn }: Services): Provider {
  if (signOn === null) throw new GuardError('not_found', 'Single sign-on is not set up here.');
  return signOn;
}

function complain(
  { services, request }: Pick<Incoming<unknown, unknown>, 'services' | 'request'>,
  error: unknown,
  goesOn: string,
): Promise<Response> {
  const complaint = expected(error);
  const { cause } = error as GuardError;
  services.log.warn({ status: complaint.status, err: cause ?? error }, 'a single sign-on failed');
  return signInForm(services, request, { next: goesOn, complaint });
}
