// The input and the result of a check: the request that each surface makes, and the verdict that it shows.

import type { AgentCall } from '../../core/agents/acts.ts';
import type { Lacking } from '../../core/approvals/approval.ts';
import type { Decision } from '../../core/decision/decide.ts';
import type { HandedTo } from '../../core/decision/reason.ts';
import type { Look } from '../../core/definitions/look.ts';
import type { ToolCall } from '../../core/policy/situation.ts';
import type { ResultGuard } from '../../core/results/results.ts';
import { joinName } from '../../core/text/name.ts';
import type { Surface } from '../../core/text/surface.ts';
import type { Json } from '../../core/wire/json.ts';
import type { Attributes, Span } from '../../core/wire/span.ts';
import type { ConnectedTool } from '../../store/connected-tools.ts';
import type { AuditEntry } from '../../store/log/audit-entry.ts';
import type { Principal } from '../credentials.ts';
import type { Run, RunHandle } from './run.ts';

export interface CheckRequest {
  principal: Principal;
  surface: Surface;
  call: ToolCall;
  args: Json | undefined;
  /** What the door of a coding agent says of the call. */
  agent?: AgentCall;
  /**
   * The client's answer to a tool that asked for more input, with the state that the tool sent. An approval is bound to
   * it as to the arguments.
   */
  continuation?: Json;
  /** The digest that binds an approval to the call, once it is computed: from then on, nothing of it may change. */
  callDigest?: string;
  /** The Connected Tool that the call is forwarded to, if the service runs it itself, as it was when the call was made. */
  connectedTool?: CalledTool;
  /**
   * The digest of the definition that the caller is shown, where a server may show different ones to different people.
   * It must then be the accepted one. Otherwise the store knows what the tool shows.
   */
  shownDigest?: string;
  /** What is known of that definition. */
  shownLook?: Look;
  /** The approval that the caller names as the one that frees this call. */
  referenceId: string | null;
  /**
   * Who takes care of a call that would wait: the person at the agent's terminal, or the MCP proxy that it comes to
   * next. No approval is opened then. A rule that says who has to approve is not put to a person at a terminal.
   */
  handedTo?: HandedTo;
  /** The name that was given for the run of the call. */
  run?: string | undefined;
  /** What a coding agent will name the call by when it reports the result. */
  resultName?: string | undefined;
  /** Its client may be answered by a task, if the call waits. */
  taskable?: true;
  /** Its client is promised to learn whether it ran: that it is forwarded is recorded together with the decision. */
  tracked?: true;
  /** The task whose held call this is: it is decided only if this process still holds it. */
  resumes?: string;
  /** The idempotency key that it carries. */
  once?: Once;
  /** `performance.now()` at arrival. */
  startedAt: number;
  /** The span of the request, if it is traced or carries a trace. */
  span?: Span | undefined;
}

/** What stands for an idempotency key of one credential (idempotency.ts). */
export interface Once {
  digest: string;
}

/** Which Connected Tool a call goes to, and which state of its server. */
export interface CalledTool extends Pick<ConnectedTool, 'id' | 'toolServerId' | 'updatedAt'> {
  /**
   * The digest of the definition that the server shows to this replica, where the call depends on it. A server may show
   * another one to another replica.
   */
  seenDigest?: string | undefined;
}

export interface Verdict {
  decision: Decision;
  reason: string;
  policyId: string;
  toolCallId: string;
  referenceId?: string;
  message?: string;
  /**
   * When the approval ends if nobody answers. Verdicts on `/v1/check` are sent as they are, without this and `lacking`.
   */
  expiresAt?: number;
  /** What the person wrote who denied the same call before. */
  note?: string;
  /** Set for a call on `/mcp` that is denied only because too many others are under way. */
  unplaced?: true;
  /** Set for a call that waits, if too few people could approve it. `message` says so too. */
  lacking?: Lacking;
  /** Set for a call that is allowed, if its result makes values known. */
  known?: 'results';
  /** Set for a call that is allowed, if the policy says what is to be done to its result. */
  results?: true;
  latencyMs: number;
  /** Set for a call that waits, if it is a task now: its arguments are to be held. */
  task?: true;
  /** Set for a call that is allowed, if a task waited for the approval that freed it. The task now ends as this call does. */
  freedTask?: string;
  /** Set if it is recorded that the call is forwarded. Its end has to be recorded too (guard/tasks/end-call.ts). */
  executing?: true;
  /** Set for a call that waits, if a person at the client may be sent to the approval's page. */
  approveHere?: true;
  /** Set if this is the verdict of an earlier call with the same idempotency key. It is not forwarded again. */
  [REPEATED]?: true;
  /** The run whose values the result makes known. JSON has no symbols, so it is not sent. */
  [RUN]?: RunHandle;
  /** What its result is looked at by before it is passed on. It holds the arguments, and is not sent either. */
  [WATCHED]?: Watched;
}

/** What is kept of an allowed call whose result is looked at, in memory only (guarded-call.ts). */
export interface Watched {
  guard: ResultGuard;
  /** What the call is called where marks are shown. */
  by: { serverName: string; toolName: string; toolCallId: string };
  /** The run of the call, which gets the marks; null if nothing is remembered of runs. */
  run: Run | null;
}

export const RUN = Symbol('run');
export const WATCHED = Symbol('watched');
export const REPEATED = Symbol('repeated');

/** What the span of a call says about its recorded decision. The reason is left out: it is a sentence for people. */
export function attributesOf({ call }: CheckRequest, entry: AuditEntry): Attributes {
  const { decision, ruleIndex, policyId, policyVersion, surface, id, serverName, toolName } = entry;
  return {
    'toolgate.decision': decision,
    'toolgate.policy_id': policyId,
    'toolgate.policy_version': policyVersion,
    'toolgate.surface': surface,
    'toolgate.tool_call_id': id,
    ...(ruleIndex !== null && { 'toolgate.rule_index': ruleIndex }),
    ...(call.relayed !== true && {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': joinName(serverName, toolName),
    }),
  };
}
