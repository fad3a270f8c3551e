// One request to a Connected Tool that is connected: what is sent with it, how long its answer may take, and with which
// error it ends. upstream.ts opens the connection, and decides whether a request is sent again.

import type { Json, JsonObject } from '../core/wire/json.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import { envelope } from './negotiate.ts';
import { metaOf, type RpcNotification, type RpcResponse } from './protocol.ts';
import { TimeLimit, UpstreamTimeout } from './time-limit.ts';
import type { Trace } from './tracing.ts';
import { AnswersUnread, UpstreamError, type Wire } from './wire.ts';

const CHANGED =
  'the upstream was connected anew or changed its tools meanwhile, so it was not sent: call again';

export interface RequestOptions {
  /** Aborted by the caller, or when the upstream takes too long; then the reason is an UpstreamError that says so. */
  cancel: AbortController;
  /** Milliseconds without a sign of life after which the request is given up. */
  timeoutMs: number;
  /** Milliseconds after which the request is given up in any case. The default is `timeoutMs`. */
  maxMs?: number;
  /** Counts what the answer takes of the key's share. Without it, the answer counts until it has arrived. */
  ration?: AnswerRation;
  onNotification?: (notification: RpcNotification) => void;
  /** Capabilities of the client behind us, for upstreams of the newer era. */
  capabilities?: Json;
  /**
   * The count of changes at which the request was checked. At another count it is not sent. Null: it is always sent.
   */
  changes?: number | null;
  /** Asked right before the request is sent, once the upstream is connected. If it throws, the request is not sent. */
  beforeSent?: (() => Promise<void>) | undefined;
  /** The trace that the request belongs to. It is sent in `_meta`, and as headers to servers that are reached by HTTP. */
  trace?: Trace | undefined;
  /** Makes the key of a call, for servers that take one. */
  callKey?: () => string;
  /** Makes the headers that the newer era wants beside the body; called only for that era. */
  headers?: () => Record<string, string>;
}

/** A connection, as far as a request has to know it. */
interface Connection {
  wire: Wire;
  /** Whether the upstream speaks the newer era. */
  modern: boolean;
  /** The count of changes of its offer. */
  changes: number;
  /** Makes a ration of the tool's key, for requests that are not made for one client. */
  newRation: () => AnswerRation;
}

/** Sends a request once, and waits for its answer. */
export async function ask(
  { wire, modern, changes: current, newRation }: Connection,
  method: string,
  params: JsonObject,
  asking: RequestOptions,
): Promise<RpcResponse> {
  const { cancel, timeoutMs, maxMs = timeoutMs, changes = null } = asking;
  if (changes !== null && changes !== current) throw new UpstreamError(CHANGED);
  const limit = new TimeLimit(cancel, timeoutMs, maxMs);
  const ration = asking.ration ?? newRation();
  const token = metaOf(params)['progressToken'];
  const onNotification = (notification: RpcNotification) => {
    // Only progress of this call is a sign of its life: an upstream that sends other things may have forgotten it.
    if (token !== undefined && notification.params['progressToken'] === token) limit.renew();
    asking.onNotification?.(notification);
  };
  try {
    const own = modern ? { ...asking.headers?.(), 'Mcp-Method': method } : {};
    return await wire.request(
      method,
      dressed(params, asking, modern),
      { signal: cancel.signal, ration, onNotification, callKey: asking.callKey },
      { ...own, ...asking.trace },
    );
  } catch (error) {
    if (limit.exceeded !== null && error instanceof AnswersUnread) throw new UpstreamTimeout(error.message);
    if (cancel.signal.aborted) throw whyEnded(cancel.signal);
    if (error instanceof UpstreamError) throw error;
    throw new UpstreamError('the upstream failed', { cause: error });
  } finally {
    limit.stop();
    if (asking.ration === undefined) ration.free();
  }
}

/** The newer era carries its envelope in every request. A trace of ours takes the place of the client's. */
function dressed(params: JsonObject, { capabilities, trace }: RequestOptions, modern: boolean): JsonObject {
  if (!modern && trace === undefined) return params;
  const { traceparent: _, tracestate: __, ...meta } = metaOf(params);
  const kept = trace === undefined ? metaOf(params) : { ...meta, ...trace };
  return { ...params, _meta: { ...kept, ...(modern && envelope(capabilities ?? {})) } };
}

/** Why a request was given up: its time was up, or the caller cancelled it. */
export function whyEnded({ reason }: AbortSignal): UpstreamError {
  return reason instanceof UpstreamError ? reason : new UpstreamError('the call was cancelled');
}
