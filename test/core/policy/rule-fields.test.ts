// The one description of a rule's fields: its examples are right, and what is made of it agrees.

import { describe, expect, test } from 'bun:test';
import { z } from 'zod';
import type { Field, Fields } from '../../../src/core/policy/field-type.ts';
import { LIMIT } from '../../../src/core/policy/limit-fields.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { fieldOf, isReadLater, RULE, RULE_FIELDS } from '../../../src/core/policy/rule-fields.ts';
import { parsePolicy } from '../../../src/core/policy-file/policy-file.ts';
import { policyText } from '../../../src/core/policy-file/policy-text.ts';
import { rules } from '../../../src/http/admin/rule-fields.ts';
import { plainFault } from '../../../src/http/serving/plain-faults.ts';

const everyField = (fields: Fields): [string, Field][] =>
  Object.entries(fields).flatMap(([name, field]) => [[name, field], ...everyField(field.type.parts ?? {})]);

test.each([...everyField(RULE), ...everyField(LIMIT)])(
  'the example of %s is right',
  (_, { type, example }) => {
    expect(type.faults(example)).toEqual([]);
  },
);

test('a rule of all examples is written in the order of the description, and reads back the same', () => {
  const examples = (skipped: string) => RULE_FIELDS.filter(name => name !== skipped).toReversed();
  for (const [action, skipped] of [
    ['allow', 'none'],
    ['require_approval', 'limit'],
  ] as const) {
    const all = examples(skipped).map(name => [name, name === 'action' ? action : fieldOf(name).example]);
    const rule: Rule = Object.fromEntries(all);
    const limits = { refunds: { calls: 1, within: '1h', beyond: 'require_approval' } } as const;
    const read = parsePolicy(policyText({ name: 'p', rules: [rule], limits }));
    expect(read.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(read.policy?.rules).toEqual([rule]);
    expect(Object.keys(read.policy?.rules[0] ?? {})).toEqual(RULE_FIELDS.filter(name => name !== skipped));
  }
});

test('the API’s document has every field, with its help', () => {
  const { items } = z.toJSONSchema(rules) as { items: { properties: object; required: string[] } };
  expect(Object.keys(items.properties)).toEqual([...RULE_FIELDS]);
  expect(items.required).toEqual(['tool', 'action']);
  for (const name of RULE_FIELDS)
    expect(items.properties[name as never]).toMatchObject({
      ...fieldOf(name).type.schema,
      description: expect.stringContaining(fieldOf(name).help),
    });
});

describe('a file and the API refuse a value with the same words:', () => {
  const alone = RULE_FIELDS.filter(name => !isReadLater(fieldOf(name)));
  const wrong = [5, null, true, [5], {}, '', 'a\tb', 'x'.repeat(1001)];

  test.each(alone)('%s', name => {
    for (const value of wrong) {
      const rule = { tool: 'a', action: 'allow', [name]: value };
      const { error } = rules.safeParse([rule], { error: plainFault });
      const ofApi = (error?.issues ?? []).map(({ message }) => `"${name}" ${message}`);
      const ofFile = parsePolicy(JSON.stringify([rule])).problems.map(({ message }) => message);
      // What depends on other fields is found later by the API, and a file names the condition in a list.
      if (name === 'when' && Array.isArray(value)) expect(ofApi).toHaveLength(1);
      else if (ofApi.length > 0) expect([value, ofFile]).toEqual([value, ofApi]);
    }
  });
});
