// What a link may ask of the editor; anybody can write such a link.

import { expect, test } from 'bun:test';
import { askedIn } from '../../dashboard/src/pages/policies/asked.ts';

test('a rule for a tool, above another or at the end', () => {
  expect(askedIn({ add: 'allow', tool: 'github__merge', above: '3', of: '7' })).toEqual({
    kind: 'rule',
    action: 'allow',
    tool: 'github__merge',
    above: 3,
    version: 7,
  });
  expect(askedIn({ add: 'require_approval', tool: 'a__b__c' })).toMatchObject({ above: null, version: null });
});

test('the suggestion for a key', () => {
  const suggestion = { kind: 'suggestion', keyId: '0b5e-1' };
  expect(askedIn({ suggest: '0b5e-1' })).toEqual({ ...suggestion, last: '' } as never);
  expect(askedIn({ suggest: '0b5e-1', last: '7 days' })).toEqual({ ...suggestion, last: '7 days' } as never);
});

test('nothing, on every other address', () => {
  expect(askedIn({})).toBeNull();
  expect(askedIn({ compare: '2', tool: 'a__b' })).toBeNull();
});

test.each([
  { add: 'approve', tool: 'a__b' },
  { add: '', tool: 'a__b' },
  { add: 'constructor', tool: 'a__b' },
  { add: 'allow' },
  { add: 'allow', tool: '' },
  { add: 'allow', tool: '*' },
  { add: 'allow', tool: 'no-server' },
  { add: 'allow', tool: 'a__b\n  - { tool: "*", action: allow }' },
  { add: 'allow', tool: `a__${'b'.repeat(129)}` },
  { suggest: '' },
  { suggest: '../policies/1' },
  { suggest: 'a/suggest?x=' },
])('%j is refused with a sentence', query => {
  expect(askedIn(query)).toMatchObject({ kind: 'wrong', why: expect.stringContaining('Nothing was') });
});

test.each(['-1', '1.5', 'x', '', '99999999'])('a place %j is not a place', above => {
  expect(askedIn({ add: 'deny', tool: 'a__b', above, of: above })).toMatchObject({
    above: null,
    version: null,
  });
});
