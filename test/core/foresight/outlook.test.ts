// What a policy says about a tool before anybody calls it. Where it names a decision, every call must get that one, whatever
// its arguments are, who makes it and when; a table says when it depends.

import { expect, test } from 'bun:test';
import { simulate } from '../../../src/core/decision/simulate.ts';
import { outlookOf } from '../../../src/core/foresight/outlook.ts';
import { compilePolicy } from '../../../src/core/policy/compiled-policy.ts';
import { ACTIONS, type Limits, type Rule } from '../../../src/core/policy/policy.ts';
import { SEED } from '../../support/faults.ts';
import { seeded } from '../oracle.ts';

const CALL = { serverName: 's', toolName: 't' };
const LIMITS: Limits = { calls: { calls: 3, each: 'day' }, sums: { sum: 'args.n', atMost: 9, each: 'day' } };
const compile = (rules: readonly Rule[]) =>
  compilePolicy({ id: 'p', name: 'prod', version: 1, rules, limits: LIMITS });
const outlook = (...rules: Rule[]) => outlookOf(compile(rules), CALL, 'agent');

const allow = (more: Partial<Rule> = {}): Rule => ({ tool: 's__t', action: 'allow', ...more });
const deny = (more: Partial<Rule> = {}): Rule => ({ tool: '*', action: 'deny', ...more });
const ask = (more: Partial<Rule> = {}): Rule => ({ tool: 's__*', action: 'require_approval', ...more });

test.each([
  ['deny', []],
  ['deny', [allow({ tool: 'other__*' })]],
  ['allow', [allow(), deny()]],
  ['pending', [ask(), allow()]],
  ['deny', [deny(), allow()]],
  ['depends', [allow({ when: 'args.n < 3' })]],
  ['depends', [allow({ when: 'args.n < 3' }), ask()]],
  ['allow', [allow({ when: 'args.n < 3' }), allow()]],
  ['deny', [deny({ when: 'args.n < 3' })]],
  ['depends', [ask({ when: 'args.n < 3' }), allow()]],
  ['depends', [allow({ during: 'mon-fri 08:00-18:00 UTC' })]],
  ['depends', [allow({ limit: 'calls' })]],
  ['depends', [allow({ limit: 'sums' })]],
  ['allow', [allow(), allow({ limit: 'calls' })]],
  ['allow', [allow({ when: 'key.name == "agent"' })]],
  ['deny', [allow({ when: 'key.name == "another"' })]],
  ['allow', [allow({ when: 'tool.name == "t" || args.n < 3' })]],
  ['depends', [allow({ when: 'person.email == "ann@example.com"' })]],
] as [string, Rule[]][])('%s: %j', (wanted, rules) => {
  expect(outlook(...rules)).toBe(wanted as never);
});

const WHEN = [
  'args.n < 3',
  'args.n >= 3',
  'args.n == 1',
  'has(args.n)',
  'tool.name == "t"',
  'args.x || args.n < 3',
];
const ARGS = [
  {},
  { n: 1 },
  { n: 2 },
  { n: 3 },
  { n: 'text' },
  { x: true },
  { x: false, n: 1 },
  { x: true, n: 5 },
];
const POLICIES = 3000;

test('what it names comes true for every call', () => {
  const random = seeded(SEED);
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  let named = 0;
  for (let round = 0; round < POLICIES; round++) {
    const rules = Array.from({ length: random(5) }, (): Rule => {
      const action = pick(ACTIONS);
      const when = random(3) === 0 ? {} : { when: pick(WHEN) };
      const limit = action === 'allow' && random(5) === 0 ? { limit: pick(['calls', 'sums']) } : {};
      const during = random(6) === 0 ? { during: 'mon-fri 08:00-18:00 UTC' } : {};
      return { tool: pick(['*', 's__*', 's__t', 'u__*']), action, ...when, ...limit, ...during };
    });
    const policy = compile(rules);
    const outlook = outlookOf(policy, CALL, 'agent');
    if (outlook === 'depends') continue;
    named++;
    for (const args of ARGS)
      for (const at of [Date.UTC(2030, 0, 7, 12), Date.UTC(2030, 0, 6, 12)])
        for (const used of [{}, { calls: '3', sums: '9' }]) {
          const { decision } = simulate(policy, CALL, { at, args, keyName: 'agent', used });
          expect({ rules, args, at, used, decision }).toEqual({ rules, args, at, used, decision: outlook });
        }
  }
  expect(named).toBeGreaterThan(POLICIES / 5);
});
