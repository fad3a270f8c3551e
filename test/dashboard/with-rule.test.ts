// Where a rule goes that a link asks for: where it decides the call that the link came from.

import { expect, test } from 'bun:test';
import { withRule } from '../../dashboard/src/pages/policies/with-rule.ts';

const TEXT = `- { tool: a__x, action: deny, when: 'args.n > 1' }
- { tool: b__y, action: deny }
- { tool: "a__*", action: deny }
`;
const asked = (above: number | null, version: number | null, tool = 'a__x') =>
  ({ kind: 'rule', action: 'allow', tool, above, version }) as const;
const ADDED = '- { tool: a__x, action: allow }';

const lineOf = (found: ReturnType<typeof withRule>) => found?.text.split('\n').indexOf(ADDED);

test('above the rule that decided, in the version that decided', () => {
  const found = withRule(TEXT, 4, asked(2, 4));
  expect(lineOf(found)).toBe(2);
  expect(found).toMatchObject({
    added: { first: 3, last: 3 },
    isNew: true,
    said: 'Rule 2 (allow for a__x) was added to the text.',
  });
  expect(lineOf(withRule(TEXT, 4, asked(2, null)))).toBe(2);
});

test('above every rule that matches, in another version or a changed text', () => {
  expect(lineOf(withRule(TEXT, 5, asked(2, 4)))).toBe(0);
  expect(lineOf(withRule(TEXT, null, asked(2, 4)))).toBe(0);
  expect(lineOf(withRule(TEXT, null, asked(null, 4)))).toBe(0);
});

test('at the end where no rule matches', () => {
  for (const version of [4, 5, null])
    expect(withRule(TEXT, version, asked(null, 4, 'c__z'))).toMatchObject({
      text: `${TEXT}- { tool: c__z, action: allow }\n`,
      added: { first: 4, last: 4 },
    });
});

test('not twice, and not into a text with errors', () => {
  const once = withRule(TEXT, 4, asked(2, 4))?.text ?? '';
  expect(withRule(once, null, asked(2, 4))).toMatchObject({ isNew: true });
  expect(withRule(once, 4, asked(2, 4))).toMatchObject({ text: once, isNew: false, added: { first: 3 } });
  expect(withRule('- { tool: a__x }', 4, asked(0, 4))).toBeNull();
});
