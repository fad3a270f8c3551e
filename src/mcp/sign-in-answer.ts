// What a client is told when a call was allowed but somebody has to sign in to the server first: an address to open, in
// the way that the client declared (URL elicitation), or as a text that the model passes on. The address accepts only
// the person whose call it was.

import { isObject, type Json, type JsonObject } from '../core/wire/json.ts';
import type { Principal } from '../guard/credentials.ts';
import type { ConnectedTool } from '../store/connected-tools.ts';
import { CODES, RpcError } from './protocol.ts';
import type { McpServices } from './services.ts';
import { isPersonal } from './sign-in.ts';
import { errorResult } from './translate.ts';

/** The name of our own question among the `inputRequests` of a result. A tool's own questions have other names. */
const QUESTION = 'toolgate/sign-in';
/** How long a client that has sent somebody to the address waits for them. Clients give up after a minute. */
const PATIENCE_MS = 25_000;

/** What the client answered to our question: whether the person wanted to open the address. */
export type SignInAnswer = 'accept' | 'refuse';

/**
 * Takes the answer to our own question out of a call: it is neither for the tool nor part of what was approved. Null if
 * the call has none.
 */
export function takeSignInAnswer(params: JsonObject): { params: JsonObject; answer: SignInAnswer } | null {
  const responses = params['inputResponses'];
  if (!isObject(responses) || responses[QUESTION] === undefined) return null;
  const { [QUESTION]: ours, ...theirs } = responses;
  const { inputResponses: _, ...rest } = params;
  const answer = isObject(ours) && ours['action'] === 'accept' ? 'accept' : 'refuse';
  return { params: Object.keys(theirs).length === 0 ? rest : { ...rest, inputResponses: theirs }, answer };
}

/** Whether a client's capabilities say that it can send its user to an address. */
export function elicitsUrl(capabilities: Json | undefined): boolean {
  if (!isObject(capabilities)) return false;
  const { elicitation } = capabilities;
  return isObject(elicitation) && isObject(elicitation['url']);
}

interface Asking {
  principal: Principal;
  modern: boolean;
  elicitsUrl: boolean;
  answer?: SignInAnswer;
}

type Services = Pick<McpServices, 'serverSignIns'>;

/** The result for the client. For the older era's elicitation it is an error, which is thrown. */
export async function signInAnswer(
  services: Services,
  call: Asking,
  tool: ConnectedTool,
): Promise<JsonObject> {
  const { principal, modern, answer } = call;
  const { personId } = principal;
  // Somebody who did not want to open the address is not asked again.
  const asks = call.elicitsUrl && answer !== 'refuse' && isPersonal(tool) && personId !== undefined;
  if (!asks) return errorResult(await signInText(services, principal, tool));
  const url = await services.serverSignIns.ticket(tool, personId);
  const message = `Sign in to ${tool.name} first.`;
  const params = { mode: 'url', message, url };
  if (modern) {
    const inputRequests = { [QUESTION]: { method: 'elicitation/create', params } };
    return { resultType: 'input_required', inputRequests };
  }
  const elicitations = [{ ...params, elicitationId: crypto.randomUUID() }];
  throw new RpcError(CODES.urlElicitationRequired, message, { data: { elicitations } });
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
): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      stop();
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const stop = hub.onListChanged(keyId, done, personId ?? null);
    const timer = setTimeout(done, PATIENCE_MS);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
