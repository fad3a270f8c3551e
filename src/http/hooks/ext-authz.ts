// ext_authz over HTTP: Envoy, agentgateway, Istio, and the forward-auth of Traefik, Caddy and nginx ask here whether a
// request of their client may go on to an MCP server. A `tools/call` is a check like any other. Other messages are let
// through or not by a setting, for a valid key, and leave no entry. 200 means yes, everything else means no; what a
// client is told is a JSON-RPC error. docs/gateways.md has the configuration of each gateway.

import type { GuardError } from '../../core/errors.ts';
import type { Verdict } from '../../guard/check/request.ts';
import { CODES, errorMessage, type Id, RpcError } from '../../mcp/protocol.ts';
import { readBytes } from '../serving/body.ts';
import { type Incoming, type Route, route } from '../serving/route.ts';
import { submitCheck } from '../serving/submit-check.ts';
import { DOOR, questionOf, refused, undecided } from './door.ts';
import { invalid, isLetThrough, messageIn, serverOf, wantedBy } from './ext-authz-request.ts';
import { notLetThrough } from './json-rpc.ts';

/** The router matches the path as it was sent, so that `/ext-authz/github/../other` is about `github`. */
const PATH = '/ext-authz/:server/*';
const PATHS = [PATH, '/ext-authz/:server', '/ext-authz/*'];

export const extAuthzRoutes: Route[] = PATHS.map(path =>
  route({
    ...DOOR,
    method: 'ANY',
    path,
    ...(path !== PATH && { unlisted: true }),
    summary: 'Ask whether a request of a gateway’s client may go on to an MCP server',
    description:
      'For ext_authz over HTTP and forward-auth, with any method. The gateway passes on the client’s request, with its body or at least the headers of MCP 2026-07-28. The first segment of the path, or the header `X-Toolgate-Server`, names the server.',
    answers: {
      200: { description: 'The request may go on.' },
      403: {
        description: 'It may not, or has to wait for approval: a JSON-RPC error.',
        type: 'application/json',
      },
    },
    handle: answer,
    refusal: (error, request) => refused(error, refuse(error, ids.get(request) ?? null)),
  }),
);

/** The ids of messages, for refusals: those are answered after the request has left this file. */
const ids = new WeakMap<Request, Id>();

async function answer(incoming: Incoming<unknown, unknown>): Promise<Response> {
  const { services, request, params, identifyMs, ration } = incoming;
  const bytes = await readBytes(request, { limit: services.config.checkBodyLimit, ration });
  const message = messageIn(request, bytes);
  const id = message?.id ?? null;
  if (id !== null) ids.set(request, id);
  const wanted = wantedBy(serverOf(serverIn(request, params['server']), request), request, message);
  if ('doorCall' in wanted) {
    const question = questionOf('ext-authz', wanted.doorCall, incoming);
    return submitCheck(services, question, identifyMs, verdict => answerTo(verdict, id));
  }
  if (!isLetThrough(services.config.extAuthzOther, wanted.other)) throw notLetThrough();
  return undecided(incoming, allowed());
}

/** The server in the path; null if the path ends before it. A path that another reader would shorten is refused. */
function serverIn(request: Request, server: string | undefined): string | null {
  const { pathname } = new URL(request.url);
  if (server === undefined && pathname === '/ext-authz/') return null;
  if (server === undefined || decoded(pathname.split('/')[2] ?? '') !== server)
    throw invalid('The path is /ext-authz/<server>, with a plain name, and without "..".');
  return server;
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

/** Some gateways copy headers of this answer into the request, but only those that their configuration names. */
function allowed(toolCallId?: string): Response {
  const headers: Record<string, string> =
    toolCallId === undefined ? {} : { 'X-Toolgate-Tool-Call-Id': toolCallId };
  return new Response(null, { headers });
}

export function answerTo(verdict: Verdict, id: Id | null): Response {
  const { decision, reason, toolCallId, referenceId, note } = verdict;
  if (decision === 'allow') return allowed(toolCallId);
  const data = { decision, reason, toolCallId, ...(referenceId !== undefined && { referenceId }) };
  const wrote = note === undefined ? '' : ` They wrote: "${note}"`;
  const message =
    decision === 'pending'
      ? `Not run yet: a human has to approve this call (${referenceId}). Repeat the same call once it is approved.`
      : `Blocked by policy: ${reason}${wrote} Do not retry this call.`;
  return rpcError(403, id, new RpcError(403, message, { data }));
}

const RPC_CODES: Record<string, number> = {
  invalid_json: CODES.parse,
  invalid_input: CODES.invalidRequest,
  too_large: CODES.invalidRequest,
};

/**
 * A gateway that is configured to go on when we fail (Envoy's `failure_mode_allow`) takes a status from 500 on for such
 * a failure, and nginx every one but 401 and 403. So a call that could not be judged or recorded is refused by 403,
 * like any other.
 */
export function refuse(error: GuardError, id: Id | null): Response {
  const status = error.code === 'unauthenticated' ? 401 : 403;
  const response = rpcError(status, id, new RpcError(RPC_CODES[error.code] ?? status, error.message));
  if (status === 401) response.headers.set('WWW-Authenticate', 'Bearer realm="toolgate"');
  if (error.retryAfter !== undefined) response.headers.set('Retry-After', String(error.retryAfter));
  return response;
}

function rpcError(status: number, id: Id | null, error: RpcError): Response {
  return Response.json(errorMessage(id, error), { status });
}
