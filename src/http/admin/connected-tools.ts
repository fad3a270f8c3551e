// /admin/v1/keys/:id/connected-tools: the MCP servers of a key, their health and their tools. connected-tool-fields.ts
// describes requests and answers, and tool-definitions.ts has the definitions of the tools.

import { z } from 'zod';
import { invalidInput } from '../../core/errors.ts';
import { noSuchKey } from '../../guard/keys.ts';
import { connectTool, disconnectTool, noSuchTool } from '../../guard/tool-servers/connected-tools.ts';
import { decryptOAuth, type OAuthSettings } from '../../guard/tool-servers/source-secrets.ts';
import type { Upstream } from '../../mcp/upstream.ts';
import { type ConnectedTool, listConnectedTools } from '../../store/connected-tools.ts';
import { findKey } from '../../store/keys.ts';
import { listDefinitions } from '../../store/tool-definitions.ts';
import { iso, isoOrNull, list } from '../serving/fields.ts';
import { actorOf, holdOpen, type Route, route } from '../serving/route.ts';
import type { Services } from '../serving/services.ts';
import { seesAll, withoutSecrets } from '../serving/shown-address.ts';
import { type auth, body, shown } from './connected-tool-fields.ts';
import { showSandbox } from './sandbox-fields.ts';
import { showSignIn } from './server-sign-ins.ts';

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
    sandbox: await showSandbox(services, tool),
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
      if (stdio && !services.config.stdioServers.has(given.server)) throw undeclared();
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
