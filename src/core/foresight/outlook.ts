// What a policy says about a tool before anybody calls it, for lists of tools: that every call is allowed, denied or asked
// about, or that it depends. It decides nothing.

import { type Decision, decide } from '../decision/decide.ts';
import type { CompiledPolicy } from '../policy/compiled-policy.ts';
import { scopeOfRecollection, type ToolCall } from '../policy/situation.ts';
import { possibilities } from './possibilities.ts';
import { provesNothing } from './recorded.ts';
import { NO_FACTS } from './replay.ts';

/** It depends on arguments, on who calls, on the time, or on what is used of a limit. */
export type Outlook = Decision | 'depends';

export function outlookOf(
  policy: CompiledPolicy,
  { serverName, toolName }: Pick<ToolCall, 'serverName' | 'toolName'>,
  keyName: string,
): Outlook {
  const scope = scopeOfRecollection({ serverName, toolName, keyName, inPersonsName: true });
  const outcomes = new Set<Outlook>();
  for (const found of possibilities(policy, { serverName, toolName }, provesNothing(), scope)) {
    const isLimited = policy.rules[found.index]?.limit !== undefined;
    outcomes.add(isLimited ? 'depends' : decide(found, NO_FACTS).decision);
    if (outcomes.size > 1) return 'depends';
  }
  const [outlook = 'depends'] = outcomes;
  return outlook;
}
