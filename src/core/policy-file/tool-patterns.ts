// What can be told of the patterns of tools: whether one can match at all, whether it was taken for a regular expression, and
// which rules cover another one.

import { type Limits, namesServer, type Rule } from '../policy/policy.ts';
import { RuleIndex } from '../policy/rule-index.ts';
import { SEPARATOR, splitName } from '../text/name.ts';

/** What is probably wrong with a pattern, as the end of a sentence about what has it. */
export function patternWarnings(tool: string): string[] {
  const found: string[] = [];
  if (!isPossible(tool)) found.push(IMPOSSIBLE);
  if (looksLikeExpression(tool)) found.push(NO_EXPRESSION);
  return found;
}

const IMPOSSIBLE =
  'can never match: with "__" in it, it is compared with full names only, <server>__<tool>, and this is not one; ' +
  'begin it with * to mean any server';

const NO_EXPRESSION =
  'looks like a regular expression, which a pattern is not: only * is special, and stands for any run of characters; ' +
  'every tool of a server is <server>__*';

/**
 * Finds `^a`, `a$`, `.*`, `.+`, `\d`, `[a-z]` and `(a|b)`, which show that the author probably took the pattern for a
 * regular expression.
 */
const REGULAR_EXPRESSION = /^\^|\$$|\.[*+]|\\[.*+\w]|\[[^\]]+\]|\([^)]*\|[^)]*\)/;
export const looksLikeExpression = (tool: string): boolean => REGULAR_EXPRESSION.test(tool);

interface Shadowed {
  index: number;
  /** The earlier rules, in order; for each call one of them matches and applies. */
  by: number[];
}

export function shadowedRules(rules: readonly Rule[], limits: Limits = {}): Shadowed[] {
  const index = new RuleIndex(rules, limits);
  return rules.flatMap(({ tool }, position) => {
    const by = coveredBy(index, tool, position);
    return by === null ? [] : [{ index: position, by }];
  });
}

/** The rules before `position` that together match everything that the pattern matches, or null. */
function coveredBy(index: RuleIndex, tool: string, position: number): number[] | null {
  const by = new Set<number>();
  for (const { full, bare } of partsOf(tool)) {
    const first = index.first(anyText(full), bare === null ? null : anyText(bare));
    if (first < 0 || first >= position) return null;
    by.add(first);
  }
  return by.size === 0 ? null : [...by].sort((a, b) => a - b);
}

/**
 * A pattern covers another if it matches the other with every `*` replaced by a character that no pattern contains:
 * only a `*` can match that character, and a `*` matches any other text as well.
 */
const anyText = (pattern: string): string => pattern.replaceAll('*', '\u0000');

/**
 * A set of calls, described by a pattern of their full names, and by a pattern of their bare names if the server's name
 * contains no `*`.
 */
interface Part {
  full: string;
  bare: string | null;
}

/** The calls that a pattern matches, divided into parts that are easy to compare with another pattern. */
function* partsOf(tool: string): Generator<Part> {
  if (!namesServer(tool)) yield { full: `*${SEPARATOR}${tool}`, bare: tool };
  for (const full of namesServer(tool) ? [tool] : separated(tool)) {
    const at = full.indexOf(SEPARATOR);
    const bare = full.slice(0, at).includes('*') ? null : full.slice(at + SEPARATOR.length);
    if (isPossible(full)) yield { full, bare };
  }
}

/**
 * The full names that a pattern without `__` matches, as patterns with `__`: either some `*` stands for a text that
 * contains the separator, or one or both of its underscores are a `_` of the pattern beside a `*`.
 */
function* separated(tool: string): Generator<string> {
  const pieces = tool.split(/\*+/);
  for (let at = 1; at < pieces.length; at++) {
    const [before, after] = [pieces.slice(0, at).join('*'), pieces.slice(at).join('*')];
    yield `${before}*${SEPARATOR}*${after}`;
    if (before.endsWith('_')) yield `${before}_*${after}`;
    if (after.startsWith('_')) yield `${before}*_${after}`;
    if (before.endsWith('_') && after.startsWith('_')) yield before + after;
  }
}

/** Whether a pattern with `__` in it can match a full name at all: no server's name begins with `_`. */
function isPossible(tool: string): boolean {
  if (!namesServer(tool)) return true;
  return tool.includes('*') ? !tool.startsWith('_') : splitName(tool) !== null;
}
