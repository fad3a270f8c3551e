// Tries a policy on one tool: it asks the same `decide` as the service, without a session, grants or approvals. The
// command line and the dashboard's policy editor use it.

import { type CompiledPolicy, type Decided, decide, type ToolCall } from './decide.ts';
import { joinName, splitName } from './name.ts';

// A bare name is tried on a server whose name no pattern can contain, so that only a `*` matches it.
const ANY_SERVER = '\u0000';

/** The call that a name stands for: a full name splits at its first `__`; anything else is a bare tool name. */
export function callOf(tool: string): ToolCall {
  return splitName(tool) ?? { serverName: ANY_SERVER, toolName: tool };
}

export function simulate(
  policy: CompiledPolicy,
  call: ToolCall,
  scopeTools: string[] | null = null,
): Decided {
  const scope = scopeTools === null ? null : new Set(scopeTools);
  const outcome = decide(policy, call, { scope, drift: null, freedom: null, approvalLimit: null });
  return { ...outcome, reason: outcome.reason.replaceAll(joinName(ANY_SERVER, ''), '') };
}
