// Writes policies as text that reads back the same: for files, for the editor, and for comparing versions.
// policy-file.ts reads them.

import { ASKING_PARTS } from '../policy/asking-faults.ts';
import { LIMIT_FIELDS, type Limit } from '../policy/limit.ts';
import { type Limits, RULE_FIELDS, type Rule } from '../policy/policy.ts';
import { safeJson } from '../text/visible.ts';

/** One rule as one line of YAML, which makes policies easy to compare. */
export function ruleLine(rule: Rule): string {
  return `  - ${fieldsText(rule, RULE_FIELDS)}`;
}

/** The same without the name: two rules that differ only in their names decide the same. */
export function unnamedLine(rule: Rule): string {
  return ruleLine({ ...rule, name: undefined });
}

/** One limit as one line of YAML. */
export function limitLine(name: string, limit: Limit): string {
  return `  ${safeJson(name)}: ${fieldsText(limit, LIMIT_FIELDS)}`;
}

/** Names that a program knows, and durations, need no quotes. */
const BARE = new Set(['action', 'within', 'each', 'per', 'beyond', 'show', 'timeout', 'after', 'proof']);

function fieldsText<T extends object>(value: T, fields: readonly (keyof T & string)[]): string {
  const written = fields.flatMap(field => {
    const part: unknown = value[field];
    if (part === undefined) return [];
    const bare = BARE.has(field) && typeof part === 'string';
    return [`${field}: ${bare ? part : inline(part, ASKING_PARTS[field])}`];
  });
  return `{ ${written.join(', ')} }`;
}

/** `fields` are those of a part that is an object. */
function inline(part: unknown, fields: readonly string[] = []): string {
  if (Array.isArray(part)) return `[${part.map(each => safeJson(each)).join(', ')}]`;
  if (typeof part !== 'object' || part === null) return safeJson(part);
  return fieldsText<Record<string, unknown>>({ ...part }, fields);
}

interface Written {
  name: string;
  description?: string | undefined;
  rules: readonly Rule[];
  limits?: Limits | undefined;
}

/** A policy as a file that `policies apply` reads. */
export function policyText({ name, description, rules, limits = {} }: Written): string {
  const lines = [`name: ${safeJson(name)}`];
  if (description) lines.push(`description: ${safeJson(description)}`);
  const all = Object.entries(limits);
  if (all.length > 0) lines.push('limits:', ...all.map(([each, limit]) => limitLine(each, limit)));
  lines.push(rules.length === 0 ? 'rules: []' : 'rules:', ...rules.map(ruleLine));
  return `${lines.join('\n')}\n`;
}
