// A digest of what makes a rule this rule: pattern, action, conditions, hours, limit and who may answer. A grant frees only
// calls that the same rule holds, so a rule that changes ends its grants.

import { conditionsOf, type Rule } from '../core/policy/policy.ts';

const known = new WeakMap<Rule, string>();

export function ruleDigest(rule: Rule): string {
  let digest = known.get(rule);
  if (digest === undefined) {
    const { tool, action, during = null, limit = null, approvers } = rule;
    const parts = [tool, action, conditionsOf(rule), during, limit];
    // Rules that name no approvers, or want no proof, keep the digest that they had before rules could.
    if (approvers !== undefined) {
      const { group = '', count = 1, proof } = approvers;
      parts.push([group, String(count), ...(proof === undefined ? [] : [proof])]);
    }
    const text = JSON.stringify(parts);
    digest = new Bun.CryptoHasher('sha256').update(text).digest('base64url');
    known.set(rule, digest);
  }
  return digest;
}
