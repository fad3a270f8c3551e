// /admin/v1/join, sign-in, sign-out and me: accepting an invitation, signing in and out, and an operator's own sign-ins
// and password. http/pages/sign-in.ts has the same as pages that work without script.

import { z } from 'zod';
import { changePassword, joinOperators } from '../../guard/people/operators.ts';
import {
  type Browser,
  type SignedIn,
  signIn,
  signInsAlive,
  signOut,
  signOutEverywhere,
} from '../../guard/people/sign-ins.ts';
import { listSignIns } from '../../store/sign-ins.ts';
import { cookieFor, cookieGone, readCookie } from '../serving/cookie.ts';
import { before, iso, isoTime, list, page, paged, uuid } from '../serving/fields.ts';
import { requireSender } from '../serving/origin.ts';
import { actorOf, clientOf, type Incoming, type Route, route, signedInOf } from '../serving/route.ts';
import { operator, role, showOperator } from './operators.ts';

/** The e-mail is not validated: a text that is not an e-mail fails like a wrong password. */
export const credentials = z.strictObject({
  email: z.string().min(1).max(320),
  password: z.string().min(1).max(1000),
});

export const joining = z.strictObject({
  token: z.string().min(1).max(200),
  password: z.string().max(1000).meta({ description: 'At least 15 characters.' }),
});

/** Signs in with the credentials, and returns the cookie that carries the sign-in. */
export async function signInFrom(
  incoming: Incoming<unknown, unknown>,
  { email, password }: z.output<typeof credentials>,
) {
  const { deps, config } = incoming.services;
  const { operator, secret } = await signIn(deps, { email, password, ...browserOf(incoming) });
  return { operator, cookie: cookieFor(config, secret) };
}

/** Accepts the invitation, and returns the cookie that carries the new operator's sign-in. */
export async function joinFrom(incoming: Incoming<unknown, unknown>, input: z.output<typeof joining>) {
  const { deps, config } = incoming.services;
  const { operator, secret } = await joinOperators(deps, input, browserOf(incoming));
  return { operator, cookie: cookieFor(config, secret) };
}

export function browserOf(incoming: Incoming<unknown, unknown>): Browser {
  const { services, request } = incoming;
  return {
    ip: clientOf(incoming),
    userAgent: request.headers.get('user-agent') ?? '',
    replaces: readCookie(services.config, request),
  };
}

export const me = z.object({
  email: z.string().nullable().meta({ description: 'Null for the admin token.' }),
  role,
  groups: z.array(z.string()),
  actor: z.string().meta({ description: 'Your name in the log of changes.' }),
});

export function signedInAnswer(operator: SignedIn, cookie: string): Response {
  const headers = { 'Set-Cookie': cookie, 'Cache-Control': 'no-store' };
  return Response.json(showSignedIn(operator), { headers });
}

export function showSignedIn({ email, role, groups }: SignedIn): z.output<typeof me> {
  return { email, role, groups: [...groups], actor: `operator:${email}` };
}

const signInShown = z.object({
  id: uuid,
  createdAt: isoTime,
  lastUsedAt: isoTime,
  userAgent: z.string(),
  ip: z.string(),
  current: z.boolean(),
});

const tag = 'operators';
const noContent = (cookie: string) => new Response(null, { status: 204, headers: { 'Set-Cookie': cookie } });

export const signInRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/v1/join',
    access: 'public',
    tag,
    summary: 'Accept an invitation',
    description:
      'Send the token of the link by which somebody was invited or reset. The answer sets a cookie, as that of a sign-in does.',
    body: joining,
    answers: {
      200: { description: 'The operator.', schema: operator },
      410: { description: 'The invitation is used, unknown or too old.' },
    },
    handle: async incoming => {
      requireSender(incoming.services.config, incoming.request, 'own page', 'program');
      const { operator, cookie } = await joinFrom(incoming, incoming.body);
      const headers = { 'Set-Cookie': cookie, 'Cache-Control': 'no-store' };
      return Response.json(showOperator(operator), { headers });
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/sign-in',
    access: 'public',
    tag,
    summary: 'Sign in',
    description: 'The answer sets a cookie that is valid for 7 days, or for 12 hours without use.',
    body: credentials,
    answers: {
      200: { description: 'Who is signed in.', schema: me },
      401: { description: 'The e-mail or the password is wrong.' },
      429: { description: 'Too many failed attempts.' },
    },
    handle: async incoming => {
      requireSender(incoming.services.config, incoming.request, 'own page', 'program');
      const { operator, cookie } = await signInFrom(incoming, incoming.body);
      return signedInAnswer(operator, cookie);
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/sign-out',
    access: 'public',
    tag,
    summary: 'Sign out',
    answers: { 204: { description: 'The sign-in has ended, if there was one.' } },
    handle: async ({ services: { deps, config }, request }) => {
      const cookie = readCookie(config, request);
      if (cookie === null) return noContent(cookieGone(config));
      requireSender(config, request, 'own page');
      await signOut(deps, cookie);
      return noContent(cookieGone(config));
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/me',
    access: 'own',
    tag,
    summary: 'Who am I',
    answers: { 200: { description: 'The owner of the credential.', schema: me } },
    handle: incoming => {
      const actor = actorOf(incoming);
      const signedIn = incoming.who.kind === 'operator' ? incoming.who.signedIn : null;
      const { email, role, groups } = signedIn ?? { email: null, role: 'admin', groups: [] };
      return Response.json({ email, role, groups, actor }, { headers: { 'Cache-Control': 'no-store' } });
    },
  }),
  route({
    method: 'GET',
    path: '/admin/v1/me/sign-ins',
    access: 'own',
    tag,
    summary: 'List my sign-ins, newest first',
    query: z.strictObject(page),
    answers: { 200: { description: 'The valid sign-ins.', schema: list('signIns', signInShown) } },
    handle: async incoming => {
      const { services, query } = incoming;
      const { operatorId, signInId } = signedInOf(incoming);
      const alive = signInsAlive(services.deps.now());
      const rows = await listSignIns(services.deps.db, operatorId, alive, query.limit + 1, before(query));
      const shown = paged(
        'signIns',
        rows,
        query.limit,
        row => row.id,
        ({ id, createdAt, usedAt, userAgent, ip }) => ({
          id,
          createdAt: iso(createdAt),
          lastUsedAt: iso(usedAt),
          userAgent,
          ip,
          current: id === signInId,
        }),
      );
      return Response.json(shown);
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/v1/me/sign-ins',
    access: 'own',
    tag,
    summary: 'Sign out everywhere',
    answers: { 204: { description: 'All my sign-ins have ended, this one too.' } },
    handle: async incoming => {
      const { deps, config } = incoming.services;
      await signOutEverywhere(deps, signedInOf(incoming).operatorId);
      return noContent(cookieGone(config));
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/me/password',
    access: 'own',
    tag,
    summary: 'Change my password',
    description: 'Ends my other sign-ins.',
    body: z.strictObject({ current: z.string().min(1).max(1000), password: z.string().max(1000) }),
    answers: {
      204: { description: 'Changed.' },
      429: { description: 'Too many failed attempts.' },
    },
    handle: async incoming => {
      const { services, body } = incoming;
      await changePassword(services.deps, signedInOf(incoming), { ...body, ip: clientOf(incoming) });
      return new Response(null, { status: 204 });
    },
  }),
];
