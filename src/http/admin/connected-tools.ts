// /admin/v1/keys/:id/connected-tools: the MCP servers of a key, their health and their tools. tool-definitions.ts has the
// definitions of the tools.

import { z } from 'zod';
import { invalidInput } from '../../core/errors.ts';
import { noSuchKey } from '../../guard/keys.ts';
import { urlFault } from '../../guard/outgoing/addresses.ts';
import {
  connectTool,
  decryptOAuth,
  disconnectTool,
  noSuchTool,
  type OAuthSettings,
} from '../../guard/tool-servers/connected-tools.ts';
import type { Upstream } from '../../mcp/upstream.ts';
import {
  type ConnectedTool,
  listConnectedTools,
  listDefinitions,
  TRANSPORTS,
} from '../../store/connected-tools.ts';
import { findKey } from '../../store/keys.ts';
import { iso, isoOrNull, isoTime, list, text, uuid } from '../serving/fields.ts';
import { actorOf, holdOpen, type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';
import { seesAll, withoutSecrets } from '../serving/shown-address.ts';
import { showSignIn, signInState } from './server-sign-ins.ts';

export const name = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,31}$/,
    'must be lower-case letters, digits and "-", at most 32, not starting with "-"',
  )
  .meta({
    description: 'The prefix of its tools: `<name>__<tool>`. A short one leaves room for tool names.',
  });

const header = z.string().regex(/^[\x20-\x7e]*$/, 'must be printable ASCII');
const FORBIDDEN = /^(host|content-length|content-type|accept|connection|transfer-encoding|mcp-.*)$/i;
export const headers = z
  .record(z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be a header name'), header)
  .refine(
    value => !Object.keys(value).some(key => FORBIDDEN.test(key)),
    'must not set headers of the transport',
  )
  .optional()
  .meta({
    description:
      'Headers sent with every request to the server, for credentials. Stored encrypted, never shown.',
  });

/** What RFC 6749 allows in a scope. */
const scope = z
  .string()
  .max(200)
  .regex(
    /^[\x21\x23-\x5b\x5d-\x7e]+$/,
    'must be a scope: printable ASCII without spaces, quotes and backslashes',
  );

/** How we sign in to a server that wants OAuth. */
export const oauth = z
  .strictObject({
    as: z.enum(['key', 'person']).meta({
      description: '`key`: an admin signs in once for the key. `person`: everybody signs in for themselves.',
    }),
    clientId: z
      .string()
      .min(1)
      .max(2048)
      .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
      .optional()
      .meta({
        description:
          'The id of an own app at the server. Without it, Toolgate registers itself or shows its metadata document.',
      }),
    clientSecret: z
      .string()
      .min(1)
      .max(2048)
      .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
      .optional()
      .meta({ description: 'Only with `clientId`. Stored encrypted, never shown.' }),
    scopes: z
      .array(scope)
      .max(100)
      .optional()
      .meta({ description: 'All scopes to ask for. Without it, the server says which.' }),
    trustedHosts: z
      .array(
        z
          .string()
          .max(260)
          .regex(
            /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/,
            'must be a host, such as auth.example.com',
          ),
      )
      .max(10)
      .optional()
      .meta({
        description:
          'Further hosts on which the endpoints of its authorization server may be. Without it, only on the host of its issuer.',
      }),
  })
  .refine(given => given.clientSecret === undefined || given.clientId !== undefined, {
    path: ['clientSecret'],
    message: 'only goes with a clientId',
  });

export const url = text(urlFault, 'The URL of its MCP endpoint.');

/** How requests to the server are authenticated. */
export const auth = z.enum(['none', 'headers', 'oauth']);

const body = z.discriminatedUnion('transport', [
  z.strictObject({
    name,
    transport: z.enum(['http', 'sse']),
    url,
    headers,
    auth: auth.optional().meta({
      description: '`oauth` for a server that people sign in to. Otherwise it follows from `headers`.',
    }),
    oauth: oauth.optional(),
  }),
  z.strictObject({
    name,
    transport: z.literal('stdio'),
    server: z
      .string()
      .meta({ description: 'The name of a server declared under `stdioServers` in the server file.' }),
  }),
]);

export const shown = z.object({
  id: uuid,
  name: z.string(),
  transport: z.enum(TRANSPORTS),
  url: z.string().optional().meta({ description: 'Only its server, unless an admin asks.' }),
  server: z.string().optional(),
  hasHeaders: z.boolean(),
  auth,
  oauth: z
    .object({
      as: z.enum(['key', 'person']),
      clientId: z.string().optional(),
      scopes: z.array(z.string()).optional(),
      trustedHosts: z.array(z.string()).optional(),
      hasClientSecret: z.boolean(),
    })
    .nullable(),
  redirectUri: z
    .string()
    .nullable()
    .meta({ description: 'Where an own app at the server has to redirect to; null without OAuth.' }),
  authorizationServer: z.string().nullable().meta({
    description:
      'The issuer with which somebody first signed in. Another one is refused until an admin accepts it.',
  }),
  signIn: signInState.nullable().meta({ description: 'The key’s sign-in; null if it has none of its own.' }),
  createdAt: isoTime,
  updatedAt: isoTime.nullable().meta({ description: 'When it was last changed.' }),
  health: z.object({
    state: z.enum(['idle', 'ready', 'down']),
    error: z.string().nullable(),
    since: isoTime,
  }),
  tools: z.array(z.object({ name: z.string(), drifted: z.boolean() })),
});

export async function show(
  services: Services,
  tool: ConnectedTool,
  upstream: Upstream | null,
  all = true,
): Promise<z.output<typeof shown>> {
  const definitions = await listDefinitions(services.deps.db, tool.id);
  const health = upstream
    ? services.mcp.listing.health(upstream)
    : { state: 'idle' as const, error: null, since: tool.createdAt };
  return {
    id: tool.id,
    name: tool.name,
    transport: tool.transport,
    ...(tool.transport === 'stdio'
      ? { server: tool.target }
      : { url: all ? tool.target : withoutSecrets(tool.target) }),
    hasHeaders: tool.headersEncrypted !== null,
    ...(await showOAuth(services, tool)),
    createdAt: iso(tool.createdAt),
    updatedAt: isoOrNull(tool.updatedAt),
    health: { ...health, since: iso(health.since) },
    tools: definitions.map(each => ({ name: each.toolName, drifted: each.changedDigest !== null })),
  };
}

async function showOAuth({ deps, serverSignIns }: Services, tool: ConnectedTool) {
  if (tool.oauthAs === null) {
    const auth = tool.headersEncrypted === null ? ('none' as const) : ('headers' as const);
    return { auth, oauth: null, redirectUri: null, authorizationServer: null, signIn: null };
  }
  const { clientSecret, ...oauth } = decryptOAuth(deps.vault, tool);
  const signIn = tool.oauthAs === 'key' ? showSignIn(await serverSignIns.stateOf(tool, null)) : null;
  const pinned = tool.authorizationServer;
  return {
    auth: 'oauth' as const,
    oauth: { ...oauth, hasClientSecret: clientSecret !== undefined },
    redirectUri: serverSignIns.addressesFor(tool.id).redirectUri,
    authorizationServer: pinned === null ? null : (JSON.parse(pinned) as { issuer: string }).issuer,
    signIn,
  };
}

export const tag = 'connected tools';
export const path = '/admin/v1/keys/:id/connected-tools';

export const connectedToolRoutes: Route[] = [
  route({
    method: 'GET',
    path,
    access: 'view',
    tag,
    summary: 'List a key’s Connected Tools, with their health on this replica',
    answers: { 200: { description: 'Connected Tools.', schema: list('connectedTools', shown) } },
    handle: async incoming => {
      const { services, params } = incoming;
      const keyId = params['id'] ?? '';
      if ((await findKey(services.deps.db, keyId)) === null) throw noSuchKey();
      const upstreams = await services.mcp.hub.of(keyId);
      const rows = await listConnectedTools(services.deps.db, keyId);
      const connectedTools = await Promise.all(
        rows.map(row => {
          const upstream = upstreams.find(each => each.tool.id === row.id) ?? null;
          return show(services, row, upstream, seesAll(incoming));
        }),
      );
      return Response.json({ connectedTools, nextCursor: null });
    },
  }),
  route({
    method: 'POST',
    path,
    access: 'admin',
    tag,
    summary: 'Register an MCP server for a key',
    body,
    answers: { 201: { description: 'The Connected Tool.', schema: shown } },
    handle: async incoming => {
      const { services, body: given } = incoming;
      const stdio = given.transport === 'stdio';
      if (stdio && !Object.hasOwn(services.config.stdioServers, given.server)) throw undeclared();
      const input = stdio
        ? { name: given.name, transport: given.transport, target: given.server, headers: null }
        : {
            name: given.name,
            transport: given.transport,
            target: given.url,
            headers: given.headers ?? null,
            oauth: requireOAuth(given),
          };
      const keyId = incoming.params['id'] ?? '';
      const tool = await connectTool(services.deps, actorOf(incoming), services.targetRules, keyId, input);
      const upstream = await services.mcp.hub.find(keyId, tool.id);
      return Response.json(await show(services, tool, upstream), { status: 201 });
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:toolId`,
    access: 'admin',
    tag,
    summary: 'Remove a Connected Tool',
    answers: { 204: { description: 'Removed.' } },
    handle: async incoming => {
      const { id = '', toolId = '' } = incoming.params;
      await disconnectTool(incoming.services.deps, actorOf(incoming), id, toolId);
      await incoming.services.mcp.hub.find(id, toolId);
      return new Response(null, { status: 204 });
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:toolId/test`,
    access: 'admin',
    tag,
    summary: 'Connect now, and show the tools that it offers or why it fails',
    answers: {
      200: {
        description: 'The result of the attempt.',
        schema: z.object({ ok: z.boolean(), error: z.string().nullable(), tools: z.array(z.string()) }),
      },
    },
    handle: async incoming => {
      const { services, params } = incoming;
      const upstream = await services.mcp.hub.find(params['id'] ?? '', params['toolId'] ?? '');
      if (upstream === null) throw noSuchTool();
      // The answer may take long, because the command may have to be downloaded first.
      holdOpen(incoming);
      return Response.json(await services.mcp.listing.test(upstream));
    },
  }),
];

/** `auth` and `oauth` go together, and the header of the sign-in is not set otherwise. */
function requireOAuth(given: {
  auth?: z.output<typeof auth> | undefined;
  oauth?: OAuthSettings | undefined;
  headers?: Record<string, string> | undefined;
}): OAuthSettings | null {
  if ((given.auth === 'oauth') !== (given.oauth !== undefined))
    throw invalidInput([{ path: '/oauth', message: 'goes with auth: "oauth", and only with it' }]);
  if (given.oauth === undefined) return null;
  if (Object.keys(given.headers ?? {}).some(each => each.toLowerCase() === 'authorization'))
    throw invalidInput([
      { path: '/headers', message: 'must not have Authorization, which the sign-in sets' },
    ]);
  return given.oauth;
}

export function undeclared() {
  return invalidInput([
    { path: '/server', message: 'is not declared under stdioServers in the server file (toolgate.yaml)' },
  ]);
}
