// What is wrong with the conditions of a policy, and how large their patterns are together. rule-faults.ts and
// result-faults.ts say which conditions there are.

import { ConditionFault, type UsedPattern } from '../condition/condition.ts';

/** The names and indexes that lead to a part of a policy, such as `rules 3 when 0`. */
export type Path = readonly (string | number)[];

export interface Fault {
  path: Path;
  message: string;
  /** Where the fault is in a condition, in UTF-16 units; null if it is not inside one. */
  offset: number | null;
}

/** The most instructions of all different patterns of a policy. To compile so many takes a quarter of a second. */
export const MAX_INSTRUCTIONS = 50_000;

/** The patterns of a policy. Whoever writes more than a policy may have gets no further one compiled. */
export class Patterns {
  readonly #seen = new Set<string>();
  #left = MAX_INSTRUCTIONS;

  get isFull(): boolean {
    return this.#left < 0;
  }

  add(used: readonly UsedPattern[]): void {
    for (const { text, size } of used) {
      if (this.#seen.has(text)) continue;
      this.#seen.add(text);
      this.#left -= size;
    }
  }

  addInVain(instructions: number): void {
    this.#left -= instructions;
  }
}

export function conditionFaults(
  path: Path,
  source: string,
  compile: (source: string) => { patterns: readonly UsedPattern[] },
  patterns: Patterns,
): Fault[] {
  if (patterns.isFull) return [];
  try {
    patterns.add(compile(source).patterns);
  } catch (error) {
    if (!(error instanceof ConditionFault)) throw error;
    patterns.addInVain(error.compiled);
    return [{ path, message: error.message, offset: error.offset }];
  }
  return patterns.isFull ? [{ path, message: TOO_MANY_PATTERNS, offset: 0 }] : [];
}
const TOO_MANY_PATTERNS = `with this condition, the patterns of the policy have more than ${MAX_INSTRUCTIONS} instructions together; use fewer or shorter ones, or divide the policy`;

export function partOf(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) return undefined;
  return (value as Record<string, unknown>)[field];
}

export function fault(path: Path, message: string): Fault {
  return { path, message, offset: null };
}
