// /dashboard/sign-in and /dashboard/join: the routes of admin/sign-ins.ts as pages. The page that a person returns to
// after signing in is kept on the server; the form has only a name for it.

import { z } from 'zod';
import type { GuardError } from '../../core/errors.ts';
import { parseJson } from '../../core/wire/json.ts';
import { invitedBy } from '../../guard/people/operators.ts';
import { rpOf } from '../../guard/people/passkeys.ts';
import { keepReturnPath, takeReturnPath } from '../../guard/people/return-targets.ts';
import { adminExists } from '../../guard/people/setup.ts';
import { signOut } from '../../guard/people/sign-ins.ts';
import { passkeySignInFrom } from '../admin/passkeys.ts';
import { credentials, joinFrom, joining, signInFrom } from '../admin/sign-ins.ts';
import { fields } from '../serving/body.ts';
import { cookieGone, readCookie } from '../serving/cookie.ts';
import { asGuardError, STATUS } from '../serving/errors.ts';
import { requireSender } from '../serving/origin.ts';
import { signedChallenge } from '../serving/passkey-fields.ts';
import { type Incoming, type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';
import { HOME } from './dashboard.ts';
import { type Complaint, joinPage, refusedPage, type SignInPage, signInPage } from './sign-in-page.ts';

export const next = z.string().max(100).default('');
const tag = 'operators';
const asPage = { description: 'A page.', type: 'text/html' };
/** Internal errors are left to the server, which logs them. */
export const refusal = (error: GuardError) =>
  STATUS[error.code] >= 500 ? null : refusedPage('This request cannot be used', complaintOf(error));

const form = credentials.extend({ continue: next });
const passkeyForm = z.strictObject({ response: signedChallenge, continue: next });

export const signInPageRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/dashboard/sign-out',
    access: 'public',
    tag,
    summary: 'Sign out by a form',
    answers: { 303: { description: 'Signed out; redirects to the sign-in.' } },
    refusal,
    handle: async ({ services: { deps, config }, request }) => {
      const cookie = readCookie(config, request);
      if (cookie !== null) {
        requireSender(config, request, 'own page');
        await signOut(deps, cookie);
      }
      return seeOther('/dashboard/sign-in', { 'Set-Cookie': cookieGone(config) });
    },
  }),
  route({
    method: 'GET',
    path: '/dashboard/sign-in',
    access: 'public',
    tag,
    summary: 'The page to sign in on',
    query: z.strictObject({ continue: next }),
    answers: { 200: asPage },
    refusal,
    handle: ({ services, request, query }) => signInForm(services, request, { next: query.continue }),
  }),
  route({
    method: 'POST',
    path: '/dashboard/sign-in',
    access: 'public',
    tag,
    summary: 'Sign in by a form',
    description: 'Redirects to the page that the person came from, or to the dashboard.',
    body: form,
    form: true,
    answers: { 303: { description: 'Signed in.' }, 401: asPage, 429: asPage },
    refusal,
    handle: signInByForm,
  }),
  route({
    method: 'POST',
    path: '/dashboard/sign-in/passkey',
    access: 'public',
    tag,
    summary: 'Sign in with a passkey by a form',
    description: 'In a form, `response` is JSON. Redirects as the sign-in with a password does.',
    body: passkeyForm,
    form: params => {
      const { response = 'null', ...rest } = fields(params);
      return { ...rest, response: parseJson(response) };
    },
    answers: { 303: { description: 'Signed in.' }, 401: asPage, 410: asPage, 429: asPage },
    refusal,
    handle: passkeyByForm,
  }),
  route({
    method: 'GET',
    path: '/dashboard/join',
    access: 'public',
    tag,
    summary: 'The page behind an invitation’s link',
    query: z.strictObject({ token: z.string().max(200).default('') }),
    answers: { 200: asPage, 410: asPage },
    refusal,
    handle: ({ services, query }) => invitationPage({ services }, query.token, null),
  }),
  route({
    method: 'POST',
    path: '/dashboard/join',
    access: 'public',
    tag,
    summary: 'Accept an invitation by a form',
    body: joining,
    form: true,
    answers: {
      303: { description: 'Joined and signed in; redirects to the dashboard.' },
      400: asPage,
      410: asPage,
    },
    refusal,
    handle: joinByForm,
  }),
];

async function signInByForm(incoming: Incoming<z.output<typeof form>, unknown>): Promise<Response> {
  const { services, request, body } = incoming;
  requireSender(services.config, request, 'own page');
  try {
    const { email, password } = body;
    const { cookie } = await signInFrom(incoming, { email, password });
    return await signedIn(incoming, cookie);
  } catch (error) {
    const given = { email: body.email, next: body.continue, complaint: expected(error) };
    return signInForm(services, request, given);
  }
}

async function passkeyByForm(incoming: Incoming<z.output<typeof passkeyForm>, unknown>): Promise<Response> {
  const { services, request, body } = incoming;
  requireSender(services.config, request, 'own page');
  try {
    const { cookie } = await passkeySignInFrom(incoming, body.response);
    return await signedIn(incoming, cookie);
  } catch (error) {
    return signInForm(services, request, { next: body.continue, complaint: expected(error) });
  }
}

/** Goes on to the page that the person came from. */
async function signedIn(
  { services: { deps }, body }: Incoming<{ continue: string }, unknown>,
  cookie: string,
): Promise<Response> {
  const target = body.continue === '' ? null : await takeReturnPath(deps, body.continue);
  return seeOther(target ?? HOME, { 'Set-Cookie': cookie });
}

async function joinByForm(incoming: Incoming<z.output<typeof joining>, unknown>): Promise<Response> {
  const { services, request, body } = incoming;
  requireSender(services.config, request, 'own page');
  try {
    const { cookie } = await joinFrom(incoming, body);
    return seeOther(HOME, { 'Set-Cookie': cookie });
  } catch (error) {
    return invitationPage(incoming, body.token, expected(error));
  }
}

async function invitationPage(
  { services }: Pick<Incoming<unknown, unknown>, 'services'>,
  token: string,
  complaint: Complaint | null,
): Promise<Response> {
  const invited = await invitedBy(services.deps, token);
  if (invited !== null) return joinPage({ token, email: invited.email, role: invited.role, complaint });
  const message = 'This invitation is used, unknown or too old. Ask for a new one.';
  return refusedPage('This invitation does not work', { status: 410, message });
}

/** The page to sign in on, which also says whether anybody can. */
export async function signInForm(
  services: Services,
  request: Request,
  given: Partial<SignInPage>,
): Promise<Response> {
  const setupIsOpen = !(await adminExists(services.deps));
  const provider = providerHost(services);
  const passkeysAt = rpOf(services.config, request)?.origin ?? null;
  return signInPage({ email: '', next: '', complaint: null, ...given, provider, passkeysAt, setupIsOpen });
}

/** The host of the provider, by which people recognise it. */
function providerHost({ signOn }: Services): string | null {
  return signOn === null ? null : new URL(signOn.settings.oidcIssuer).host;
}

/** Redirects to the sign-in page, which leads back to this path afterwards. A HEAD request needs no way back. */
export async function toSignIn(
  { services, request }: Pick<Incoming<unknown, unknown>, 'services' | 'request'>,
  path: string,
): Promise<Response> {
  if (request.method === 'HEAD') return seeOther('/dashboard/sign-in');
  return seeOther(`/dashboard/sign-in?continue=${await keepReturnPath(services.deps, path)}`);
}

export function seeOther(location: string, headers: Record<string, string> = {}): Response {
  return new Response(null, {
    status: 303,
    headers: { Location: location, 'Cache-Control': 'no-store', ...headers },
  });
}

/** The error as a message to the person. Internal errors are thrown on to the server, which logs them. */
export function expected(error: unknown): Complaint {
  const known = asGuardError(error);
  if (STATUS[known.code] === 500) throw error;
  return complaintOf(known);
}

function complaintOf(error: GuardError): Complaint {
  const [fault] = error.errors ?? [];
  const message = fault === undefined ? error.message : `${capital(fault.path.slice(1))} ${fault.message}.`;
  return { status: STATUS[error.code], message, retryAfter: error.retryAfter };
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
