// The types of what all parts of the MCP proxy share (process/services.ts makes it once), and of a client's request.

import type { Span, Tracer } from '../core/wire/span.ts';
import type { GroupCommit } from '../guard/check/commit.ts';
import type { GuardedCall } from '../guard/check/guarded-call.ts';
import type { Learner } from '../guard/check/learner.ts';
import type { OutcomeLog } from '../guard/check/outcomes.ts';
import type { CheckRequest, Verdict, Watched } from '../guard/check/request.ts';
import type { Principal } from '../guard/credentials.ts';
import type { Deps } from '../guard/deps.ts';
import type { RateLimit } from '../guard/rate-limit.ts';
import type { AnswerRation } from '../guard/rations/answer-ration.ts';
import type { Rations } from '../guard/rations/rations.ts';
import type { ServerSignIns } from '../guard/server-sign-ins/server-sign-ins.ts';
import type { HeldCalls } from '../guard/tasks/held-calls.ts';
import type { Liveness } from '../guard/tasks/liveness.ts';
import type { Forward } from '../store/keys.ts';
import type { AwaitedAnswers } from './awaited-answers.ts';
import type { CallSlots } from './call-slots.ts';
import type { Hub } from './hub.ts';
import type { Listing } from './listing.ts';
import type { McpSessions } from './mcp-sessions.ts';
import type { SharedWork } from './shared-work.ts';
import type { TaskSubscriptions } from './tasks/subscriptions.ts';
import type { TaskRuns } from './tasks/task-runs.ts';

/** What is held beside what the client of a waiting call sent. The credential itself is not kept. */
export interface Waiting {
  principal: Principal;
  run: string | undefined;
  protocolVersion: string;
  idempotencyKey: string | undefined;
  /** Where it goes, as it is counted for the places of calls. */
  connectedTool: { keyId: string; id: string };
}

export interface TaskServices {
  deps: Deps;
  /** The calls that wait for approval. */
  calls: HeldCalls<Waiting>;
  /** Those that this process makes because they were approved. */
  runs: TaskRuns;
  /** The clients that listen to their tasks here. */
  subscriptions: TaskSubscriptions;
  /** Whether this process counts as alive, so that it may forward calls whose end it is to record. */
  liveness: Liveness;
  /** How often a key may ask about tasks. */
  requests: RateLimit;
  /** Looks at what an earlier call of this credential brings back; null where the policy has no say about it. */
  earlierCall: (principal: Principal, toolCallId: string) => Promise<GuardedCall | null>;
  /** Whether clients of a key that know tasks get them. */
  areOnFor: (keyId: string) => Promise<boolean>;
}

export interface McpServices {
  version: string;
  checks: GroupCommit<CheckRequest, Verdict>;
  /** Makes known what trusted tools return. */
  learner: Learner;
  /** Looks at what a call brings back. */
  guarded: (watched: Watched) => GuardedCall;
  hub: Hub;
  listing: Listing;
  outcomes: OutcomeLog;
  slots: CallSlots;
  /** How much each key may have at once. */
  rations: Rations;
  /** Null where no traces are sent. */
  tracer: Tracer | null;
  mcpSessions: McpSessions;
  tasks: TaskServices;
  /** Calls that wait for the person whom their client has sent to the page of an approval. */
  awaited: AwaitedAnswers;
  /** Our sign-ins to the servers of Connected Tools. */
  serverSignIns: ServerSignIns;
  /** How long a tool server may be silent. */
  timeoutMs: number;
  /** How long a call may take in all, however much progress is reported. */
  maxMs: number;
  onVerdict: (verdict: Verdict, startedAt: number, span: Span | undefined) => void;
  /** Whether a credential could ever call a tool; for listings that leave the others out. Null: they show all. */
  callable: ((principal: Principal) => Promise<(serverName: string, toolName: string) => boolean>) | null;
  /** What the key's setting `forward` names. */
  relayedFor: (keyId: string) => Promise<Forward[]>;
}

/** One HTTP request of an MCP client, authenticated. */
export interface ClientRequest {
  request: Request;
  principal: Principal;
  /** The name that the client gives for the run of its calls. */
  run?: string | undefined;
  startedAt: number;
  /** The span of the HTTP request. */
  span?: Span | undefined;
  /** Asks the store whether the credential is still valid. A `tools/call` does not need this: its check asks. */
  confirm: () => Promise<void>;
  /** Counts what the answer takes of the key's share. In a batch each message has a ration of its own. */
  ration: AnswerRation;
  shared: SharedWork;
  /** Gives the client some time to read more of the answer. After it, the client is disconnected. */
  reading: () => void;
  /** Lets the client wait for as long as it takes, because there is nothing to read. */
  waiting: () => void;
}

/** An AbortController that is aborted when this signal is, also if it was before. */
export function cancelledBy(signal: AbortSignal): AbortController {
  return new Cancel(signal);
}

/** It makes the real AbortController when it is first used: a call that is not forwarded needs none. */
class Cancel implements AbortController {
  readonly #by: AbortSignal;
  #made: AbortController | null = null;

  constructor(by: AbortSignal) {
    this.#by = by;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  get #controller(): AbortController {
    if (this.#made !== null) return this.#made;
    const made = new AbortController();
    this.#made = made;
    if (this.#by.aborted) made.abort();
    this.#by.addEventListener('abort', () => made.abort());
    return made;
  }
}
