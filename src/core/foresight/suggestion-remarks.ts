// The comments of a suggested policy: how often tools were called, what people always approve, what was never used, and
// what is left out. None of them has any effect.

import { ASKS, type Rule } from '../policy/policy.ts';
import { ruleLine } from '../policy-file/policy-text.ts';
import { joinName } from '../text/name.ts';
import { safeJson } from '../text/visible.ts';
import { DAY, HOUR } from '../time/duration.ts';
import type { SeenTool } from './seen-tools.ts';

/** What became of the questions about a tool that one rule asked, and that are no longer open. */
export interface Outcomes {
  serverName: string;
  toolName: string;
  /** The number of the rule in the current policy. */
  rule: number;
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

/**
 * What to change in a rule if people approved every question that it asked; empty otherwise. `alone`: it is the only rule
 * for the tool that asks.
 */
export function approvedRemark(rule: Rule, alone: boolean, outcomes: Outcomes | undefined): string[] {
  const { approved = 0, refused = 0 } = outcomes ?? {};
  if (!ASKS[rule.action] || refused > 0 || approved < ENOUGH_QUESTIONS) return [];
  const { tool, when, during, marks, known } = rule;
  const allowing = ruleLine({ tool, action: 'allow', when, during, marks, known }).trim();
  const said = `Asked ${number(approved)} times, always approved. To ask no more, change`;
  if (alone) return [`${said} the rule that asks to:`, `  ${allowing}`];
  return [`${said} this rule:`, `  ${ruleLine(rule).trim()}`, 'to:', `  ${allowing}`];
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
