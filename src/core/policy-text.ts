// Writes policies as text that reads back the same: for files, for the editor, and for comparing versions.
// policy-file.ts reads them.

import type { Rule } from './policy.ts';
import { safeJson } from './visible.ts';

/** One rule as one line of YAML, which makes policies easy to compare. */
export function ruleLine({ tool, action, reason }: Rule): string {
  const why = reason === undefined ? '' : `, reason: ${safeJson(reason)}`;
  return `  - { tool: ${safeJson(tool)}, action: ${action}${why} }`;
}

/** A policy as a file that `policies apply` reads. */
export function policyText(policy: { name: string; description?: string; rules: readonly Rule[] }): string {
  const lines = [`name: ${safeJson(policy.name)}`];
  if (policy.description) lines.push(`description: ${safeJson(policy.description)}`);
  lines.push(policy.rules.length === 0 ? 'rules: []' : 'rules:', ...policy.rules.map(ruleLine));
  return `${lines.join('\n')}\n`;
}
