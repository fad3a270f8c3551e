// "Try a call": what is read from the form, and what is said about what cannot be read.

import { expect, test } from 'bun:test';
import { EMPTY_FORM, type Form, tryCall } from '../../dashboard/src/pages/policies/tried.ts';
import { compilePolicy } from '../../src/core/policy/compiled-policy.ts';

const POLICY = compilePolicy({
  id: 'p',
  name: 'p',
  version: 1,
  rules: [
    { tool: 'web__*', action: 'allow', marks: ['untrusted', 'abroad'] },
    { tool: 'mail__send', action: 'allow', when: '!("untrusted" in marks) || known(args.to)' },
    { tool: 'mail__send', action: 'require_approval', show: 'all' },
    { tool: 'db__*', action: 'allow', when: 'session.attributes.customer == args.customer' },
  ],
  results: [
    { tool: 'web__*', when: '"untrusted" in marks', hide: 'email' },
    { tool: 'web__pay', withhold: true, reason: 'Ask a person.' },
    { tool: 'mail__*', hide: 'email', marks: 'abroad' },
  ],
});

function tried(form: Partial<Form>): string {
  const outcome = tryCall(POLICY, { ...EMPTY_FORM, ...form });
  return typeof outcome === 'string' ? outcome : outcome.decision;
}

const MAIL = { tool: 'mail__send', args: '{"to": "bob@example.com"}' };

test('the run has the marks and the known values that are written', () => {
  expect(tried(MAIL)).toBe('allow');
  expect(tried({ ...MAIL, marks: 'untrusted' })).toBe('pending');
  expect(tried({ ...MAIL, marks: ' abroad,untrusted ' })).toBe('pending');
  expect(tried({ ...MAIL, marks: 'abroad' })).toBe('allow');
  expect(tried({ ...MAIL, marks: 'untrusted', known: 'Write to Bob@example.com.' })).toBe('allow');
});

test('attributes are those of the session', () => {
  const db = { tool: 'db__get', args: '{"customer": "c_17"}' };
  expect(tried({ ...db, attributes: '{"customer": "c_17"}' })).toBe('allow');
  expect(tried({ ...db, attributes: '{"customer": "c_18"}' })).toBe('deny');
  expect(tried(db)).toBe('deny');
});

test.each<[Partial<Form>, string | RegExp]>([
  [{ marks: 'untrustd' }, 'The policy has no mark "untrustd"; it has untrusted, abroad.'],
  [{ attributes: '[1]' }, 'The attributes must be a JSON object, such as {"customer": "c_17"}.'],
  [{ attributes: '{"a"' }, /^The attributes cannot be read\. /],
  [{ attributes: '{"a":[[[[]]]]}' }, 'The attributes must have at most 4 levels of objects and lists.'],
  [{ args: '5' }, 'The arguments must be a JSON object, such as {"amount": 5}.'],
  [{ args: '{' }, /^The arguments cannot be read\. /],
])('%j', (form, wanted) => {
  expect(tried({ ...MAIL, ...form })).toEqual(
    typeof wanted === 'string' ? wanted : expect.stringMatching(wanted),
  );
});

test('a result is guarded as that of the call would be', () => {
  const brought = (form: Partial<Form>) => {
    const outcome = tryCall(POLICY, { ...EMPTY_FORM, ...form });
    return typeof outcome === 'string' ? outcome : outcome.brought;
  };
  const text = (written: string) => [{ type: 'text', text: written }];
  expect(brought({ tool: 'web__get', result: 'To bob@example.com' })).toEqual({
    result: { content: text('To [hidden: email]') },
    outcome: { hidden: { email: 1 }, withheld: false, cut: false },
    marks: [],
  });
  const written = '{"content":[{"type":"text","text":"bob@example.com"}],"isError":true}';
  expect(brought({ ...MAIL, result: written })).toMatchObject({
    result: { content: text('[hidden: email]'), isError: true },
    marks: ['abroad'],
  });
  expect(brought({ tool: 'web__pay', result: 'x' })).toMatchObject({
    result: { content: text('Ask a person.'), isError: true },
    outcome: { withheld: true },
  });
  expect(brought({ tool: 'web__get' })).toBeNull();
  expect(brought({ tool: 'none__get', result: 'x' })).toBeNull();
});
