// What is wrong with a policy file as YAML. The library's messages are for people who know its grammar, so those that
// unquoted conditions lead to are followed by what to do.

import { type Document, isMap, isScalar, isSeq, type YAMLError } from 'yaml';

export interface YamlFault {
  offset: number;
  message: string;
}

/** In YAML a bare `*` begins an alias. */
export const STAR_HINT = ' (a pattern that begins with * must be in quotes)';

/**
 * In YAML a bare `!` begins a tag, which is no part of the value: `! has(args.x)` would be read as `has(args.x)`, and
 * `!has(args.x) && args.y` as `args.y`.
 */
const TAGGED = 'a text that begins with ! must be in quotes';

const HINTS: Partial<Record<YAMLError['code'], string>> = {
  BAD_ALIAS: STAR_HINT,
  BAD_DQ_ESCAPE: ' (use single quotes, in which a backslash is a backslash)',
  BLOCK_AS_IMPLICIT_KEY: ' (a text with ": " in it must be in quotes; otherwise the indentation is wrong)',
};
const QUOTE_HINT = ' (put the whole text in quotes)';
const CONDITION_HINT = ` (put the whole text in quotes, such as 'args.currency == "EUR"')`;
/** A line with a condition on it. */
const CONDITION = /\b(?:when|sum)\b|\bargs\b|[=!]=|&&|\|\|/;

export function yamlFaults(text: string, document: Document.Parsed): YamlFault[] {
  const unknownTags = document.warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED');
  const found = [
    ...[...document.errors, ...unknownTags].map(error => faultOf(text, error)),
    ...emptyTags(text, document.contents).map(offset => ({ offset, message: TAGGED })),
  ].sort((a, b) => a.offset - b.offset);
  return found.filter((each, at) => !isConsequence(text, each, found[at - 1]));
}

/** `policy → rules → rule → when → condition`. What lies deeper is refused anyway. */
const DEEPEST = 4;

/** Where a `!` without a name stands before a scalar. The library takes it for a tag that says nothing. */
function emptyTags(text: string, node: unknown, depth = DEEPEST): number[] {
  if (isScalar(node)) return node.tag === '!' ? [text.lastIndexOf('!', (node.range?.[0] ?? 0) - 1)] : [];
  if (depth === 0) return [];
  const parts = isMap(node) ? node.items.map(({ value }) => value) : isSeq(node) ? node.items : [];
  return parts.flatMap(part => emptyTags(text, part, depth - 1));
}

function faultOf(text: string, { code, message, pos }: YAMLError): YamlFault {
  const first = message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? 'cannot be read';
  const hint = HINTS[code] ?? (first.endsWith(' at node end') ? quoteHint(text, pos[0]) : '');
  return { offset: pos[0], message: code === 'TAG_RESOLVE_FAILED' ? TAGGED : first + hint };
}

function quoteHint(text: string, offset: number): string {
  const from = text.lastIndexOf('\n', offset - 1) + 1;
  const to = text.indexOf('\n', offset);
  return CONDITION.test(text.slice(from, to < 0 ? undefined : to)) ? CONDITION_HINT : QUOTE_HINT;
}

/** One wrong quote makes the library complain about everything behind it. */
function isConsequence(text: string, { offset, message }: YamlFault, before: YamlFault | undefined): boolean {
  if (before === undefined) return false;
  return message.includes(' token in YAML stream') || !text.slice(before.offset, offset).includes('\n');
}
