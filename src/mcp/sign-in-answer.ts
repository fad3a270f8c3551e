// What a client is told when a call was allowed but somebody has to sign in to the server first: an address to open, in
// the way that the client declared (URL elicitation), or as a text that the model passes on. The address accepts only
// the person whose call it was.

import type { JsonObject } from '../core/wire/json.ts';
import type { Principal } from '../guard/credentials.ts';
import type { ConnectedTool } from '../store/connected-tools.ts';
import { askToOpen, forAWhile } from './own-questions.ts';
import type { McpServices } from './services.ts';
import { isPersonal } from './sign-in.ts';
import type { Call } from './tool-call.ts';
import { errorResult } from './translate.ts';

type Services = Pick<McpServices, 'serverSignIns'>;

/** The result for the client. For the older era's elicitation it is an error, which is thrown. */
export async function signInAnswer(services: Services, call: Call, tool: ConnectedTool): Promise<JsonObject> {
  const { principal, answers } = call;
  const { personId } = principal;
  // Somebody who did not want to open the address is not asked again.
  const asks = call.elicitsUrl && answers?.signIn !== 'refuse' && isPersonal(tool) && personId !== undefined;
  if (!asks) return errorResult(await signInText(services, principal, tool));
  const url = await services.serverSignIns.ticket(tool, personId);
  const message = `Sign in to ${tool.name} first.`;
  return askToOpen(call, 'signIn', { message, url });
}

/** The same as a text. It ends with the address, so that nothing else is taken for a part of it. */
export async function signInText(
  { serverSignIns }: Services,
  { personId }: Principal,
  tool: ConnectedTool,
): Promise<string> {
  const { name, keyId, toolServerId } = tool;
  const page = toolServerId === null ? `keys/${keyId}` : `tool-servers/${toolServerId}`;
  if (!isPersonal(tool))
    return `An admin has to sign in to ${name} first, then call again: ${serverSignIns.address}/dashboard/${page}`;
  if (personId !== undefined)
    return `Sign in to ${name}, then call again: ${await serverSignIns.ticket(tool, personId)}`;
  return (
    `A person has to sign in to ${name}: everybody uses it with their own account, and this credential acts for nobody. ` +
    'Connect to Toolgate by signing in, not with a key.'
  );
}

/** Waits for a while until the person whom the client has sent to the address has signed in. */
export function untilSignedIn(
  { hub }: Pick<McpServices, 'hub'>,
  { keyId, personId }: Principal,
  signal: AbortSignal,
): Promise<boolean> {
  return forAWhile(done => hub.onListChanged(keyId, done, personId ?? null), signal);
}
