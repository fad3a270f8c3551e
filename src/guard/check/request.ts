// What a check is asked, and what it answers. Both surfaces make the one and show the other.

import type { Decision, ToolCall } from '../../core/decide.ts';
import type { Surface } from '../../core/event.ts';
import type { Json } from '../../core/json.ts';
import type { Principal } from '../credentials.ts';

export interface CheckRequest {
  principal: Principal;
  surface: Surface;
  call: ToolCall;
  args: Json | undefined;
  /** What a client answers to a tool that asked for more, with the tool's state. Bound like the arguments. */
  continuation?: Json;
  /** The Connected Tool that gets the call, where the service runs it itself. */
  connectedToolId?: string;
  /** An approved, unspent approval of this very call, when the caller names one. */
  referenceId: string | null;
  /** `performance.now()` at arrival. */
  startedAt: number;
}

export interface Verdict {
  decision: Decision;
  reason: string;
  policyId: string;
  toolCallId: string;
  referenceId?: string;
  message?: string;
  latencyMs: number;
}
