// P15: policies of 10,000 rules stay right and fast: exact names, prefixes, suffixes and patterns made to be
// slow. What is asserted is the answer and the number of steps; the time is a figure. The mutant has no index.

import { expect, test } from 'bun:test';
import type { Rule } from '../../src/core/policy/policy.ts';
import { type Decider, deciderIn } from '../core/decider.ts';
import { ARGS, oracleDecision, randomConditions, seeded } from '../core/oracle.ts';
import { figures, SEED, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import { whenChanged } from '../support/when-changed.ts';

const RULES = 10_000;
const CALLS = LONG ? 60 : 12;
const core = await deciderIn();
/** Steps that a thousand times as many rules may add to a decision. */
const MORE_STEPS = 30;

const UNINDEXED: Patch = {
  file: 'src/core/policy/rule-index.ts',
  find: 'if (!pattern.stars) append(this.#exact, pattern.head, index);',
  replace: 'if (index >= 0) this.#rest.push({ pattern, index });',
};

/** One policy of rules of every kind, none of which matches the calls that must run through all. */
function largePolicy(): Rule[] {
  const random = seeded(SEED);
  const kinds = [
    (i: number) => `server${random(50)}__tool_${i}`,
    (i: number) => `tool_${i}`,
    (i: number) => `server${random(50)}__pre${i}_*`,
    (i: number) => `*_suf${i}`,
    (i: number) => `*a*a*a*a*a*a*b${i}`,
    (i: number) => `a*${i}*z`,
  ];
  return Array.from({ length: RULES }, (_, i) => ({
    tool: (kinds[i % kinds.length] as (i: number) => string)(i),
    action: i % 3 === 0 ? 'allow' : i % 3 === 1 ? 'deny' : 'require_approval',
  }));
}

test.each([
  ['without conditions', largePolicy()],
  ['with conditions', randomConditions(seeded(SEED), largePolicy())],
])('a policy of 10,000 rules %s decides like the naive one', (kind, list) => {
  const policy = core.compilePolicy({ id: 'p', name: 'large', version: 1, rules: list });
  const random = seeded(SEED + 1);
  const shapes = [
    () => `tool_${random(RULES)}`,
    () => `pre${random(RULES)}_x`,
    () => `x_suf${random(RULES)}`,
    () => `${'a'.repeat(20)}b${random(RULES)}`,
    () => `a${random(RULES)}z`,
    () => 'a'.repeat(60),
  ];
  const times: number[] = [];
  let violations = 0;
  for (let call = 0; call < CALLS; call++) {
    const toolName = (shapes[call % shapes.length] as () => string)();
    const serverName = `server${random(50)}`;
    const started = performance.now();
    const got = core.decide(policy, { serverName, toolName }, { situation: { args: ARGS } });
    times.push(performance.now() - started);
    const wanted = oracleDecision(list, serverName, toolName);
    if (got.decision !== wanted.decision || got.ruleIndex !== wanted.ruleIndex) violations++;
  }
  times.sort((a, b) => a - b);
  const p99Ms = times[Math.floor(times.length * 0.99)]?.toFixed(3) ?? '';
  figures(`P15 ${kind}`, { seed: SEED, operations: CALLS, rules: RULES, p99Ms, violations });
  expect(violations).toBe(0);
});

test('10,000 rules take hardly more steps than 10', () => {
  expect(tooManySteps(core, 'P15 steps')).toBe(0);
});

whenChanged(UNINDEXED)('a mutant without an index is found out', async () => {
  const violations = await withMutant([UNINDEXED], async root =>
    tooManySteps(await deciderIn(root), 'P15 steps mutant'),
  );
  expect(violations).toBe(2);
});

/** Rules without conditions, and rules with one. */
function tooManySteps(decider: Decider, where: string): number {
  let violations = 0;
  for (const more of [{}, { when: 'args.yes' }]) {
    const [few, many] = [stepsOf(decider, 10, more), stepsOf(decider, RULES, more)];
    const found = many > few + MORE_STEPS ? 1 : 0;
    figures(where, { operations: 2, few, many, violations: found });
    violations += found;
  }
  return violations;
}

/** Steps that one decision takes: look-ups in an index, and patterns tried one by one. Counted, not timed. */
function stepsOf(decider: Decider, rules: number, more: Partial<Rule>): number {
  const kinds = [(n: number) => `tool_${n}`, (n: number) => `p${n}_*`, (n: number) => `*_s${n}`];
  const list = Array.from(
    { length: rules },
    (_, n): Rule => ({ tool: kinds[n % 3]!(n), action: 'deny', ...more }),
  );
  const policy = decider.compilePolicy({ id: 'p', name: 'p', version: 1, rules: list });
  const { get } = Map.prototype;
  const { startsWith } = String.prototype;
  let steps = 0;
  Map.prototype.get = function (key) {
    steps++;
    return get.call(this, key);
  };
  String.prototype.startsWith = function (...args) {
    steps++;
    return startsWith.apply(this, args);
  };
  try {
    decider.decide(policy, { serverName: 'files', toolName: 'nobody_knows_this_one' });
    return steps;
  } finally {
    Map.prototype.get = get;
    String.prototype.startsWith = startsWith;
  }
}
