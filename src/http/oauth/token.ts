// POST /oauth/token: codes and refresh tokens become access tokens (RFC 6749, with PKCE and RFC 8707).

import { z } from 'zod';
import { resourceFault } from '../../guard/people/oauth-codes.ts';
import { OAuthError } from '../../guard/people/oauth-error.ts';
import { exchangeCode, refreshTokens } from '../../guard/people/oauth-tokens.ts';
import { resourceOf } from '../serving/origin.ts';
import { clientOf, type Incoming, type Route, route } from '../serving/route.ts';
import { answering, NO_STORE, oauthRefusal } from './errors.ts';
import { SCOPE } from './metadata.ts';

const text = (max: number) => z.string().max(max).optional();

const form = z.looseObject({
  grant_type: text(100),
  client_id: text(4000),
  code: text(200),
  redirect_uri: text(500),
  code_verifier: text(200),
  refresh_token: text(200),
  resource: text(2048),
});

const answer = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int().meta({ description: 'Seconds.' }),
  refresh_token: z.string().meta({ description: 'Replaces the one that was sent.' }),
  scope: z.string(),
});

export const tokenRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/oauth/token',
    access: 'public',
    tag: 'oauth',
    onlyWith: 'oauth',
    cors: true,
    summary: 'Exchange a code or a refresh token (RFC 6749)',
    description: 'The body is a form. A parameter may appear once.',
    body: form,
    form: 'only',
    answers: {
      200: { description: 'The tokens.', schema: answer },
      400: { description: 'An error body of RFC 6749.' },
      429: { description: 'Too many failures from this address.' },
    },
    refusal: error => oauthRefusal(error),
    handle: incoming => answering(() => grant(incoming)),
  }),
];

type Form = z.output<typeof form>;

async function grant(incoming: Incoming<Form, unknown>): Promise<Response> {
  const { services, body } = incoming;
  try {
    const fault = resourceFault(body.resource, resourceOf(services.config));
    if (fault !== null) throw fault;
    const tokens = await tokensFor(incoming);
    const shown: z.output<typeof answer> = {
      access_token: tokens.accessToken,
      token_type: 'Bearer',
      expires_in: tokens.expiresInSeconds,
      refresh_token: tokens.refreshToken,
      scope: SCOPE,
    };
    return Response.json(shown, { headers: NO_STORE });
  } catch (error) {
    // Only failures count: many people's clients may come from one address.
    if (error instanceof OAuthError) {
      await services.approveLimit.admit(clientOf(incoming), services.deps.now());
    }
    throw error;
  }
}

function tokensFor({ services: { deps }, body }: Incoming<Form, unknown>) {
  const clientId = requireField(body, 'client_id');
  switch (requireField(body, 'grant_type')) {
    case 'authorization_code':
      return exchangeCode(deps, {
        code: requireField(body, 'code'),
        clientId,
        redirectUri: requireField(body, 'redirect_uri'),
        verifier: requireField(body, 'code_verifier'),
      });
    case 'refresh_token':
      return refreshTokens(deps, { refreshToken: requireField(body, 'refresh_token'), clientId });
    default:
      throw new OAuthError(
        'unsupported_grant_type',
        'The grant_type must be authorization_code or refresh_token.',
      );
  }
}

function requireField(
  body: Form,
  name: 'client_id' | 'grant_type' | 'code' | 'redirect_uri' | 'code_verifier' | 'refresh_token',
) {
  const value = body[name];
  if (value === undefined || value === '')
    throw new OAuthError('invalid_request', `The parameter ${name} is missing.`);
  return value;
}
