// Reads what requests say of a tool server, or of a Connected Tool that carries its own definition, and shows one of them.
// connected-tool-fields.ts has the schemas.

import type { z } from 'zod';
import { invalidInput } from '../../core/errors.ts';
import { namesCalls } from '../../guard/tool-servers/call-header.ts';
import type { SourceChanges, SourceInput } from '../../guard/tool-servers/source-fields.ts';
import { decryptHeaders, decryptOAuth, type OAuthSettings } from '../../guard/tool-servers/source-secrets.ts';
import type { Upstream } from '../../mcp/upstream.ts';
import { listToolStates } from '../../store/tool-definitions.ts';
import type { ToolSource } from '../../store/tool-servers.ts';
import { iso, isoOrNull } from '../serving/fields.ts';
import type { Services } from '../serving/services.ts';
import { withoutSecrets } from '../serving/shown-address.ts';
import type { auth, changes, serverBody, shownSource } from './connected-tool-fields.ts';
import { showSandbox } from './sandbox-fields.ts';
import { showSignIn } from './server-sign-ins.ts';

/** `all`: also what may be secret in its address. */
export async function showSource(
  services: Services,
  tool: ToolSource,
  upstream: Upstream | null,
  all: boolean,
): Promise<z.output<typeof shownSource>> {
  const tools = await listToolStates(services.deps.db, tool.sourceId);
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
    namesCalls: namesCalls(decryptHeaders(services.deps.vault, tool)),
    ...(await showOAuth(services, tool)),
    createdAt: iso(tool.createdAt),
    updatedAt: isoOrNull(tool.updatedAt),
    trust: tool.trust,
    health: { ...health, since: iso(health.since) },
    sandbox: await showSandbox(services, tool),
    tools: tools.map(each => ({ name: each.toolName, drifted: each.drifted === 1 })),
  };
}

async function showOAuth({ deps, serverSignIns }: Services, tool: ToolSource) {
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
    redirectUri: serverSignIns.addressesFor(tool.sourceId).redirectUri,
    authorizationServer: pinned === null ? null : (JSON.parse(pinned) as { issuer: string }).issuer,
    signIn,
  };
}

/** What a new one is made of. A command has to be declared on this replica. */
export function inputIn({ config }: Services, given: z.output<typeof serverBody>): SourceInput {
  const { name, transport, trust } = given;
  if (given.transport !== 'stdio')
    return {
      name,
      transport,
      trust,
      target: given.url,
      headers: given.headers ?? null,
      oauth: requireOAuth(given),
    };
  if (!config.stdioServers.has(given.server)) throw undeclared();
  return { name, transport, trust, target: given.server, headers: null };
}

/** What is changed. A command has to be declared on this replica. */
export function changesIn(
  { config }: Services,
  source: ToolSource,
  given: z.output<typeof changes>,
): SourceChanges {
  const isCommand = source.transport === 'stdio';
  for (const field of isCommand ? (['url', 'headers', 'auth', 'oauth'] as const) : (['server'] as const))
    if (given[field] !== undefined)
      throw invalidInput([
        { path: `/${field}`, message: `is not part of a server over ${source.transport}` },
      ]);
  const target = isCommand ? given.server : given.url;
  if (isCommand && target !== undefined && !config.stdioServers.has(target)) throw undeclared();
  const isOAuth = given.auth === undefined ? source.oauthAs !== null : given.auth === 'oauth';
  const lacksSettings = isOAuth && source.oauthAs === null && given.oauth === undefined;
  if (lacksSettings || (!isOAuth && given.oauth !== undefined))
    throw invalidInput([{ path: '/oauth', message: 'goes with auth: "oauth", and only with it' }]);
  const withHeaders = given.auth === 'none' ? null : given.headers;
  const settings = isOAuth ? given.oauth : source.oauthAs === null ? undefined : null;
  return {
    ...(given.name !== undefined && { name: given.name }),
    ...(target !== undefined && { target }),
    ...(withHeaders !== undefined && { headers: withHeaders }),
    ...(settings !== undefined && { oauth: settings }),
    ...(given.trust !== undefined && { trust: given.trust }),
  };
}

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

function undeclared() {
  return invalidInput([
    { path: '/server', message: 'is not declared under stdioServers in the server file (toolgate.yaml)' },
  ]);
}
