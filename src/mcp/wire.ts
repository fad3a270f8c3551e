// A wire carries messages to one Connected Tool, whatever the transport: requests with their answers, and notifications
// both ways. We choose the ids of requests; an answer with an unknown id is ignored.

import { GuardError } from '../core/errors.ts';
import { type JsonObject, MAX_VALUES, parseJson } from '../core/wire/json.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import { type RpcMessage, type RpcNotification, type RpcResponse, readMessage } from './protocol.ts';

/** The largest message, line or event that an upstream may send. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

export interface Hooks {
  signal: AbortSignal;
  /** Counts what the answer takes of its key's share. The wire adds what it reads, and the caller gives it back. */
  ration: AnswerRation;
  /** Makes the key of a call, for servers that take one. Only calls of tools have one. */
  callKey?: (() => string) | undefined;
  /** Called for notifications that came with this request's answer, or while it was under way. */
  onNotification: (notification: RpcNotification) => void;
}

export interface Wire {
  /** Rejects with UpstreamError when the upstream failed; an error answer is a response like any other. */
  request(
    method: string,
    params: JsonObject,
    hooks: Hooks,
    headers?: Record<string, string>,
  ): Promise<RpcResponse>;
  notify(method: string, params: JsonObject): Promise<void>;
  /** Called for notifications that belong to no request. */
  onNotification: (notification: RpcNotification) => void;
  /** Called once when the wire breaks by itself. */
  onClosed: (reason: string) => void;
  /** The negotiated version, which every later HTTP request repeats. */
  protocolVersion: string | null;
  /** Whether the newer era can be tried on it: an upstream that does not know it must refuse it, and not hang. */
  readonly triesModern: boolean;
  /** Starts to receive notifications that belong to no request. A wire that carries messages both ways always does. */
  listen(): void;
  close(): void;
}

/** The upstream failed. `unsent`: it cannot have executed the request, so the request may be sent again. */
export class UpstreamError extends Error {
  readonly unsent: boolean;
  constructor(message: string, { unsent = false, cause }: { unsent?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.unsent = unsent;
  }
}

/** The upstream answered a message with an HTTP status that is an error. */
export class HttpStatusError extends UpstreamError {
  readonly status: number;
  constructor(status: number, options?: { unsent?: boolean }) {
    super(`the upstream answered with HTTP status ${status}`, options);
    this.status = status;
  }
}

/** The service stops, and could not wait until the request was answered. */
export class Stopping extends UpstreamError {
  constructor() {
    super('the service is stopping: it is unknown whether the call ran to its end');
  }
}

/** The upstream sent more than we accept. */
export class MessageTooLarge extends UpstreamError {}

/** The key has as many answers here as it may that no client has read, so this one could not be taken. */
export class AnswersUnread extends UpstreamError {
  constructor() {
    super('the answers of this key that nobody has read fill its share');
  }
}

/** Waits until the key's share has room for more of an answer. Null: nothing is to be waited for. */
export function roomFor(bytes: number, { ration, signal }: Hooks): Promise<void> | null {
  return (
    ration.grow(bytes, signal)?.catch(() => {
      throw new AnswersUnread();
    }) ?? null
  );
}

/** Reads one message of an upstream. Throws an UpstreamError that says what is wrong with it. */
export function readUpstream(text: string): RpcMessage {
  try {
    return readMessage(parseJson(text));
  } catch (error) {
    if (error instanceof GuardError && error.code === 'too_large')
      throw new MessageTooLarge(`the upstream sent a message with more than ${MAX_VALUES} values`);
    throw new UpstreamError('the upstream sent something that is not a message', { cause: error });
  }
}
