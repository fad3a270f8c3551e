// Chooses the tools for which a suggested policy has rules, if there are too many for one policy: those that were called
// most often.

import { conditionsOf, type Limits, MAX_RULES, MAX_TEXT, type Rule } from '../policy/policy.ts';
import { MAX_CONDITIONS, MAX_LISTED } from '../policy/rule-faults.ts';
import { limitLine } from '../policy-file/policy-text.ts';
import { byName, type SeenTool } from './seen-tools.ts';

/** How much of the text is for comments that are not about one tool. */
export const MAX_REMARKS = 32_768;
/** More tools than this cannot fit: a rule and the comment above it have at least 56 characters. */
const MOST_TOOLS = 4096;

export interface ToolRules {
  tool: SeenTool;
  rules: readonly Rule[];
  /** The rules as they are written, and the comments above them. */
  lines: readonly string[];
}

/**
 * The tools that are written, sorted by server and name, and those for which there is no room. The tools that come first
 * get room first. It yields after each, because writing thousands takes a tenth of a second.
 */
export function* fitting(
  tools: readonly SeenTool[],
  written: (tool: SeenTool) => ToolRules,
  limits: Limits = {},
): Generator<void, { kept: ToolRules[]; left: SeenTool[] }> {
  const room = new Room(limits);
  const kept: ToolRules[] = [];
  const left = tools.slice(MOST_TOOLS);
  for (const tool of tools.slice(0, MOST_TOOLS)) {
    const each = written(tool);
    if (room.take(each)) kept.push(each);
    else left.push(tool);
    yield;
  }
  return { kept: kept.sort((a, b) => byName(a.tool, b.tool)), left };
}

/** What a policy has room for. */
class Room {
  readonly #limits: Limits;
  readonly #named = new Set<string>();
  #left = sizes(MAX_TEXT - MAX_REMARKS, MAX_RULES, MAX_CONDITIONS, MAX_LISTED);

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Takes the room for the rules of one tool, if there is enough. */
  take({ rules, lines }: ToolRules): boolean {
    const named = limitsOf(rules).filter(name => !this.#named.has(name));
    const taken = [
      ...rules.map(sizeOf),
      ...named.map(name => sizeOfLimit(name, this.#limits)),
      // With a blank line before them.
      ...['', ...lines].map(line => sizes(line.length + 1, 0, 0, 0)),
    ];
    const left = this.#left.map((room, at) => taken.reduce((rest, size) => rest - (size[at] ?? 0), room));
    if (left.some(each => each < 0)) return false;
    this.#left = left;
    for (const name of named) this.#named.add(name);
    return true;
  }
}

const sizes = (text: number, rules: number, conditions: number, listed: number): number[] => [
  text,
  rules,
  conditions,
  listed,
];

function sizeOf(rule: Rule): number[] {
  const { show, notify = [], escalate } = rule;
  const shown = typeof show === 'object' ? show.length : 0;
  return sizes(0, 1, conditionsOf(rule).length, shown + notify.length + (escalate?.notify.length ?? 0));
}

function sizeOfLimit(name: string, limits: Limits): number[] {
  const limit = limits[name];
  if (limit === undefined) return [];
  return sizes(limitLine(name, limit).length + 1, 0, limit.sum === undefined ? 0 : 1, 0);
}

/** The limits that the rules name. */
export function limitsOf(rules: readonly Rule[]): string[] {
  return [...new Set(rules.flatMap(({ limit }) => limit ?? []))];
}
