// Counted calls that a draft or a shadow decides otherwise: how many of which tool, from which decision
// to which, with the newest examples of each.

import type { Decision } from '../../core/decision/decide.ts';
import type { Deps } from '../deps.ts';
import { type CountedCall, newestCalls } from './counted-calls.ts';

export interface Difference {
  serverName: string;
  toolName: string;
  keyId: string;
  from: Decision;
  to: Decision;
  calls: number;
  /** The ids of the newest of these calls. */
  examples: string[];
}

/** Callers choose tool names, so the number of differences is unlimited. Only so many are listed; `total` counts all. */
const MOST_LISTED = 1000;
const MOST_EXAMPLES = 5;

interface Group {
  from: Decision;
  to: Decision;
  /** All have the same key, tool and decision. */
  of: CountedCall[];
  calls: number;
}

/** The calls that are decided otherwise, in groups of the same key, tool and decisions. */
export class Differences {
  /** How many calls were added. */
  total = 0;
  readonly #groups = new Map<string, Group>();

  /** `from` is not the decision of the call if people freed it, and would not be asked any more. */
  add(call: CountedCall, to: Decision, from = call.decision): void {
    this.total += call.count;
    const name = `${nameOf(call)}\n${from}\n${to}`;
    const group = this.#groups.get(name);
    if (group === undefined) this.#groups.set(name, { from, to, of: [call], calls: call.count });
    else {
      group.of.push(call);
      group.calls += call.count;
    }
  }

  /** Calls of which nothing else is known are counted, and not listed. */
  addUnnamed({ count }: CountedCall): void {
    this.total += count;
  }

  /** The most frequent ones first, with examples from this period. */
  async listed(deps: Deps, from: number, to: number): Promise<Difference[]> {
    const groups = this.#mostFrequent();
    const calls = groups.map(each => each.of);
    const examples = await newestCalls(deps, calls, from, to, MOST_EXAMPLES);
    return groups.map((each, at) => shown(each, examples[at] ?? []));
  }

  #mostFrequent(): Group[] {
    const named = [...this.#groups].toSorted(
      ([a, one], [b, other]) => other.calls - one.calls || (a < b ? -1 : 1),
    );
    return named.slice(0, MOST_LISTED).map(([, group]) => group);
  }
}

function nameOf({ serverName, toolName, keyId, decision }: CountedCall): string {
  return `${serverName}\n${toolName}\n${keyId}\n${decision}`;
}

function shown({ of, from, to, calls }: Group, examples: string[]): Difference {
  const { serverName, toolName, keyId } = of[0] as CountedCall;
  return { serverName, toolName, keyId, from, to, calls, examples };
}
