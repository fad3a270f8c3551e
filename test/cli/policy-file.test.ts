// What the command line sends of a policy file: its text wherever the service can keep it, and otherwise its rules.

import { expect, test } from 'bun:test';
import { policyBody, policyIn, policyWithin } from '../../src/cli/policy-file.ts';
import { MAX_TEXT } from '../../src/core/policy/policy.ts';
import { captured } from './captured.ts';

const io = captured('.');

function bodyOf(text: string, name = 'p') {
  return policyBody(name, policyIn(io, text, 'p.yaml', 1));
}

test('the text, unless it is too long or names another policy', () => {
  const rules = '[{ tool: a, action: deny }]';
  const asRules = { rules: [{ tool: 'a', action: 'deny' as const }], limits: {} };
  expect(bodyOf(`rules: ${rules}`)).toEqual({ name: 'p', text: `rules: ${rules}` });
  const named = `name: p\ndescription: d\nrules: ${rules}\n`;
  expect(bodyOf(named)).toEqual({ name: 'p', text: named });
  expect(bodyOf(named, 'q')).toEqual({ name: 'q', description: 'd', ...asRules });
  const long = (length: number) => `rules: ${rules}\n#`.padEnd(length, 'x');
  expect(bodyOf(long(MAX_TEXT))).toEqual({ name: 'p', text: long(MAX_TEXT) });
  expect(bodyOf(long(MAX_TEXT + 1))).toEqual({ name: 'p', ...asRules });
});

test('a policy inside another file is moved to the left, or sent as rules if that would change it', () => {
  const within = (text: string, from: string) =>
    policyWithin(io, text, [text.indexOf(from), text.length], 'r.yaml', 1).text;
  const block = 'policies:\n  - name: p\n    rules: # all\n      - { tool: a, action: deny }\n';
  expect(within(block, 'name')).toBe('name: p\nrules: # all\n  - { tool: a, action: deny }\n');
  // The blank line at the end belongs to the value here.
  const kept = 'policies:\n  - rules: []\n    description: |+\n      a\n\n';
  expect(within(kept, 'rules')).toBeNull();
});
