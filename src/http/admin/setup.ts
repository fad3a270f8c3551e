// /admin/v1/setup: creates the first admin, with the token of the one-time link that the service prints at its start.

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
      'This works only while no admin can sign in, with the token of the one-time link printed at the last start. If an operator has this e-mail already, they become the admin.',
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
          'The link is used, unknown or replaced by that of a later start, or there is an admin already.',
      },
    },
    handle: async ({ services, body }) => {
      const operator = await setUpFirstAdmin(services.deps, body);
      return Response.json({ ...operator, createdAt: iso(operator.createdAt) }, { status: 201 });
    },
  }),
];
