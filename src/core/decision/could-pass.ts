// Whether a call could be allowed, now or after an approval. It is for lists of tools only and decides nothing.

import type { CompiledPolicy } from '../policy/compiled-policy.ts';
import { FREEDOM, type Rule } from '../policy/policy.ts';
import type { ToolCall } from '../policy/situation.ts';
import { joinName } from '../text/name.ts';

export function couldPass(
  policy: CompiledPolicy,
  call: ToolCall,
  scope: ReadonlySet<string> | null,
): boolean {
  const name = joinName(call.serverName, call.toolName);
  if (scope !== null && !scope.has(name)) return false;
  return policy.index
    .candidatesFor(name, call.toolName)
    .some(index => FREEDOM[(policy.rules[index] as Rule).action] > FREEDOM.deny);
}
