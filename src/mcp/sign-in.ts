// Our sign-in to a server that wants OAuth: every request carries the header of the person, or of the key, for whom the
// connection is. guard/server-sign-ins keeps the tokens; a client never sees one, and the client's own credential never
// comes here.

import type { IncomingResponse } from '../guard/outgoing/client/response.ts';
import { unlessAborted } from '../guard/outgoing/client/unless-aborted.ts';
import { type ServerSignIns, SignInNeeded } from '../guard/server-sign-ins/server-sign-ins.ts';
import type { ToolSource } from '../store/tool-servers.ts';
import { HttpStatusError, UpstreamError } from './wire.ts';

/** Somebody has to sign in to the server first. The request was not sent, or the server refused it. */
export class SignInFirst extends UpstreamError {}

export interface SignIn {
  /** The header for the next request. Throws SignInFirst. */
  header(): Promise<string>;
  /** Called when the server refused that header. The result says what helps: another header, a sign-in, or nothing. */
  refused(header: string, challenge: Challenge): Promise<'again' | 'sign-in' | 'refused'>;
}

type Challenge = Parameters<ServerSignIns['refused']>[3];

/** Whether everybody signs in to this server for themselves. */
export function isPersonal({ oauthAs }: Pick<ToolSource, 'oauthAs'>): boolean {
  return oauthAs === 'person';
}

/** Null for a server that wants no sign-in. */
export function signInTo(
  signIns: Pick<ServerSignIns, 'authorization' | 'refused'>,
  tool: ToolSource,
  personId: string | null,
): SignIn | null {
  if (tool.oauthAs === null) return null;
  const who = isPersonal(tool) ? personId : null;
  const header = async () => {
    if (isPersonal(tool) && who === null) throw signInFirst();
    return signIns.authorization(tool, who).catch(error => {
      throw error instanceof SignInNeeded ? signInFirst() : notRenewed(error);
    });
  };
  const refused = (used: string, challenge: Challenge) =>
    signIns.refused(tool, who, used, challenge).catch(error => {
      throw notRenewed(error);
    });
  return { header, refused };
}

export function signInFirst(): SignInFirst {
  return new SignInFirst('somebody has to sign in to the upstream first');
}

function notRenewed(cause: unknown): UpstreamError {
  return new UpstreamError('our sign-in to the upstream could not be renewed', { cause });
}

/**
 * Sends a request with the header. A server that answers 401, or 403 for want of a scope, has not executed it, so it is
 * sent once more if there is another header.
 */
export async function authorized(
  signIn: SignIn,
  signal: AbortSignal,
  send: (header: string) => Promise<IncomingResponse>,
): Promise<IncomingResponse> {
  for (let tries = 0; ; tries++) {
    // A call that is cancelled does not wait for the server that renews our sign-in.
    const header = await unlessAborted(signIn.header(), signal);
    const response = await send(header);
    const challenge = challengeIn(response);
    if (challenge === null) return response;
    response.body.cancel();
    const help = await unlessAborted(signIn.refused(header, challenge), signal);
    if (help === 'sign-in') throw signInFirst();
    if (help === 'refused' || tries > 0) throw new HttpStatusError(challenge.status);
  }
}

function challengeIn(answer: IncomingResponse): Challenge | null {
  const { status } = answer;
  const wwwAuthenticate = answer.header('www-authenticate');
  if (status === 401) return { status, wwwAuthenticate };
  const wantsMore = status === 403 && /\berror="?insufficient_scope\b/i.test(wwwAuthenticate ?? '');
  return wantsMore ? { status, wwwAuthenticate } : null;
}
