// /admin/v1/me/passkeys and /admin/v1/passkey-sign-in: an operator's own passkeys, and signing in with one. Each takes two
// requests: one for the browser's options, one with its answer. http/pages/sign-in.ts has the sign-in as a page.

import { z } from 'zod';
import { fingerprintOf } from '../../core/approvals/assertion.ts';
import {
  beginAdding,
  beginPasskeySignIn,
  finishAdding,
  finishPasskeySignIn,
  MAX_PASSKEYS,
  passkeysSignIn,
  removePasskey,
  renamePasskey,
  rpOf,
} from '../../guard/people/passkeys.ts';
import { listPasskeys, type PasskeyRecord } from '../../store/passkeys.ts';
import { cookieFor } from '../serving/cookie.ts';
import { iso, isoOrNull, isoTime, label } from '../serving/fields.ts';
import { requireSender } from '../serving/origin.ts';
import { browserOptions, madePasskey, requireRp, signedChallenge } from '../serving/passkey-fields.ts';
import { type Incoming, type Route, route, signedInOf } from '../serving/route.ts';
import { browserOf, me, signedInAnswer } from './sign-ins.ts';

const name = label(1, 60, 'A name by which the person tells it from their other passkeys.');

const passkey = z.object({
  id: z.string().meta({ description: 'The credential’s id, in base64url.' }),
  name: z.string(),
  fingerprint: z.string().meta({
    description: 'Of its public key: whoever verifies your approvals offline compares it.',
  }),
  createdAt: isoTime,
  lastUsedAt: isoTime.nullable(),
});

async function show({
  id,
  name,
  publicKey,
  createdAt,
  usedAt,
}: PasskeyRecord): Promise<z.output<typeof passkey>> {
  const fingerprint = await fingerprintOf(publicKey);
  return { id, name, fingerprint, createdAt: iso(createdAt), lastUsedAt: isoOrNull(usedAt) };
}

/** Signs in with the browser's answer, and returns the cookie that carries the sign-in. */
export async function passkeySignInFrom(
  incoming: Incoming<unknown, unknown>,
  response: z.output<typeof signedChallenge>,
) {
  const { services, request } = incoming;
  const rp = requireRp(services, request);
  const { operator, secret } = await finishPasskeySignIn(services.deps, rp, response, browserOf(incoming));
  return { operator, cookie: cookieFor(services.config, secret) };
}

const tag = 'operators';
const noStore = { headers: { 'Cache-Control': 'no-store' } };
const noAddress = { description: 'The address of the service cannot have passkeys.' };

export const passkeyRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/me/passkeys',
    access: 'own',
    tag,
    summary: 'List my passkeys, oldest first',
    answers: {
      200: {
        description: `All of them: nobody has more than ${MAX_PASSKEYS}.`,
        schema: z.object({
          passkeys: z.array(passkey),
          origin: z.string().nullable().meta({
            description:
              'The address on whose pages they work; null if browsers offer none for this service.',
          }),
          signIn: z.boolean().meta({
            description:
              'Whether I can sign in with them. Not if my role comes from single sign-on: then they only prove approvals.',
          }),
        }),
      },
    },
    handle: async incoming => {
      const { services, request } = incoming;
      const who = signedInOf(incoming);
      const own = await listPasskeys(services.deps.db, who.operatorId);
      const signIn = await passkeysSignIn(services.deps, who);
      const origin = rpOf(services.config, request)?.origin ?? null;
      return Response.json({ passkeys: await Promise.all(own.map(show)), origin, signIn }, noStore);
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/me/passkeys/options',
    access: 'own',
    tag,
    summary: 'Begin to add a passkey',
    description: 'Possible within 15 minutes after signing in.',
    answers: {
      200: { description: 'Valid for 5 minutes.', schema: browserOptions('parseCreationOptionsFromJSON') },
      409: noAddress,
    },
    handle: async incoming => {
      const { services, request } = incoming;
      const who = signedInOf(incoming);
      return Response.json(await beginAdding(services.deps, who, requireRp(services, request)), noStore);
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/me/passkeys',
    access: 'own',
    tag,
    summary: 'Add a passkey',
    body: z.strictObject({ name, response: madePasskey }),
    answers: {
      201: { description: 'The passkey.', schema: passkey },
      409: { description: 'It was added before, or you have too many.' },
      410: { description: 'The answer was used before, or took too long.' },
    },
    handle: async incoming => {
      const { services, request, body } = incoming;
      const who = signedInOf(incoming);
      const added = await finishAdding(services.deps, who, requireRp(services, request), body);
      return Response.json(await show(added), { status: 201 });
    },
  }),
  route({
    method: 'PATCH',
    path: '/admin/v1/me/passkeys/:id',
    access: 'own',
    tag,
    summary: 'Rename a passkey',
    body: z.strictObject({ name }),
    answers: { 200: { description: 'The passkey.', schema: passkey } },
    handle: async incoming => {
      const { services, params, body } = incoming;
      const who = signedInOf(incoming);
      return Response.json(
        await show(await renamePasskey(services.deps, who, params['id'] ?? '', body.name)),
      );
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/v1/me/passkeys/:id',
    access: 'own',
    tag,
    summary: 'Remove a passkey',
    description: 'Nobody can sign in with it any more. Sign-ins that it opened go on.',
    answers: {
      204: { description: 'Removed.' },
      409: { description: 'It is your only way to sign in.' },
    },
    handle: async incoming => {
      await removePasskey(incoming.services.deps, signedInOf(incoming), incoming.params['id'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/passkey-sign-in/options',
    access: 'public',
    tag,
    summary: 'Begin to sign in with a passkey',
    description: 'Names no passkey: the browser offers those that it has for this service.',
    rateLimited: true,
    answers: {
      200: { description: 'Valid for 5 minutes.', schema: browserOptions('parseRequestOptionsFromJSON') },
      409: noAddress,
      429: { description: 'Too many requests from your address.' },
    },
    handle: ({ services, request }) => {
      requireSender(services.config, request, 'own page', 'program');
      return Response.json(beginPasskeySignIn(services.deps, requireRp(services, request)), noStore);
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/passkey-sign-in',
    access: 'public',
    tag,
    summary: 'Sign in with a passkey',
    description: 'The answer sets a cookie, as that of a sign-in with a password does.',
    body: z.strictObject({ response: signedChallenge }),
    answers: {
      200: { description: 'Who is signed in.', schema: me },
      401: { description: 'The passkey is not known here, or it did not verify the person.' },
      403: { description: 'The person’s role comes from single sign-on.' },
      410: { description: 'The answer was used before, or took too long.' },
      429: { description: 'Too many failed attempts.' },
    },
    handle: async incoming => {
      requireSender(incoming.services.config, incoming.request, 'own page', 'program');
      const { operator, cookie } = await passkeySignInFrom(incoming, incoming.body.response);
      return signedInAnswer(operator, cookie);
    },
  }),
];
