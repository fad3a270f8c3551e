// /admin/v1/setup: the first admin, by the one-time link that the start prints.

import { z } from 'zod';
import { setUpFirstAdmin } from '../../guard/people/setup.ts';
import { ROLES } from '../../store/operators.ts';
import { iso, isoTime, uuid } from '../fields.ts';
import { type Route, route } from '../route.ts';

export const setupRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/v1/setup',
    access: 'public',
    tag: 'operators',
    summary: 'Create the first operator',
    description:
      'Only while no admin can sign in, with the token of the one-time link printed at the last start. An operator who has the e-mail already is taken over.',
    body: z.strictObject({
      token: z.string().min(1).max(200),
      email: z.email().max(320),
      password: z.string().max(1000),
    }),
    answers: {
      201: {
        description: 'The operator.',
        schema: z.object({ id: uuid, email: z.string(), role: z.enum(ROLES), createdAt: isoTime }),
      },
      410: {
        description:
          'The link is used, unknown or replaced by a later start’s, or there is an admin already.',
      },
    },
    handle: async ({ services, body }) => {
      const operator = await setUpFirstAdmin(services.deps, body);
      return Response.json({ ...operator, createdAt: iso(operator.createdAt) }, { status: 201 });
    },
  }),
];
