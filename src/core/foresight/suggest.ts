// Suggests a policy for a key: the text of a policy file whose rules cover what the key did, and nothing else. Each rule is
// one of the key's current policy, narrowed to one tool that was called. What was denied stays denied, what was asked
// stays asked, and every tool that was not called is denied. Nothing applies the text; it is for a person to read.

import { ASKS, type Policy, type Rule } from '../policy/policy.ts';
import { entryLine, limitLine, ruleLine } from '../policy-file/policy-text.ts';
import { joinName } from '../text/name.ts';
import { safeJson } from '../text/visible.ts';
import { DAY } from '../time/duration.ts';
import { byName, type SeenTool, type SeenTools } from './seen-tools.ts';
import { keptRules, rulesFor } from './suggested-rules.ts';
import * as remarks from './suggestion-remarks.ts';
import { fitting, limitsOf, type ToolRules } from './suggestion-size.ts';

/** What was counted from one time to another, in milliseconds since 1970. */
export interface SeenPeriod {
  from: number;
  to: number;
  tools: SeenTools;
}

export interface Seen extends SeenPeriod {
  keyName: string;
  /** The policy that the key has now. */
  policy: Policy;
  /** Calls of which it is not known what was called. */
  unidentified: number;
  /** Calls that an earlier version recorded. */
  earlier: number;
  /** What became of the questions of the key in this time. */
  outcomes: readonly remarks.Outcomes[];
  /** A longer period, by which it is judged what was not used. */
  longer: SeenPeriod;
  /** The tools that the servers of the key offer. */
  offered: readonly { serverName: string; toolName: string }[];
}

/** The time for which something has to be unused before a remark says so, if calls are counted as far back as that. */
export const UNUSED_MS = 90 * DAY;

/** It yields often: whoever calls it can let others have a turn, because thousands of tools take some time. */
export function* suggestedPolicy(seen: Seen): Generator<void, string> {
  const { policy } = seen;
  const tools = seen.tools.mostCalled();
  const [ruled, unruled] = yield* parted(tools, tool => keptRules(tool, policy).length > 0);
  const asked = Map.groupBy(seen.outcomes, nameOf);
  const write = (tool: SeenTool) => toolRules(tool, policy, asked.get(nameOf(tool)) ?? []);
  const { kept, left } = yield* fitting(ruled, write, policy.limits);
  const lines = [
    ...comments('', header(seen, tools)),
    ...limitLines(policy, kept),
    ...entryLines(policy),
    'rules:',
    ...(kept.length > 0 ? ruleLines(kept) : NO_RULES),
    ...remark(remarks.listed(LEFT_OUT, left, remarks.toolLine)),
    ...remark(remarks.listed(UNMATCHED, unruled, remarks.toolLine)),
    ...remark(unusedRules(seen)),
    ...remark(unusedTools(seen)),
  ];
  return `${lines.join('\n')}\n`;
}

/** Without any rule, the policy would be taken for an unfinished one. */
const NO_RULES = ['  # No rule decided about any call.', '  - { tool: "*", action: deny }'];
const LEFT_OUT =
  'These tools were called less often and are left out, because a policy cannot be longer. They are denied here:';
const UNMATCHED = 'No rule applied to the calls of these tools. They stay denied:';

function header(
  { keyName, policy, from, to, unidentified, earlier }: Seen,
  tools: readonly SeenTool[],
): string[] {
  const calls = tools.reduce((sum, tool) => sum + tool.calls, 0);
  const what =
    calls === 0
      ? 'no calls'
      : `${remarks.counted(calls, 'call')} of ${remarks.counted(tools.length, 'tool')}`;
  const rules = `Each rule is one of the policy ${safeJson(policy.name)}, version ${policy.version}, for one tool. All other tools are denied.`;
  const unknown = `${remarks.counted(unidentified, 'further call')} cannot be told apart any more, so rules for them may be missing.`;
  const old = `${remarks.counted(earlier, 'call')} of an earlier version of Toolgate can be read in part only, so some rules may not be needed.`;
  return [
    `Suggested for the key ${safeJson(keyName)} from what it did between ${time(from)} and ${time(to)}: ${what}.`,
    calls === 0 ? 'So every tool is denied.' : rules,
    ...(unidentified > 0 ? [unknown] : []),
    ...(earlier > 0 ? [old] : []),
  ];
}

function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

const nameOf = ({ serverName, toolName }: { serverName: string; toolName: string }): string =>
  joinName(serverName, toolName);

function toolRules(tool: SeenTool, policy: Policy, outcomes: readonly remarks.Outcomes[]): ToolRules {
  const kept = rulesFor(tool, policy);
  const rules = [...kept.values()];
  const alone = rules.filter(rule => ASKS[rule.action]).length === 1;
  const about = [
    remarks.callsRemark(tool),
    ...Array.from(kept).flatMap(([index, rule]) =>
      remarks.approvedRemark(
        rule,
        alone,
        outcomes.find(each => each.rule === index),
      ),
    ),
  ];
  return { tool, rules, lines: [...comments('  ', about), ...rules.map(ruleLine)] };
}

/** The rules of each server stand apart. */
function ruleLines(kept: readonly ToolRules[]): string[] {
  return kept.flatMap(({ tool, lines }, at) => {
    const apart = at > 0 && kept[at - 1]?.tool.serverName !== tool.serverName;
    return apart ? ['', ...lines] : lines;
  });
}

function limitLines({ limits = {} }: Policy, kept: readonly ToolRules[]): string[] {
  const named = new Set(limitsOf(kept.flatMap(({ rules }) => rules)));
  const lines = Object.entries(limits).flatMap(([name, limit]) =>
    named.has(name) ? [limitLine(name, limit)] : [],
  );
  return lines.length === 0 ? [] : ['limits:', ...lines];
}

/** What is done to results stays as it is, also for tools that were not called. */
function entryLines({ results = [] }: Policy): string[] {
  return results.length === 0 ? [] : ['results:', ...results.map(entryLine)];
}

function unusedRules({ policy, longer }: Seen): string[] {
  const used = new Set<number>();
  for (const { unsure, candidates, rules } of longer.tools.all()) {
    for (const index of rules) used.add(index);
    if (unsure) for (const index of candidates) used.add(index);
  }
  const unused = [...policy.rules.keys()].filter(index => !used.has(index));
  return remarks.listed(
    `Rules of the policy ${safeJson(policy.name)} that decided no call of this key ${duration(longer)}:`,
    unused,
    index => `rule ${index}: ${remarks.ruleText(policy.rules[index] as Rule)}`,
  );
}

function unusedTools({ offered, longer }: Seen): string[] {
  const unused = offered.filter(each => !longer.tools.has(each.serverName, each.toolName)).sort(byName);
  const sentence = `Tools of its servers that this key did not call ${duration(longer)}:`;
  return remarks.listed(sentence, unused, remarks.nameText);
}

/** `in 90 days`, or how far back calls are counted. */
function duration({ from, to }: SeenPeriod): string {
  const ms = to - from;
  if (ms >= UNUSED_MS) return `in ${remarks.periodText(ms)}`;
  return `in ${remarks.periodText(ms)}, which is as far back as its calls are counted`;
}

function remark(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', ...comments('', lines)];
}

function comments(indent: string, lines: readonly string[]): string[] {
  return lines.map(line => `${indent}# ${line}`);
}

function* parted<T>(all: readonly T[], belongs: (each: T) => boolean): Generator<void, [T[], T[]]> {
  const parts: [T[], T[]] = [[], []];
  for (const each of all) {
    parts[belongs(each) ? 0 : 1].push(each);
    yield;
  }
  return parts;
}
