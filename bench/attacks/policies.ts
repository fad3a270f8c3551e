// The policies that are attacked, one file for each suite and kind, and the check that none of them names what a task or an
// injection names. Lists are filled in from the owner's own contacts, payees and channels, which stay with AgentDojo.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { parse } from 'yaml';
import type { SuiteName } from './stage.ts';

export const KINDS = ['allow', 'ask', 'lists', 'marks', 'known'] as const;
export type Kind = (typeof KINDS)[number];

/** Controls are the same for every suite. */
const CONTROLS: readonly Kind[] = ['allow', 'ask'];

export const fileOf = (suite: SuiteName, kind: Kind): string =>
  CONTROLS.includes(kind) ? `${kind}.yaml` : `${suite}-${kind}.yaml`;

export const writtenPolicy = (suite: SuiteName, kind: Kind): string =>
  fs.readFileSync(path.join(import.meta.dirname, fileOf(suite, kind)), 'utf8');

/** Puts a list in place of each `$name`. */
export function filled(text: string, lists: Record<string, readonly string[]>): string {
  return text.replace(/\$([a-z]+)/g, (_, name: string) => {
    const list = lists[name];
    if (list === undefined) throw new Error(`A policy asks for the list "${name}", which this suite has not`);
    return JSON.stringify(list).replaceAll("'", "''");
  });
}

interface Written {
  rules: Record<string, unknown>[];
}

/**
 * The literals of a policy that stand in a task or an injection, too. Patterns of tools are no literals; everything else
 * that a rule says is looked at, comments and the description are not.
 */
export function namedValues(text: string, values: readonly string[]): string[] {
  const { rules } = parse(text) as Written;
  const said = rules.flatMap(({ tool: _, ...fields }) => literals(fields));
  const telling = new Set(values.map(value => value.toLowerCase()));
  return said.filter(literal => telling.has(literal.toLowerCase()));
}

/** The texts and numbers in conditions, and texts of other fields as a whole. */
function literals(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(literals);
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(literals);
  const text = String(value);
  const quoted = [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, literal = '']) => literal);
  const numbers = text.replace(/"(?:[^"\\]|\\.)*"/g, '').match(/\b\d[\d.]*\b/g) ?? [];
  return [text, ...quoted, ...numbers];
}
