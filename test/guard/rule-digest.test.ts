// What makes a rule this rule: a grant ends when it changes.

import { expect, test } from 'bun:test';
import type { Rule } from '../../src/core/policy/policy.ts';
import { ruleDigest } from '../../src/guard/rule-digest.ts';

const RULE: Rule = { tool: 'pay__*', action: 'require_approval', when: 'args.amount > 5' };
const VOTED: Rule = { ...RULE, approvers: { group: 'finance', count: 2 } };

test('rules of before marks keep their digests, so that their grants go on', () => {
  expect(ruleDigest({ ...RULE })).toBe('-JwzerqmaCq-ae7ythRVZpwMEGZ6IBvJKrMtZloG9PM');
  expect(ruleDigest({ ...VOTED })).toBe('BQQ_dQD2rS6TjK7khcNnwJxRSMTwSDgyFLh1R15TSNU');
  expect(ruleDigest({ ...RULE, marks: undefined, known: undefined })).toBe(ruleDigest(RULE));
});

test('what its calls mean for their run belongs to a rule', () => {
  const others: Rule[] = [
    RULE,
    VOTED,
    { ...RULE, marks: 'untrusted' },
    { ...RULE, marks: ['untrusted', 'private'] },
    { ...RULE, known: 'results' },
    { ...RULE, marks: 'untrusted', known: 'results' },
    { ...VOTED, marks: 'untrusted' },
  ];
  expect(new Set(others.map(ruleDigest)).size).toBe(others.length);
});

test('a mark by itself and in a list are the same, and so are two in any order', () => {
  expect(ruleDigest({ ...RULE, marks: ['untrusted'] })).toBe(ruleDigest({ ...RULE, marks: 'untrusted' }));
  expect(ruleDigest({ ...RULE, marks: ['a', 'b'] })).toBe(ruleDigest({ ...RULE, marks: ['b', 'a'] }));
});
