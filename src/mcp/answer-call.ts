// Answers a tools/call over HTTP: as JSON, or as a stream of events when the upstream speaks before its result. call.ts
// makes the call.

import { isObject, type Json, type JsonObject } from '../core/wire/json.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import { EventWriter, STREAM_HEADERS } from '../guard/rations/event-writer.ts';
import { accepted, internal, json, type ReplyOrStream } from './answers.ts';
import { callTogether, callTool } from './call.ts';
import { CallCancelled } from './forward.ts';
import { errorMessage, RpcError, type RpcRequest, resultMessage } from './protocol.ts';
import { type ClientRequest, cancelledBy, type McpServices } from './services.ts';
import { callKeyIn } from './tasks/call-key.ts';
import type { Call } from './tool-call.ts';

export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
/** The log level of a client of the older era that never set one. */
export const DEFAULT_LOG_LEVEL = 'info';

interface CallOptions {
  /** Whether the client speaks the newer era. */
  modern: boolean;
  /** The least level of the log messages that the client wants; undefined: it wants none. */
  logLevel: Json | undefined;
  /** Whether the client can send its user to an address. */
  elicitsUrl: boolean;
  /** Whether the client knows tasks; those of the older era do not. */
  tasks?: boolean;
  protocolVersion: string;
  /** The MCP session in which the client may cancel the call; the newer era has none. */
  mcpSessionId?: string;
}

/**
 * Answers a call. The answer is JSON if the result is the first thing that the upstream sends. If the upstream sends
 * progress or log messages first, the answer is a stream of events.
 */
export function answerCall(
  services: McpServices,
  asked: ClientRequest,
  { id, params }: RpcRequest,
  { modern, logLevel, elicitsUrl, tasks = false, mcpSessionId, protocolVersion }: CallOptions,
): Promise<ReplyOrStream> {
  const { request, principal, run, startedAt, span, ration } = asked;
  const idempotencyKey = callKeyIn(request.headers, params);
  // Whoever gives a key can fetch the answer later, and does so when the connection was lost.
  const goesOn = idempotencyKey !== undefined;
  const streams = (request.headers.get('accept') ?? '').includes('text/event-stream');
  // By the letter of the older era, a client that hangs up has not cancelled its call. But it has no way to fetch the
  // answer later, and its slow calls would keep their slots, so the call is cancelled.
  const cancel = goesOn ? new AbortController() : cancelledBy(request.signal);
  const forget =
    mcpSessionId === undefined ? () => {} : services.mcpSessions.follow(mcpSessionId, id, cancel);
  return new Promise((resolve, reject) => {
    let stream: EventWriter | null = null;
    let hasEnded = false;
    let isClosed = false;
    const onNotification = (notification: JsonObject) => {
      if (!streams || !isWanted(notification, logLevel)) return;
      if (stream === null) {
        stream = new EventWriter(() => {
          isClosed = true;
          if (goesOn && !hasEnded) return;
          cancel.abort();
          ration.free();
        });
        resolve(new Response(stream.body, { headers: STREAM_HEADERS }));
      }
      stream.hint(notification);
    };
    const answer = async (message: JsonObject, status: number) => {
      forget();
      hasEnded = true;
      const hasGone = goesOn && (isClosed || request.signal.aborted);
      if (stream === null) return resolve(hasGone ? accepted() : json(message, status));
      if (hasGone) return ration.free();
      await ration.turn(ration.bytes);
      stream.end(message, asked.reading);
    };
    // Clients treat a response to a cancelled request as an error. Status 202 needs no message.
    const keepSilent = () => {
      forget();
      hasEnded = true;
      if (stream === null) resolve(accepted());
      else if (isClosed) ration.free();
      else stream.close();
    };
    const context = { span, id, protocolVersion };
    const client = { principal, run: run ?? mcpSessionId, mcpSessionId, modern, elicitsUrl, tasks, logLevel };
    const made: Call = { ...client, params, startedAt, cancel, ration, onNotification, context };
    if (goesOn) Object.assign(made, { idempotencyKey, hungUp: request.signal });
    callTool(services, made).then(
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

/** The results of plain calls of the same tool in one batch, which has no streams. Each ends by itself. */
export async function answerTogether(
  services: McpServices,
  asked: ClientRequest,
  requests: readonly { request: RpcRequest; ration: AnswerRation }[],
  { modern, logLevel, elicitsUrl, mcpSessionId, protocolVersion }: CallOptions & { mcpSessionId: string },
): Promise<Promise<JsonObject>[]> {
  const { request, principal, run = mcpSessionId, startedAt, span } = asked;
  const calls = requests.map(
    ({ request: { id, params }, ration }): Call => ({
      principal,
      run,
      modern,
      elicitsUrl,
      tasks: false,
      logLevel,
      params,
      startedAt,
      ration,
      cancel: cancelledBy(request.signal),
      onNotification: ignore,
      context: { span, id, protocolVersion },
    }),
  );
  const forget = calls.map(({ cancel, context }) =>
    services.mcpSessions.follow(mcpSessionId, context.id, cancel),
  );
  const end = (at: number) => forget[at]?.();
  try {
    const results = await callTogether(services, calls);
    return results.map((result, at) => result.finally(() => end(at)));
  } catch (error) {
    calls.forEach((_, at) => {
      end(at);
    });
    throw error;
  }
}

const ignore = () => {};

function isWanted({ method, params }: JsonObject, level: Json | undefined): boolean {
  if (method !== 'notifications/message') return true;
  const said = isObject(params) ? params['level'] : undefined;
  return level !== undefined && LOG_LEVELS.indexOf(said as string) >= LOG_LEVELS.indexOf(level as string);
}
