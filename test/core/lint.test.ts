// Rules that can never match: what is reported never decides, and the plain cases are reported.

import { expect, test } from 'bun:test';
import { shadowedRules } from '../../src/core/lint.ts';
import type { Rule } from '../../src/core/policy.ts';
import { oracleFirst, oracleMatches, randomRules, randomText, seeded } from './oracle.ts';

const policy = (...tools: string[]): Rule[] => tools.map(tool => ({ tool, action: 'allow' }));

test('a rule reported as shadowed never decides', () => {
  const random = seeded(30);
  let reported = 0;
  for (let round = 0; round < 1500; round++) {
    const rules = randomRules(random, 10);
    const shadowed = new Set(shadowedRules(rules).map(each => each.index));
    reported += shadowed.size;
    for (let call = 0; call < 30; call++) {
      const server = randomText(random, 'ab', 2, 1);
      const tool = randomText(random, 'abc_', 6, 1);
      const decides = oracleFirst(rules, server, tool);
      if (shadowed.has(decides))
        throw new Error(`${decides} decides ${server}__${tool}: ${JSON.stringify(rules)}`);
    }
  }
  expect(reported).toBeGreaterThan(1000);
});

test('the rule named as the cause matches whatever the shadowed one matches', () => {
  const random = seeded(31);
  for (let round = 0; round < 1000; round++) {
    const rules = randomRules(random, 8);
    for (const { index, by } of shadowedRules(rules)) {
      expect(by).toBeLessThan(index);
      for (let name = 0; name < 20; name++) {
        const text = randomText(random, 'abc_', 6, 1);
        const [covered, covering] = [rules[index]?.tool ?? '', rules[by]?.tool ?? ''];
        if (oracleMatches(covered, text)) expect(oracleMatches(covering, text)).toBe(true);
      }
    }
  }
});

test('finds a rule behind one that covers it, and leaves the others alone', () => {
  expect(shadowedRules(policy('*', 'a'))).toEqual([{ index: 1, by: 0 }]);
  expect(shadowedRules(policy('a', 'a'))).toEqual([{ index: 1, by: 0 }]);
  expect(shadowedRules(policy('a*', 'ab*', 'a*b', 'a'))).toEqual([
    { index: 1, by: 0 },
    { index: 2, by: 0 },
    { index: 3, by: 0 },
  ]);
  expect(shadowedRules(policy('a*c', 'a*b*c'))).toEqual([{ index: 1, by: 0 }]);
  expect(shadowedRules(policy('*', '**'))).toEqual([{ index: 1, by: 0 }]);
  expect(shadowedRules(policy('ab*', 'a*'))).toEqual([]);
  expect(shadowedRules(policy('a', '*a', 'a*', '*'))).toEqual([]);
  // Overlap is not cover: a name may match the second and not the first.
  expect(shadowedRules(policy('a*b', 'a*'))).toEqual([]);
  expect(shadowedRules(policy('read_file', 'files__read_file'))).toEqual([]);
});
