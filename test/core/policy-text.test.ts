// Policies written out read back the same, and nothing in them is hidden from a reader.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Rule } from '../../src/core/policy.ts';
import { parsePolicy } from '../../src/core/policy-file.ts';
import { policyText } from '../../src/core/policy-text.ts';

const RULES: Rule[] = [
  { tool: 'github__*', action: 'allow' },
  { tool: '*', action: 'deny', reason: 'No, "never".' },
];

test('a policy is a name, perhaps a description, and a rule to a line', () => {
  expect(policyText({ name: 'prod', rules: RULES })).toBe(
    'name: "prod"\nrules:\n  - { tool: "github__*", action: allow }\n' +
      '  - { tool: "*", action: deny, reason: "No, \\"never\\"." }\n',
  );
  expect(policyText({ name: 'prod', description: '', rules: [] })).toBe('name: "prod"\nrules: []\n');
  expect(policyText({ name: 'prod', description: 'All.', rules: [] })).toBe(
    'name: "prod"\ndescription: "All."\nrules: []\n',
  );
});

test('what a reader would not see is written out', () => {
  const [rule] = policyText({ name: 'p', rules: [{ tool: 'a\u202eb\u{e0041}é', action: 'deny' }] })
    .split('\n')
    .slice(2);
  expect(rule).toBe('  - { tool: "a\\u202eb\\udb40\\udc41é", action: deny }');
});

test('whatever is written reads back the same', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
  const action = fc.constantFrom('allow', 'deny', 'require_approval');
  const rule = fc.record({ tool: text, action, reason: text }, { requiredKeys: ['tool', 'action'] });
  const policies = fc.record({ name: text, description: text, rules: fc.array(rule, { maxLength: 5 }) });
  fc.assert(
    fc.property(policies, ({ name, description, rules }) => {
      const read = parsePolicy(policyText({ name, description, rules: rules as Rule[] }));
      expect(read.policy).toEqual({ name, rules: rules as Rule[] });
    }),
    { numRuns: 300 },
  );
});
