// What may be found about a call of which not everything is known: every way in which the rules of a policy may come out.
// replay.ts asks about calls that are over, outlook.ts about calls that nobody has made yet.

import type { Scope } from '../condition/condition.ts';
import { type Considered, NONE_PASSED, whatFollows } from '../decision/consider.ts';
import type { CompiledPolicy } from '../policy/compiled-policy.ts';
import type { Rule } from '../policy/policy.ts';
import type { ToolCall } from '../policy/situation.ts';
import { joinName } from '../text/name.ts';
import { FAILS, FALSE, type Proven, TRUE, type Ways, waysOfRule } from './recorded.ts';

/** One example for each rule that may apply. Limits are left out. */
export function* possibilities(
  policy: CompiledPolicy,
  call: ToolCall,
  proven: Proven,
  scope: Scope,
): Iterable<Considered> {
  const { serverName, toolName } = call;
  const name = joinName(serverName, toolName);
  const found = (index: number, held: number | null): Considered => ({
    policy,
    call,
    name,
    inScope: true,
    index,
    failed: null,
    held: held === null ? null : { index: held, condition: 0, passedOver: NONE_PASSED },
    meter: null,
    unmetered: false,
    passedOver: NONE_PASSED,
    steps: 0,
  });
  /** The rules that may hold the call when the next rule is looked at; null for none. At most one rule is an example. */
  let holders: readonly (number | null)[] = [null];
  for (const index of policy.index.candidatesFor(name, toolName)) {
    const rule = policy.rules[index] as Rule;
    const follows = followsOf(rule, waysOfRule(policy.compiled.get(index), rule, proven, scope));
    if (follows.has('applies')) for (const held of holders) yield found(index, held);
    const passes = follows.has('passed over') ? holders : [];
    const after = follows.has('holds') ? [...passes.filter(each => each === null), index] : passes;
    if (after.length === 0) return;
    holders = after;
  }
  for (const held of holders) yield found(-1, held);
}

const RESULTS: readonly [Ways, boolean | null][] = [
  [TRUE, true],
  [FALSE, false],
  [FAILS, null],
];

function followsOf({ action }: Rule, ways: Ways): Set<ReturnType<typeof whatFollows>> {
  const possible = RESULTS.filter(([way]) => (ways & way) !== 0);
  return new Set(possible.map(([, applies]) => whatFollows(action, applies)));
}
