// A tools/call on its way: what the client sent of it, and what it needs of the service.

import type { Json, JsonObject } from '../core/wire/json.ts';
import type { Span } from '../core/wire/span.ts';
import type { Principal } from '../guard/credentials.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import type { CallInput } from './call-input.ts';
import type { OwnAnswers } from './own-questions.ts';
import type { Id } from './protocol.ts';
import type { McpServices } from './services.ts';

export const TOOLS_CALL = 'tools/call';

export type CallServices = Pick<
  McpServices,
  | 'checks'
  | 'awaited'
  | 'learner'
  | 'guarded'
  | 'hub'
  | 'listing'
  | 'mcpSessions'
  | 'outcomes'
  | 'slots'
  | 'timeoutMs'
  | 'maxMs'
  | 'onVerdict'
  | 'serverSignIns'
  | 'tracer'
  | 'tasks'
>;

export interface Call {
  principal: Principal;
  /** The name of the run to which the call belongs, if the client gives one or opened an MCP session. */
  run?: string | undefined;
  params: JsonObject;
  startedAt: number;
  /** Aborted when the client wants no answer any more. */
  cancel: AbortController;
  /** Whether the client speaks the newer era. */
  modern: boolean;
  /** Whether the client can send its user to an address. */
  elicitsUrl: boolean;
  /** Whether the client knows tasks. */
  tasks: boolean;
  /** By which the client names this call, so that it can be made again. */
  idempotencyKey?: string | undefined;
  /** Aborted when the client has gone, whatever becomes of its call. */
  hungUp?: AbortSignal;
  /** The task whose held call this is; its client does not wait for it here. */
  resumes?: string;
  /** The least level of the log messages that the client wants; undefined: it wants none. */
  logLevel: Json | undefined;
  /** Counts what the answer takes of the key's share, and keeps the call's slot, until the client has read the answer. */
  ration: AnswerRation;
  /** What the client answered when it was last asked to send its user to an address. */
  answers?: OwnAnswers;
  /** Where the client is told of something beside its calls; the newer era has no such place. */
  mcpSessionId?: string | undefined;
  /** Takes progress and log messages of the upstream, for the client. */
  onNotification: (notification: JsonObject) => void;
  /** What its span says of the message and of the HTTP request that carried it. */
  context: { span: Span | undefined; id: Id; protocolVersion: string };
}

/** A call within its own span, with what is checked and forwarded of it. */
export interface Begun extends Call {
  input: CallInput;
  span: Span | undefined;
  /** Asked right before the call is sent to its tool server. If it throws, the call is not sent. */
  beforeSent?: () => Promise<void>;
}
