// POST /oauth/revoke: a client disconnects itself (RFC 7009).

import { z } from 'zod';
import { OAuthError } from '../../guard/people/oauth-error.ts';
import { revokeByToken } from '../../guard/people/oauth-tokens.ts';
import { type Route, route } from '../serving/route.ts';
import { answering, NO_STORE, oauthRefusal } from './errors.ts';

export const revokeRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/oauth/revoke',
    access: 'public',
    tag: 'oauth',
    onlyWith: 'oauth',
    cors: true,
    summary: 'End a connection by one of its tokens (RFC 7009)',
    description: 'The body is a form. Either token ends the whole connection; an unknown token is no error.',
    body: z.looseObject({
      token: z.string().max(200).optional(),
      client_id: z.string().max(4000).optional(),
    }),
    form: 'only',
    answers: {
      200: { description: 'Ended, or unknown.' },
      400: { description: 'An error body of RFC 6749.' },
    },
    refusal: error => oauthRefusal(error),
    handle: ({ services: { deps }, body }) =>
      answering(async () => {
        if (body.token === undefined)
          throw new OAuthError('invalid_request', 'The parameter token is missing.');
        await revokeByToken(deps, body.token, body.client_id);
        return new Response(null, { headers: NO_STORE });
      }),
  }),
];
