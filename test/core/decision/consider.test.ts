// How often rules have to be examined where conditions ask for values that are looked up only after an evaluation.

import { expect, test } from 'bun:test';
import { Failure } from '../../../src/core/condition/condition.ts';
import { consider } from '../../../src/core/decision/consider.ts';
import { compilePolicy } from '../../../src/core/policy/compiled-policy.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';
import type { Situation } from '../../../src/core/policy/situation.ts';

test('one examination asks for the values of all rules that deny, up to the one that applies anyway', () => {
  const rules: Rule[] = [
    { tool: 'mail__send', action: 'deny', when: '!known(args.to)' },
    { tool: 'mail__*', action: 'deny', when: '!known(args.cc)' },
    { tool: 'mail__send', action: 'allow', when: 'known(args.subject)' },
    { tool: '*', action: 'deny' },
    { tool: 'mail__send', action: 'deny', when: '!known(args.unasked)' },
  ];
  const asked: string[] = [];
  const situation = (isKnown: boolean | Failure): Situation => ({
    now: 0,
    surface: 'check',
    args: { to: 'ann', cc: 'bob', subject: 'cy', unasked: 'dee' },
    keyId: 'k',
    keyName: 'k',
    session: null,
    person: null,
    annotations: null,
    run: {
      marks: [],
      knows: (_, written) => {
        asked.push(written);
        return isKnown;
      },
      isWaiting: () => isKnown instanceof Failure,
    },
  });
  const policy = compilePolicy({ id: 'p', name: 'p', version: 1, rules });
  const examined = (isKnown: boolean | Failure) =>
    consider(policy, { serverName: 'mail', toolName: 'send' }, null, situation(isKnown));
  expect(examined(new Failure('Later.'))).toMatchObject({ index: 0, failed: 0 });
  expect(asked.splice(0)).toEqual(['ann', 'bob', 'cy']);
  expect(examined(true)).toMatchObject({ index: 2, failed: null });
  expect(asked.splice(0)).toEqual(['ann', 'bob', 'cy']);
  expect(examined(false)).toMatchObject({ index: 0, failed: null });
  expect(asked).toEqual(['ann']);
});
