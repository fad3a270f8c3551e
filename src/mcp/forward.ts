// Forwards an allowed tools/call to its tool server, records what became of it, and answers the client. What is forwarded
// is what was checked: parsed, and written again.

import type { JsonObject } from '../core/wire/json.ts';
import { RUN, type Verdict } from '../guard/check/request.ts';
import type { CallOutcome } from '../store/log/outcomes.ts';
import { namedInResult } from './named-in-result.ts';
import type { KnownTool } from './offered.ts';
import { CODES, ENVELOPE, metaOf, RpcError, type RpcNotification, type RpcResponse } from './protocol.ts';
import { headerValue, paramHeaders } from './schema.ts';
import { SignInFirst, signInFirst } from './sign-in.ts';
import { signInAnswer } from './sign-in-answer.ts';
import { UpstreamTimeout } from './time-limit.ts';
import { type Begun, type CallServices, TOOLS_CALL } from './tool-call.ts';
import { sendTraced } from './tracing.ts';
import {
  callForUpstream,
  errorForClient,
  errorResult,
  notificationForClient,
  resultForClient,
} from './translate.ts';
import { Stopping, UpstreamError } from './wire.ts';

/** The client wants no answer any more, and is sent none. */
export class CallCancelled extends RpcError {}

/** Forwards a call whose `allow` is committed. The result comes back as the tool server gave it. */
export async function forward(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  verdict: Verdict,
): Promise<JsonObject> {
  const { toolCallId } = verdict;
  const started = performance.now();
  const done = (outcome: CallOutcome) => {
    services.outcomes.record({ toolCallId, outcome, durationMs: Math.round(performance.now() - started) });
  };
  try {
    if (tool.unsigned !== undefined) throw signInFirst();
    const response = await send(services, call, tool);
    const failed = response.error !== null || response.result?.['isError'] === true;
    done(failed ? 'tool_error' : 'ok');
    if (response.error !== null) throw errorForClient(response.error, call.modern);
    const run = verdict[RUN];
    // An error may repeat whatever the call was made with, so it makes nothing known.
    if (run !== undefined && !failed)
      await services.learner.tryToLearn(run, call.principal.keyId, namedInResult(response.result ?? {}));
    return resultForClient(response.result ?? {}, call.modern);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    const late = error instanceof UpstreamTimeout;
    if (call.cancel.signal.aborted && !late) {
      done('cancelled');
      if (error instanceof Stopping)
        throw new RpcError(CODES.internal, `The call was allowed, but ${error.message}.`);
      throw new CallCancelled(CODES.internal, 'The call was cancelled.');
    }
    if (error instanceof SignInFirst) {
      done('sign_in_needed');
      return signInAnswer(services, call, tool.upstream.tool);
    }
    if (!(error instanceof UpstreamError)) throw error;
    done(late ? 'timed_out' : 'upstream_failure');
    return errorResult(`The call was allowed, but ${error.message}.`);
  }
}

function send(services: CallServices, call: Begun, tool: KnownTool): Promise<RpcResponse> {
  const meta = metaOf(call.params);
  const clientToken = meta['progressToken'];
  // Upstreams see a token of ours, so that no client can name another's call.
  const ourToken = clientToken === undefined ? undefined : crypto.randomUUID();
  const onNotification = (notification: RpcNotification) => {
    const forClient = notificationForClient(notification, ourToken, clientToken);
    if (forClient !== null) call.onNotification(forClient);
  };
  return sendTraced(call.span, tool.upstream.tool, TOOLS_CALL, tool.toolName, trace =>
    tool.upstream.request(
      TOOLS_CALL,
      callForUpstream(call.input, tool, call.params, call.logLevel, ourToken),
      {
        cancel: call.cancel,
        ration: call.ration,
        timeoutMs: services.timeoutMs,
        maxMs: services.maxMs,
        changes: services.listing.confirmed(tool),
        onNotification,
        capabilities: meta[ENVELOPE.capabilities] ?? {},
        trace,
        headers: () => ({
          'Mcp-Name': headerValue(tool.toolName),
          ...paramHeaders(tool.definition, call.input.arguments),
        }),
      },
    ),
  );
}
