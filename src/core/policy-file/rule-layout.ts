// Writes a rule in the layout of another one that stands beside it in a policy file: in lines of YAML or in braces, with
// or without quotes around names, on one line or on several. insert-rule.ts puts it into the text.

import { isScalar, type YAMLMap } from 'yaml';
import type { Rule } from '../policy/policy.ts';
import { RULE_FIELDS } from '../policy/rule-fields.ts';
import { safeJson } from '../text/visible.ts';

export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** How the line ends that an offset is in; if it is the last, how the one before it ends. */
export function lineBreakOf(text: string, offset: number): '\r\n' | '\n' {
  const next = text.indexOf('\n', offset);
  const at = next < 0 ? text.lastIndexOf('\n') : next;
  return at > 0 && text[at - 1] === '\r' ? '\r\n' : '\n';
}

/** The blanks before an offset, if nothing else is before it on its line; otherwise null. */
export function indentAt(text: string, offset: number): string | null {
  const before = text.slice(lineStart(text, offset), offset);
  return /^[ \t]*$/.test(before) ? before : null;
}

/** A rule that begins with a dash, like the one whose dash is at an offset. It has no line break at its end. */
export function dashedRule(text: string, rule: Rule, beside: YAMLMap, dash: number): string {
  const indent = ' '.repeat(dash - lineStart(text, dash));
  const first = keyStart(beside);
  const between = text.slice(dash + 1, first);
  const gap = !beside.flow && /^ +$/.test(between) ? between : ' ';
  if (beside.flow) return `${indent}-${gap}${bracedRule(text, rule, beside)}`;
  const quote = quotedNames(beside);
  const fields = fieldsOf(rule, quote).join(lineBreakOf(text, dash) + indent + ' '.repeat(1 + gap.length));
  return `${indent}-${gap}${fields}`;
}

/** A rule in braces, like another one; with none beside it, like the rest of the text. */
export function bracedRule(text: string, rule: Rule, beside: YAMLMap | null): string {
  const json = beside === null ? isJson(text) : quotedNames(beside);
  const written = beside === null ? '' : text.slice(...rangeOf(beside));
  const tight = json && /"tool"\s*:\S/.test(written);
  const fields = fieldsOf(rule, json, tight ? ':' : ': ');
  const outer = beside === null ? null : indentAt(text, rangeOf(beside)[0]);
  const inner = beside === null ? null : indentAt(text, keyStart(beside));
  if (beside !== null && outer !== null && inner !== null) {
    const eol = lineBreakOf(text, rangeOf(beside)[0]);
    return `{${eol}${inner}${fields.join(`,${eol}${inner}`)}${eol}${outer}}`;
  }
  const gap = /^\{\s/.test(written) || (written === '' && !json) ? ' ' : '';
  return `{${gap}${fields.join(tight ? ',' : ', ')}${gap}}`;
}

/** The fields as they are written, each with its name. */
function fieldsOf(rule: Rule, quoted: boolean, colon = ': '): string[] {
  return RULE_FIELDS.flatMap(field => {
    const value = rule[field];
    if (value === undefined) return [];
    const bare = !quoted && typeof value === 'string' && BARE.test(value);
    return [`${quoted ? safeJson(field) : field}${colon}${bare ? value : safeJson(value)}`];
  });
}

/** Actions, and full names without special characters. None of these is anything but a string in YAML. */
const BARE = /^(?:allow|deny|require_approval|[A-Za-z][\w.-]*__[\w.-]*\w)$/;

export function rangeOf(node: YAMLMap): [from: number, to: number] {
  const [from = 0, to = 0] = node.range ?? [];
  return [from, to];
}

function keyStart(map: YAMLMap): number {
  const key = map.items[0]?.key;
  return (isScalar(key) ? key.range?.[0] : undefined) ?? rangeOf(map)[0];
}

function quotedNames(map: YAMLMap): boolean {
  const key = map.items[0]?.key;
  return isScalar(key) && key.type === 'QUOTE_DOUBLE';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
