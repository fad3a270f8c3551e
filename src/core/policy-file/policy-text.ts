// Writes policies as text that reads back the same: for files, for the editor, and for comparing versions.
// policy-file.ts reads them.

import type { Field, Fields } from '../policy/field-type.ts';
import type { Limit } from '../policy/limit.ts';
import { LIMIT } from '../policy/limit-fields.ts';
import type { Limits, Rule } from '../policy/policy.ts';
import { RESULT, type ResultEntry } from '../policy/result-fields.ts';
import { RULE } from '../policy/rule-fields.ts';
import { safeJson } from '../text/visible.ts';

/** One rule as one line of YAML, which makes policies easy to compare. */
export function ruleLine(rule: Rule): string {
  return `  - ${fieldsText(rule, RULE)}`;
}

/** The same without the name: two rules that differ only in their names decide the same. */
export function unnamedLine(rule: Rule): string {
  return ruleLine({ ...rule, name: undefined });
}

/** One limit as one line of YAML. */
export function limitLine(name: string, limit: Limit): string {
  return `  ${safeJson(name)}: ${fieldsText(limit, LIMIT)}`;
}

/** One entry of `results` as one line of YAML. */
export function entryLine(entry: ResultEntry): string {
  return `  - ${fieldsText(entry, RESULT)}`;
}

function fieldsText(value: object, fields: Fields): string {
  const written: string[] = [];
  for (const name of Object.keys(fields)) {
    const part = value[name as keyof typeof value];
    if (part !== undefined) written.push(fieldText(name, fields[name] as Field, part));
  }
  return `{ ${written.join(', ')} }`;
}

/** One field as it is written. */
export function fieldText(name: string, { type }: Pick<Field, 'type'>, value: unknown): string {
  const bare = type.bare && typeof value === 'string';
  return `${name}: ${bare ? value : inline(value, type.parts)}`;
}

/** `fields` are those of a part that is an object. */
function inline(part: unknown, fields: Fields = {}): string {
  if (Array.isArray(part)) return `[${part.map(each => inline(each, fields)).join(', ')}]`;
  if (typeof part !== 'object' || part === null) return safeJson(part);
  return fieldsText(part, fields);
}

interface Written {
  name: string;
  description?: string | undefined;
  rules: readonly Rule[];
  limits?: Limits | undefined;
  results?: readonly ResultEntry[] | undefined;
}

/** A policy as a file that `policies apply` reads. */
export function policyText({ name, description, rules, limits = {}, results = [] }: Written): string {
  const lines = [`name: ${safeJson(name)}`];
  if (description) lines.push(`description: ${safeJson(description)}`);
  const all = Object.entries(limits);
  if (all.length > 0) lines.push('limits:', ...all.map(([each, limit]) => limitLine(each, limit)));
  lines.push(rules.length === 0 ? 'rules: []' : 'rules:', ...rules.map(ruleLine));
  if (results.length > 0) lines.push('results:', ...results.map(entryLine));
  return `${lines.join('\n')}\n`;
}
