// Forwards an allowed tools/call to its tool server, records what became of it, and answers the client. What is forwarded
// is what was checked: parsed, and written again. Where the policy has a say about results, nothing that the server sent
// is passed on before guard/check/guarded-call.ts has looked at it.

import { namedInResult } from '../core/flows/named-in-result.ts';
import type { JsonObject } from '../core/wire/json.ts';
import type { GuardedCall } from '../guard/check/guarded-call.ts';
import { RUN, type Verdict, WATCHED } from '../guard/check/request.ts';
import type { EndedCall } from '../guard/tasks/end-call.ts';
import type { CallOutcome, LookedAt } from '../store/log/outcomes.ts';
import { GuardedNotes } from './guarded-notes.ts';
import type { KnownTool } from './known-tool.ts';
import { lookAt, tellable } from './looked-at.ts';
import { CODES, ENVELOPE, metaOf, RpcError, type RpcNotification, type RpcResponse } from './protocol.ts';
import { headerValue, paramHeaders } from './schema.ts';
import { SignInFirst, signInFirst } from './sign-in.ts';
import { signInAnswer } from './sign-in-answer.ts';
import { keyForServer } from './tasks/call-key.ts';
import { withoutTasks } from './tasks/declared.ts';
import { follow, isTask } from './tasks/server-task.ts';
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

/** The service stops, and does not wait for the answer of the tool server. */
export class GivenUp extends RpcError {}

/**
 * Forwards a call whose `allow` is committed. The result comes back as the tool server gave it, or as the policy leaves it.
 * `ended` is told what became of the call, before anything else is; not if the tool server works on it by itself, as a task.
 */
export async function forward(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  verdict: Verdict,
  ended: (ended: EndedCall) => void,
): Promise<JsonObject> {
  const { toolCallId, [WATCHED]: watched } = verdict;
  const guarded = watched === undefined ? null : services.guarded(watched);
  const started = performance.now();
  const done = (outcome: CallOutcome, result: LookedAt | null = null) => {
    const durationMs = Math.round(performance.now() - started);
    ended({ toolCallId, outcome, durationMs, result });
  };
  try {
    if (tool.unsigned !== undefined) throw signInFirst();
    const follows = call.tasks && (await services.tasks.areOnFor(call.principal.keyId));
    const sent = follows === call.tasks ? call : { ...call, tasks: follows };
    const response = await (guarded === null
      ? send(services, sent, tool, toolCallId, call.onNotification)
      : sendGuarded(services, sent, tool, toolCallId, guarded));
    if (isTask(response)) {
      if (!follows) throw new UpstreamError('the upstream answered with a task, which it was not asked for');
      return await follow(services, call, tool, verdict, response);
    }
    const seen = await lookAt(guarded, call.ration, response);
    const failed = response.error !== null || response.result?.['isError'] === true;
    done(failed ? 'tool_error' : 'ok', seen.lookedAt);
    if (seen.error !== null) throw errorForClient(seen.error, call.modern);
    const result = seen.result ?? {};
    const run = verdict[RUN];
    // An error may repeat whatever the call was made with, so it makes nothing known.
    if (run !== undefined && result['isError'] !== true)
      await services.learner.tryToLearn(run, call.principal.keyId, namedInResult(result));
    return resultForClient(result, call.modern);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    const late = error instanceof UpstreamTimeout;
    if (call.cancel.signal.aborted && !late) {
      done('cancelled');
      if (error instanceof Stopping)
        throw new GivenUp(CODES.internal, `The call was allowed, but ${error.message}.`);
      throw new CallCancelled(CODES.internal, 'The call was cancelled.');
    }
    if (error instanceof SignInFirst) {
      done('sign_in_needed');
      return signInAnswer(services, call, tool.connectedTool);
    }
    if (!(error instanceof UpstreamError)) throw error;
    done(late ? 'timed_out' : 'upstream_failure');
    return errorResult(`The call was allowed, but ${await tellable(error, guarded)}.`);
  }
}

/** Nothing that the server sent is passed on after its answer, or after the call was given up. */
async function sendGuarded(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  toolCallId: string,
  guarded: GuardedCall,
): Promise<RpcResponse> {
  const notes = new GuardedNotes(guarded, call.onNotification);
  try {
    const response = await send(services, call, tool, toolCallId, note => notes.take(note));
    await notes.passed();
    return response;
  } finally {
    notes.end();
  }
}

function send(
  services: CallServices,
  call: Begun,
  tool: KnownTool,
  toolCallId: string,
  passOn: (notification: JsonObject) => void,
): Promise<RpcResponse> {
  const meta = metaOf(call.params);
  const { progressToken: clientToken, [ENVELOPE.capabilities]: capabilities = {} } = meta;
  // Upstreams see a token of ours, so that no client can name another's call.
  const ourToken = clientToken === undefined ? undefined : crypto.randomUUID();
  const onNotification = (notification: RpcNotification) => {
    const forClient = notificationForClient(notification, ourToken, clientToken);
    if (forClient !== null) passOn(forClient);
  };
  return sendTraced(call.span, tool.connectedTool, TOOLS_CALL, tool.toolName, trace =>
    tool.upstream.request(
      TOOLS_CALL,
      callForUpstream(call.input, tool, call.params, call.logLevel, ourToken),
      {
        cancel: call.cancel,
        beforeSent: call.beforeSent,
        ration: call.ration,
        timeoutMs: services.timeoutMs,
        maxMs: services.maxMs,
        changes: services.listing.confirmed(tool),
        onNotification,
        capabilities: call.tasks ? capabilities : withoutTasks(capabilities),
        trace,
        callKey: () => keyForServer(services, call, toolCallId),
        headers: () => ({
          'Mcp-Name': headerValue(tool.toolName),
          ...paramHeaders(tool.definition, call.input.arguments),
        }),
      },
    ),
  );
}
