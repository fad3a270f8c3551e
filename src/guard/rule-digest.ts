// A digest of what makes a rule this rule: pattern, action, conditions, hours, limit, who may answer, and what a call that
// it lets pass means for its run. A grant frees only calls that the same rule holds, so a rule that changes ends its grants:
// whoever gave one has not agreed that the results of such calls make values known, or that they mark nothing any more.

import { conditionsOf, marksOf, type Rule } from '../core/policy/policy.ts';

const digests = new WeakMap<Rule, string>();

export function ruleDigest(rule: Rule): string {
  let digest = digests.get(rule);
  if (digest === undefined) {
    const { tool, action, during = null, limit = null, approvers, known } = rule;
    const parts: unknown[] = [tool, action, conditionsOf(rule), during, limit];
    // Rules that name no approvers, want no proof, or mean nothing for runs, keep the digest that they had before rules could.
    if (approvers !== undefined) {
      const { group = '', count = 1, proof } = approvers;
      parts.push([group, String(count), ...(proof === undefined ? [] : [proof])]);
    }
    const marks = marksOf(rule).toSorted();
    if (marks.length > 0 || known !== undefined) parts.push({ marks, known });
    const text = JSON.stringify(parts);
    digest = new Bun.CryptoHasher('sha256').update(text).digest('base64url');
    digests.set(rule, digest);
  }
  return digest;
}
