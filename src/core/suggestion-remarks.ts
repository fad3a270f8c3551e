// The comments of a suggested policy: how often tools were called, what people always approve, what was never used, and
// what is left out. None of them has any effect.

import { DAY, HOUR } from './buckets.ts';
import { joinName } from './name.ts';
import type { Rule } from './policy.ts';
import { ruleLine } from './policy-text.ts';
import type { SeenTool } from './seen-tools.ts';
import { safeJson } from './visible.ts';

/** What became of the questions about a tool that are no longer open. */
export interface Outcomes {
  serverName: string;
  toolName: string;
  approved: number;
  /** Denied, or not answered in time. */
  refused: number;
}

/** Fewer questions say little about the next one. */
const ENOUGH_QUESTIONS = 5;
const MOST_LISTED = 50;
const MOST_CHARACTERS = 7_000;

export const number = (count: number): string => count.toLocaleString('en-US');

/** `1 call`, `3 calls`. */
export const counted = (count: number, noun: string): string =>
  `${number(count)} ${noun}${count === 1 ? '' : 's'}`;

/** `412 calls: 400 allowed, 12 asked.` */
export function callsRemark(tool: SeenTool): string {
  const { allow, deny, pending } = tool.counts;
  const parts = [
    [allow, 'allowed'],
    [pending, 'asked'],
    [deny, 'denied'],
  ] as const;
  const shown = parts.filter(([count]) => count > 0).map(([count, word]) => `${number(count)} ${word}`);
  const old =
    tool.others === 0
      ? ''
      : ` ${number(tool.others)} of them were decided before the policy had these rules.`;
  return `${counted(tool.calls, 'call')}: ${shown.join(', ')}.${old}`;
}

/** What to change if people approve every call of a tool; empty otherwise. */
export function approvedRemark(rules: readonly Rule[], outcomes: Outcomes | undefined): string[] {
  const asking = rules.filter(rule => rule.action === 'require_approval');
  const { approved = 0, refused = 0 } = outcomes ?? {};
  const [rule] = asking;
  if (rule === undefined || refused > 0 || approved < ENOUGH_QUESTIONS) return [];
  const said = `Asked ${number(approved)} times, always approved.`;
  if (asking.length > 1)
    return [`${said} To ask no more, change require_approval to allow in one of these rules.`];
  const { tool, when, during } = rule;
  const allowing = ruleLine({ tool, action: 'allow', when, during }).trim();
  return [`${said} To ask no more, change the rule that asks to:`, `  ${allowing}`];
}

/** The length of a period in words, as a lower bound: `90 days`. */
export function periodText(ms: number): string {
  if (ms >= DAY) return counted(Math.floor(ms / DAY), 'day');
  return ms >= HOUR ? counted(Math.floor(ms / HOUR), 'hour') : 'less than an hour';
}

/** A sentence and a line for each item below it. Only the first ones are written. */
export function listed<T>(sentence: string, items: readonly T[], line: (item: T) => string): string[] {
  if (items.length === 0) return [];
  const shown: string[] = [];
  let characters = 0;
  for (const item of items.slice(0, MOST_LISTED)) {
    const written = line(item);
    characters += written.length;
    if (characters > MOST_CHARACTERS) break;
    shown.push(`  ${written}`);
  }
  const rest = items.length - shown.length;
  return [sentence, ...shown, ...(rest > 0 ? [`  and ${number(rest)} more`] : [])];
}

export function toolLine(tool: SeenTool): string {
  return `${nameText(tool)} (${counted(tool.calls, 'call')})`;
}

export function nameText({ serverName, toolName }: { serverName: string; toolName: string }): string {
  return safeJson(joinName(serverName, toolName));
}

/** A rule as it is written, without its dash. */
export function ruleText(rule: Rule): string {
  return ruleLine(rule).trim().slice(2);
}
