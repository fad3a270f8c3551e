// Puts a rule for one tool into the text of a policy file, in YAML or JSON, and leaves every other character as it is
// written. Comments directly above a rule stay with it, and so do those behind it and those that are indented below it.
// rule-layout.ts writes the rule.

import { type CST, isMap, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import type { Action, Rule } from '../policy/policy.ts';
import { splitName } from '../text/name.ts';
import { exactRule } from './exact-rule.ts';
import { parsePolicy, type WrittenPolicy } from './policy-file.ts';
import { unnamedLine } from './policy-text.ts';
import { bracedRule, dashedRule, indentAt, lineBreakOf, lineStart, rangeOf } from './rule-layout.ts';

export interface InsertedRule {
  text: string;
  /** The number of the rule in that text. */
  index: number;
  /** False if the policy had this very rule there or above; the text is then what it was. */
  added: boolean;
}

/**
 * The text with a rule for a tool, whose full name is given. It goes above the rule with the number `above`, or to the
 * end. Null if the text has errors, if the name is no full name, or if the text is written so unusually that a person
 * has to put the rule in.
 */
export function insertRule(
  text: string,
  { tool, action }: { tool: string; action: Action },
  above: number | null,
): InsertedRule | null {
  const name = splitName(tool);
  const before = parsePolicy(text).policy;
  if (name === null || before === null) return null;
  const rules = before.rules.map(unnamedLine);
  const rule: Rule = { ...exactRule(name), action };
  const index = Math.min(above ?? rules.length, rules.length);
  const there = rules.indexOf(unnamedLine(rule));
  if (there >= 0 && there <= index) return { text, index: there, added: false };
  const list = listOf(text);
  const changed = list === null ? text : withPieces(text, piecesFor(text, list, rule, index));
  const wanted = rules.toSpliced(index, 0, unnamedLine(rule));
  const now = parsePolicy(changed).policy;
  if (now === null || !isEqual(now.rules.map(unnamedLine), wanted) || !isEqual(rest(now), rest(before)))
    return null;
  return { text: changed, index, added: true };
}

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** What a new rule must leave as it is. */
const rest = ({ limits, results }: WrittenPolicy) => [limits, results];

type Rules = YAMLSeq<YAMLMap>;

function listOf(text: string): Rules | null {
  const { contents } = parseDocument(text, { keepSourceTokens: true, uniqueKeys: false, version: '1.2' });
  const list = isMap(contents) ? contents.get('rules', true) : contents;
  return isSeq(list) ? (list as Rules) : null;
}

/** What is put in at a place of the text. */
interface Piece {
  at: number;
  text: string;
}

function withPieces(text: string, pieces: readonly Piece[]): string {
  return pieces.reduceRight((all, piece) => all.slice(0, piece.at) + piece.text + all.slice(piece.at), text);
}

function piecesFor(text: string, list: Rules, rule: Rule, index: number): Piece[] {
  const [first] = list.items;
  if (first === undefined) return [{ at: (list.range?.[1] ?? 1) - 1, text: bracedRule(text, rule, null) }];
  const starts = startsOf(list);
  const last = index === list.items.length;
  if (list.flow && last) return lastInBrackets(text, list, rule, starts);
  if (list.flow) return [inBrackets(text, list, rule, index, starts)];
  return [last ? dashedLast(text, list, rule, starts) : dashedAbove(text, list, rule, index, starts)];
}

/** Where each rule begins: at its dash, or in brackets at its anchor, its tag or its brace. */
function startsOf(list: Rules): number[] {
  const { items } = list.srcToken as CST.BlockSequence | CST.FlowCollection;
  const blank = ['space', 'newline', 'comment', 'comma'];
  return list.items.map((item, at) => {
    const token = items[at]?.start.find(({ type }) => !blank.includes(type));
    return token?.offset ?? rangeOf(item)[0];
  });
}

function dashedAbove(text: string, list: Rules, rule: Rule, index: number, starts: readonly number[]): Piece {
  const dash = starts[index] ?? 0;
  const eol = lineBreakOf(text, dash);
  const before = list.items[index - 1];
  const at = aboveComments(text, dash, before === undefined ? 0 : rangeOf(before)[1]);
  const gap = before !== undefined && isBlankLine(text, at - 1) ? eol : '';
  return { at, text: dashedRule(text, rule, list.items[index] as YAMLMap, dash) + eol + gap };
}

function dashedLast(text: string, list: Rules, rule: Rule, starts: readonly number[]): Piece {
  const last = list.items.at(-1) as YAMLMap;
  const dash = starts.at(-1) as number;
  const eol = lineBreakOf(text, dash);
  const at = belowComments(text, rangeOf(last)[1], dash - lineStart(text, dash));
  const before = list.items.at(-2);
  const above = before === undefined ? dash : aboveComments(text, dash, rangeOf(before)[1]);
  // A blank line would become part of a text that is written as `|+`.
  const keeps = /[|>]\d?\+/.test(text.slice(dash, at));
  const gap = before !== undefined && !keeps && isBlankLine(text, above - 1) ? eol : '';
  const written = dashedRule(text, rule, last, dash);
  // The last line of a text may have no line break.
  const ended = at === 0 || text[at - 1] === '\n';
  return { at, text: ended ? gap + written + eol : eol + gap + written };
}

function inBrackets(text: string, list: Rules, rule: Rule, index: number, starts: readonly number[]): Piece {
  const start = starts[index] ?? 0;
  const written = bracedRule(text, rule, list.items[index] as YAMLMap);
  const indent = indentAt(text, start);
  if (indent === null) return { at: start, text: `${written},${isTight(text, list) ? '' : ' '}` };
  const before = list.items[index - 1];
  const at = aboveComments(text, start, before === undefined ? (list.range?.[0] ?? 0) : rangeOf(before)[1]);
  return { at, text: `${indent}${written},${lineBreakOf(text, start)}` };
}

function lastInBrackets(text: string, list: Rules, rule: Rule, starts: readonly number[]): Piece[] {
  const last = list.items.at(-1) as YAMLMap;
  const start = starts.at(-1) as number;
  const [, end] = rangeOf(last);
  const written = bracedRule(text, rule, last);
  const indent = indentAt(text, start);
  if (indent === null) return [{ at: end, text: `,${isTight(text, list) ? '' : ' '}${written}` }];
  const eol = lineBreakOf(text, start);
  // A comment behind the last rule stays on its line.
  const rest = /^[ \t]*(,?)[ \t]*(?:#[^\r\n]*)?(?=\r?\n)/.exec(text.slice(end));
  if (rest === null) return [{ at: end, text: `,${eol}${indent}${written}` }];
  const at = end + rest[0].length;
  if (rest[1] === ',') return [{ at, text: `${eol}${indent}${written},` }];
  return [
    { at: end, text: ',' },
    { at, text: `${eol}${indent}${written}` },
  ];
}

/** Whether rules in brackets stand without spaces between them. */
function isTight(text: string, list: Rules): boolean {
  const [from = 0] = list.range ?? [];
  const [, end] = rangeOf(list.items[0] as YAMLMap);
  return list.items.length > 1 ? /^,\S/.test(text.slice(end)) : /^\[\{"\w+":"/.test(text.slice(from));
}

/** The beginning of the lines of comments directly above a line, which are not indented more, and not before `from`. */
function aboveComments(text: string, offset: number, from: number): number {
  let at = lineStart(text, offset);
  const most = offset - at;
  while (at > 0) {
    const line = lineStart(text, at - 1);
    const indent = /^[ \t]*(?=#)/.exec(text.slice(line, at))?.[0];
    if (line < from || indent === undefined || indent.length > most) break;
    at = line;
  }
  return at;
}

/** The end of the line that a rule ends on, and of comments directly below it that are indented more than its dash. */
function belowComments(text: string, end: number, indent: number): number {
  let at = end > 0 && text[end - 1] === '\n' ? end : nextLine(text, end);
  while (new RegExp(`^ {${indent + 1},}#`).test(text.slice(at, nextLine(text, at)))) at = nextLine(text, at);
  return at;
}

function nextLine(text: string, offset: number): number {
  const next = text.indexOf('\n', offset);
  return next < 0 ? text.length : next + 1;
}

/** Whether the line that ends at an offset has nothing on it. */
function isBlankLine(text: string, offset: number): boolean {
  return offset >= 0 && text.slice(lineStart(text, offset), offset).trim() === '';
}
