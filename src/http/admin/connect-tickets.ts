// /admin/v1/connect-tickets: a ticket for one client on another machine. http/agent/connect.ts has what the ticket is good for.

import { z } from 'zod';
import { CLIENT_IDS } from '../../core/clients/clients.ts';
import { makeTicket } from '../../guard/people/connect-tickets.ts';
import { urlOf } from '../agent/connect.ts';
import { iso, isoTime, uuid } from '../serving/fields.ts';
import { ownExecutable } from '../serving/own-executable.ts';
import { actorOf, type Route, route } from '../serving/route.ts';

export const connectTicketRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/v1/connect-tickets',
    access: 'admin',
    tag: 'keys',
    summary: 'Make a command that connects a client on another machine',
    description:
      'The command contains a ticket that is good for one key with this policy, for 15 minutes. It is shown in this answer only.',
    body: z.strictObject({ client: z.enum(CLIENT_IDS), policyId: uuid }),
    answers: {
      201: {
        description: 'The command, for a POSIX shell.',
        schema: z.object({
          command: z.string(),
          expiresAt: isoTime,
          platform: z.string().nullable().meta({
            description:
              'For which the service hands out its own executable; elsewhere Toolgate has to be installed.',
          }),
        }),
      },
    },
    handle: async incoming => {
      const { services, request, who, body } = incoming;
      const signInId = who.kind === 'operator' ? (who.signedIn?.signInId ?? null) : null;
      const ticket = { ...body, actor: actorOf(incoming), signInId };
      const { token, expiresAt } = await makeTicket(services.deps, ticket);
      const command = `curl -fsS '${urlOf(services, request)}/connect.sh?token=${token}' | sh`;
      const platform = (await ownExecutable())?.platform ?? null;
      return Response.json(
        { command, expiresAt: iso(expiresAt), platform },
        { status: 201, headers: { 'Cache-Control': 'no-store' } },
      );
    },
  }),
];
