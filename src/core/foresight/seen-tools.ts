// The tools that a key has called, with how often, and which rules of its policy decided about them. suggested-rules.ts
// makes rules from it.

import type { Decision } from '../decision/decide.ts';
import type { RuleIndex } from '../policy/rule-index.ts';
import { joinName } from '../text/name.ts';

/**
 * What decided a call: the rule of the current policy with this number, no rule, or something that the current policy does
 * not have any more.
 */
export type DecidedBy = number | 'no rule' | 'other';

export interface SeenCall {
  serverName: string;
  toolName: string;
  decision: Decision;
  count: number;
  by: DecidedBy;
  /** Whether the rule asked because a condition of it could not be evaluated. Rules below it then had a say as well. */
  held: boolean;
}

export interface SeenTool {
  serverName: string;
  toolName: string;
  calls: number;
  counts: Record<Decision, number>;
  /** The rules of the current policy that match it, in order. */
  candidates: readonly number[];
  /** The rules of the current policy that decided calls of it. */
  rules: Set<number>;
  /** Whether some other rule had a say about some call, which one is not known. */
  unsure: boolean;
  /** How many calls something decided that the current policy does not have any more. */
  others: number;
}

export class SeenTools {
  readonly #tools = new Map<string, SeenTool>();
  readonly #index: RuleIndex;

  constructor(index: RuleIndex) {
    this.#index = index;
  }

  add({ serverName, toolName, decision, count, by, held }: SeenCall): void {
    const tool = this.#tool(serverName, toolName);
    tool.calls += count;
    tool.counts[decision] += count;
    if (typeof by === 'number') tool.rules.add(by);
    if (by === 'other') tool.others += count;
    tool.unsure ||= held || by === 'other';
  }

  has(serverName: string, toolName: string): boolean {
    return this.#tools.has(joinName(serverName, toolName));
  }

  all(): Iterable<SeenTool> {
    return this.#tools.values();
  }

  /** Those that were called most often come first. */
  mostCalled(): SeenTool[] {
    return [...this.#tools.values()].sort((a, b) => b.calls - a.calls || byName(a, b));
  }

  #tool(serverName: string, toolName: string): SeenTool {
    const name = joinName(serverName, toolName);
    const known = this.#tools.get(name);
    if (known !== undefined) return known;
    const tool: SeenTool = {
      serverName,
      toolName,
      calls: 0,
      counts: { allow: 0, deny: 0, pending: 0 },
      candidates: this.#index.candidatesFor(name, toolName),
      rules: new Set(),
      unsure: false,
      others: 0,
    };
    this.#tools.set(name, tool);
    return tool;
  }
}

interface Named {
  serverName: string;
  toolName: string;
}

/** Compares two tools by server, then by name. */
export function byName(a: Named, b: Named): number {
  return compare(a.serverName, b.serverName) || compare(a.toolName, b.toolName);
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
