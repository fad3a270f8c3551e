// A digest of what makes a rule this rule: pattern, action, conditions, hours and limit. A grant frees only calls that the
// same rule holds, so a rule that changes ends its grants.

import { conditionsOf, type Rule } from '../../core/policy.ts';

const known = new WeakMap<Rule, string>();

export function ruleDigest(rule: Rule): string {
  let digest = known.get(rule);
  if (digest === undefined) {
    const { tool, action, during = null, limit = null } = rule;
    const text = JSON.stringify([tool, action, conditionsOf(rule), during, limit]);
    digest = new Bun.CryptoHasher('sha256').update(text).digest('base64url');
    known.set(rule, digest);
  }
  return digest;
}
