// The tools that a key has called, with how often, and which rules of its policy decided about them. suggested-rules.ts
// makes rules from it.

import type { Decision } from './decide.ts';
import { joinName } from './name.ts';

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
  counts: Record<Decision, number>;
  /** The rules of the current policy that decided calls of it. */
  rules: Set<number>;
  /** Whether some other rule had a say about some call, which one is not known. */
  unsure: boolean;
  /** How many calls something decided that the current policy does not have any more. */
  others: number;
}

export class SeenTools {
  readonly #tools = new Map<string, SeenTool>();

  add({ serverName, toolName, decision, count, by, held }: SeenCall): void {
    const tool = this.#tool(serverName, toolName);
    tool.counts[decision] += count;
    if (typeof by === 'number') tool.rules.add(by);
    if (by === 'other') tool.others += count;
    tool.unsure ||= held || by === 'other';
  }

  has(serverName: string, toolName: string): boolean {
    return this.#tools.has(joinName(serverName, toolName));
  }

  /** By server, then by name. */
  sorted(): SeenTool[] {
    return [...this.#tools.values()].sort(byName);
  }

  #tool(serverName: string, toolName: string): SeenTool {
    const name = joinName(serverName, toolName);
    const known = this.#tools.get(name);
    if (known !== undefined) return known;
    const counts = { allow: 0, deny: 0, pending: 0 };
    const tool = { serverName, toolName, counts, rules: new Set<number>(), unsure: false, others: 0 };
    this.#tools.set(name, tool);
    return tool;
  }
}

interface Named {
  serverName: string;
  toolName: string;
}

export function byName(a: Named, b: Named): number {
  return compare(a.serverName, b.serverName) || compare(a.toolName, b.toolName);
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

export function callsOf({ counts }: SeenTool): number {
  return counts.allow + counts.deny + counts.pending;
}
