// POST /oauth/register: clients register themselves (RFC 7591). Every client is public, so there are no secrets; nothing is
// stored.

import { z } from 'zod';
import { registerClient } from '../../guard/people/oauth-clients.ts';
import { type Route, route } from '../serving/route.ts';
import { answering, NO_STORE, oauthRefusal } from './errors.ts';
import { SCOPE } from './metadata.ts';

const registration = z.looseObject({
  redirect_uris: z.array(z.string()).meta({ description: 'Loopback, well-known or listed addresses.' }),
  client_name: z.string().optional(),
});

const registered = z.object({
  client_id: z
    .string()
    .meta({ description: 'Says what was registered; the same for the same registration.' }),
  client_id_issued_at: z.int(),
  client_name: z.string(),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  response_types: z.array(z.string()),
  token_endpoint_auth_method: z.literal('none'),
  scope: z.string(),
});

export const registerRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/oauth/register',
    access: 'public',
    tag: 'oauth',
    onlyWith: 'oauth',
    cors: true,
    rateLimited: true,
    summary: 'Register a client (RFC 7591)',
    description:
      'What a client says about itself beyond its name and addresses is ignored. Every client becomes a public one.',
    body: registration,
    answers: {
      201: { description: 'The client.', schema: registered },
      400: { description: 'An error body of RFC 7591.' },
    },
    refusal: error => {
      const redirects = error.errors?.[0]?.path.startsWith('/redirect_uris');
      return oauthRefusal(error, redirects ? 'invalid_redirect_uri' : 'invalid_client_metadata');
    },
    handle: ({ services: { deps, config }, body }) =>
      answering(async () => {
        const said = { name: body.client_name, redirectUris: body.redirect_uris };
        const client = registerClient(deps, said, config.oauthRedirects);
        const answer: z.output<typeof registered> = {
          client_id: client.id,
          client_id_issued_at: Math.floor(deps.now() / 1000),
          client_name: client.name,
          redirect_uris: [...client.redirectUris],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
          scope: SCOPE,
        };
        return Response.json(answer, { status: 201, headers: NO_STORE });
      }),
  }),
];
