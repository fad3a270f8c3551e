// /admin/v1/setup: creates the first admin, with the token of the one-time link that the service prints at its start,
// and signs them in. http/pages/setup.ts has the same as a page.

import { z } from 'zod';
import { setUpFirstAdmin } from '../../guard/people/setup.ts';
import { ROLES } from '../../store/operators.ts';
import { cookieFor } from '../serving/cookie.ts';
import { iso, isoTime, uuid } from '../serving/fields.ts';
import { requireSender } from '../serving/origin.ts';
import { type Incoming, type Route, route } from '../serving/route.ts';
import { browserOf } from './sign-ins.ts';

export const settingUp = z.strictObject({
  token: z.string().min(1).max(200),
  email: z.email('must be an e-mail address').max(320),
  password: z.string().max(1000),
});

/** Makes the first admin, and returns the cookie that carries their sign-in. */
export async function setUpFrom(incoming: Incoming<unknown, unknown>, input: z.output<typeof settingUp>) {
  const { deps, config } = incoming.services;
  const { operator, secret } = await setUpFirstAdmin(deps, input, browserOf(incoming));
  return { operator, cookie: cookieFor(config, secret) };
}

export const setupRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/v1/setup',
    access: 'public',
    tag: 'operators',
    summary: 'Create the first operator',
    description:
      'This works only while no admin can sign in, with the token of the one-time link printed at the last start. If an operator has this e-mail already, they become the admin. The answer sets a cookie, as that of a sign-in does.',
    body: settingUp,
    answers: {
      201: {
        description: 'The operator.',
        schema: z.object({ id: uuid, email: z.string(), role: z.enum(ROLES), createdAt: isoTime }),
      },
      410: {
        description:
          'The link is used, unknown or replaced by that of a later start, or there is an admin already.',
      },
    },
    handle: async incoming => {
      requireSender(incoming.services.config, incoming.request, 'own page', 'program');
      const { operator, cookie } = await setUpFrom(incoming, incoming.body);
      return Response.json(
        { ...operator, createdAt: iso(operator.createdAt) },
        { status: 201, headers: { 'Set-Cookie': cookie, 'Cache-Control': 'no-store' } },
      );
    },
  }),
];
