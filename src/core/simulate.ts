// What a policy says about one tool, for trying it out: the service's own decider, with no session, no grant and
// no approval in sight. The command line and the dashboard's editor ask it.

import { type CompiledPolicy, decide, type Outcome, type ToolCall } from './decide.ts';
import { joinName, splitName } from './name.ts';

// A bare name is decided on a server whose name no pattern can spell, so that only a `*` covers it.
const ANY_SERVER = '\u0000';

/** The call a person means: a full name splits at its first `__`; anything else is a bare tool name. */
export function callOf(tool: string): ToolCall {
  return splitName(tool) ?? { serverName: ANY_SERVER, toolName: tool };
}

export function simulate(
  policy: CompiledPolicy,
  call: ToolCall,
  scopeTools: string[] | null = null,
): Outcome {
  const scope = scopeTools === null ? null : new Set(scopeTools);
  const outcome = decide(policy, call, { scope, drift: null, freedom: null, approvalLimit: null });
  return { ...outcome, reason: outcome.reason.replaceAll(joinName(ANY_SERVER, ''), '') };
}
