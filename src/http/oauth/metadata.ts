// What clients read about this service before they sign in: the metadata of the protected resource /mcp (RFC 9728) and of
// the authorization server (RFC 8414), and the challenge that leads them there. All addresses are made from
// TOOLGATE_PUBLIC_URL, never from what a request says.

import { z } from 'zod';
import type { Config } from '../../settings/config.ts';
import { issuerOf, resourceOf } from '../serving/origin.ts';
import { type Route, route } from '../serving/route.ts';

export const SCOPE = 'mcp';
const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';
const SERVER_METADATA = '/.well-known/oauth-authorization-server';

/** The WWW-Authenticate header of a 401 on /mcp. */
export function challenge(config: Config, request: Request): string {
  const where = `resource_metadata="${issuerOf(config)}${RESOURCE_METADATA}/mcp", scope="${SCOPE}"`;
  return `Bearer ${where}${request.headers.has('authorization') ? ', error="invalid_token"' : ''}`;
}

const resource = z.object({
  resource: z.string(),
  authorization_servers: z.array(z.string()),
  scopes_supported: z.array(z.string()),
  bearer_methods_supported: z.array(z.string()),
  resource_name: z.string(),
});

function resourceMetadata(config: Config): z.output<typeof resource> {
  return {
    resource: resourceOf(config),
    authorization_servers: [issuerOf(config)],
    scopes_supported: [SCOPE],
    bearer_methods_supported: ['header'],
    resource_name: 'Toolgate',
  };
}

const texts = z.array(z.string());
const server = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  registration_endpoint: z.string(),
  revocation_endpoint: z.string(),
  response_types_supported: texts,
  response_modes_supported: texts,
  grant_types_supported: texts,
  scopes_supported: texts,
  code_challenge_methods_supported: texts,
  token_endpoint_auth_methods_supported: texts,
  revocation_endpoint_auth_methods_supported: texts,
  client_id_metadata_document_supported: z.boolean(),
  authorization_response_iss_parameter_supported: z.boolean(),
});

function serverMetadata(config: Config): z.output<typeof server> {
  const issuer = issuerOf(config);
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    scopes_supported: [SCOPE],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  };
}

/** Clients ask with and without the path of the resource. */
export const metadataRoutes: Route[] = ['', '/mcp'].flatMap(suffix => [
  published(
    RESOURCE_METADATA + suffix,
    'Metadata of /mcp as a protected resource (RFC 9728)',
    resource,
    resourceMetadata,
  ),
  published(
    SERVER_METADATA + suffix,
    'Metadata of the authorization server (RFC 8414)',
    server,
    serverMetadata,
  ),
]);

function published(
  path: string,
  summary: string,
  schema: z.ZodType,
  metadata: (config: Config) => object,
): Route {
  return route({
    method: 'GET',
    path,
    access: 'public',
    tag: 'oauth',
    onlyWith: 'oauth',
    cors: true,
    summary,
    answers: { 200: { description: 'The metadata.', schema } },
    handle: ({ services }) =>
      Response.json(metadata(services.config), { headers: { 'Cache-Control': 'public, max-age=300' } }),
  });
}
