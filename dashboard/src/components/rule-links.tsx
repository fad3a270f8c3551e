// Links from a call to the editor of the policy that decided it, which opens with a rule for the tool that is not saved
// yet. They are for people who may change policies.

import type { Action } from '../../../src/core/policy/policy.ts';
import { joinName } from '../../../src/core/text/name.ts';
import { queryOf } from '../api.ts';
import { mayAdminister } from '../session.ts';

const ACTION_NAMES: Readonly<Record<Action, string>> = {
  allow: 'Allow',
  require_approval: 'Ask about',
  deny: 'Deny',
};

interface RuleLinksProps {
  policyId: string;
  policyVersion: number;
  /** The rule that decided, above which the new one goes; null if none did. */
  ruleIndex: number | null;
  /** Absent if an earlier version recorded the call. */
  reasonCode?: { code: string } | undefined;
  serverName: string;
  toolName: string;
}

export function RuleLinks({ policyId, policyVersion, ruleIndex, reasonCode, ...call }: RuleLinksProps) {
  const { serverName, toolName } = call;
  if (!mayAdminister.value || !isAboutRules(ruleIndex, reasonCode?.code)) return null;
  const tool = joinName(serverName, toolName);
  const address = (add: Action) =>
    `/dashboard/policies/${policyId}${queryOf({ add, tool, above: ruleIndex, of: policyVersion })}`;
  return (
    <nav class="rule-links" aria-label="A rule for this tool">
      <span class="soft">From now on:</span>
      {(Object.entries(ACTION_NAMES) as [Action, string][]).map(([action, name]) => (
        <a key={action} class="button plain small" href={address(action)}>
          {name} this tool
        </a>
      ))}
    </nav>
  );
}

/** If neither a rule decided nor one was missing, the session's scope or a setting decided, and no rule helps. */
function isAboutRules(ruleIndex: number | null, code: string | undefined): boolean {
  return ruleIndex !== null || code === 'no_rule';
}
