// /admin/v1/oauth-clients: the OAuth clients that an admin registers. Others register themselves and are not listed.

import { z } from 'zod';
import { createOAuthClient, removeOAuthClient } from '../../guard/people/oauth-clients.ts';
import { redirectFault } from '../../guard/people/redirects.ts';
import { listOAuthClients, type OAuthClientRecord } from '../../store/oauth.ts';
import { before, iso, isoTime, label, list, page, paged, text, uuid } from '../serving/fields.ts';
import { actorOf, type Route, route } from '../serving/route.ts';

const MAX_REDIRECTS = 20;

const client = z.object({
  clientId: uuid,
  name: z.string(),
  redirectUris: z.array(z.string()),
  createdAt: isoTime,
});

function show({ id, name, redirectUris, createdAt }: OAuthClientRecord): z.output<typeof client> {
  return { clientId: id, name, redirectUris, createdAt: iso(createdAt) };
}

const tag = 'oauth clients';

export const oauthClientRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/v1/oauth-clients',
    access: 'view',
    tag,
    summary: 'List registered OAuth clients, newest first',
    query: z.strictObject(page),
    answers: { 200: { description: 'OAuth clients.', schema: list('oauthClients', client) } },
    handle: async ({ services, query }) => {
      const rows = await listOAuthClients(services.deps.db, query.limit + 1, before(query));
      return Response.json(paged('oauthClients', rows, query.limit, row => row.id, show));
    },
  }),
  route({
    method: 'POST',
    path: '/admin/v1/oauth-clients',
    access: 'admin',
    tag,
    summary: 'Register an OAuth client',
    description: 'It is a public client: it has no secret, and uses PKCE.',
    body: z.strictObject({
      name: label(1, 100, 'What people read when the client asks to be connected.'),
      redirectUris: z
        .array(
          text(redirectFault, 'https, loopback or an app’s address.', 'https://agent.example.com/callback'),
        )
        .min(1)
        .max(MAX_REDIRECTS)
        .meta({
          description:
            'Where the client may be sent. They are compared exactly; on loopback the port may differ.',
        }),
    }),
    answers: { 201: { description: 'Registered.', schema: client } },
    handle: async incoming => {
      const { services, body } = incoming;
      const created = await createOAuthClient(services.deps, actorOf(incoming), body);
      return Response.json(show(created), { status: 201 });
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/v1/oauth-clients/:clientId',
    access: 'admin',
    tag,
    summary: 'Remove an OAuth client',
    description: 'Also ends what people have connected with it.',
    answers: { 204: { description: 'Removed.' } },
    handle: async incoming => {
      const { services, params } = incoming;
      await removeOAuthClient(services.deps, actorOf(incoming), params['clientId'] ?? '');
      return new Response(null, { status: 204 });
    },
  }),
];
