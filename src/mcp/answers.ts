// The parts of an answer that both eras share: the tools and capabilities that a credential is shown, the answer to a
// call, and how a failure is reported to the client.

import { GuardError } from '../core/errors.ts';
import { isObject, type Json, type JsonObject } from '../core/json.ts';
import { EventWriter, STREAM_HEADERS } from '../event-writer.ts';
import type { Principal } from '../guard/credentials.ts';
import { CallCancelled, callTool } from './call.ts';
import { shown } from './listing.ts';
import { CODES, errorMessage, type Id, RpcError, type RpcRequest, resultMessage } from './protocol.ts';
import { type Asked, cancelledBy, type McpServices } from './services.ts';

export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
/** The log level of a client of the older era that never set one. */
export const DEFAULT_LOG_LEVEL = 'info';

/** Every declared capability has to be answered, so only what the key's setting `forward` names is declared. */
export async function capabilities(
  services: McpServices,
  { keyId, scope }: Principal,
  listChanged: boolean,
): Promise<JsonObject> {
  const offered = scope === null ? await services.relayedFor(keyId) : [];
  return {
    tools: { listChanged },
    logging: {},
    ...(offered.includes('resources') ? { resources: {} } : {}),
    ...(offered.includes('prompts') ? { prompts: {} } : {}),
    ...(offered.includes('completion') ? { completions: {} } : {}),
  };
}

export async function toolsOf(services: McpServices, principal: Principal): Promise<JsonObject> {
  const tools = await services.listing.list(principal.keyId);
  const callable = services.callable === null ? null : await services.callable(principal);
  const listed = callable === null ? tools : tools.filter(each => callable(each.serverName, each.toolName));
  return { tools: listed.map(shown) };
}

/**
 * Answers a call. The answer is JSON if the result is the first thing that the upstream sends. If the upstream sends
 * progress or log messages first, the answer is a stream of events.
 */
export function answerCall(
  services: McpServices,
  asked: Asked,
  { id, params }: RpcRequest,
  modern: boolean,
  logLevel: Json | undefined,
  mcpSessionId: string | null = null,
): Promise<Response> {
  const { request, principal, startedAt } = asked;
  const streams = (request.headers.get('accept') ?? '').includes('text/event-stream');
  // By the letter of the older era, a client that hangs up has not cancelled its call. But it has no way to fetch the
  // answer later, and its slow calls would keep their places, so the call is cancelled.
  const cancel = cancelledBy(request.signal);
  const forget = mcpSessionId === null ? () => {} : services.mcpSessions.follow(mcpSessionId, id, cancel);
  return new Promise((resolve, reject) => {
    let stream: EventWriter | null = null;
    const onNotification = (notification: JsonObject) => {
      if (!streams || !isWanted(notification, logLevel)) return;
      if (stream === null) {
        stream = new EventWriter(() => cancel.abort());
        resolve(new Response(stream.body, { headers: STREAM_HEADERS }));
      }
      stream.hint(notification);
    };
    const answer = (message: JsonObject, status: number) => {
      forget();
      if (stream === null) return resolve(json(message, status));
      stream.send(message);
      stream.close();
    };
    // Clients treat a response to a cancelled request as an error. Status 202 needs no message.
    const keepSilent = () => {
      forget();
      if (stream === null) resolve(accepted());
      else stream.close();
    };
    callTool(services, { principal, params, startedAt, cancel, modern, onNotification }).then(
      result => answer(resultMessage(id, modern ? { resultType: 'complete', ...result } : result), 200),
      error => {
        if (error instanceof CallCancelled) return keepSilent();
        if (error instanceof RpcError) return answer(errorMessage(id, error), error.status);
        if (stream !== null) return answer(errorMessage(id, internal(error)), 200);
        forget();
        reject(error);
      },
    );
  });
}

/** Reports a failure in the words of the protocol. Others (401, 503) are thrown, and http/server.ts answers them. */
export function failure(id: Id | null, error: unknown): Response {
  if (error instanceof RpcError) return json(errorMessage(id, error), error.status);
  if (error instanceof GuardError && error.code !== 'audit_failed') throw error;
  return json(errorMessage(id, internal(error)));
}

function internal(error: unknown): RpcError {
  const said = error instanceof GuardError ? error.message : 'Something went wrong on our side.';
  return new RpcError(CODES.internal, said);
}

export function accepted(): Response {
  return new Response(null, { status: 202 });
}

export function json(message: JsonObject, status = 200, headers?: Record<string, string>): Response {
  if (status === 200 && headers === undefined) return Response.json(message);
  return Response.json(message, { status, headers: headers ?? {} });
}

function isWanted({ method, params }: JsonObject, level: Json | undefined): boolean {
  if (method !== 'notifications/message') return true;
  const said = isObject(params) ? params['level'] : undefined;
  return level !== undefined && LOG_LEVELS.indexOf(said as string) >= LOG_LEVELS.indexOf(level as string);
}
