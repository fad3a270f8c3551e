// Trying a policy out without the service: by full name, by bare name, and as a session with a scope would.

import { expect, test } from 'bun:test';
import { callOf, simulate as tried } from '../../../src/core/decision/simulate.ts';
import { compilePolicy } from '../../../src/core/policy/compiled-policy.ts';
import type { Action } from '../../../src/core/policy/policy.ts';

const policy = (...rules: [tool: string, action: Action][]) =>
  compilePolicy({
    id: 'p',
    name: 'prod',
    version: 1,
    rules: rules.map(([tool, action]) => ({ tool, action })),
  });

const simulate = (
  policy: Parameters<typeof tried>[0],
  call: ReturnType<typeof callOf>,
  scopeTools: string[] | null = null,
) => tried(policy, call, { at: 0, scopeTools });

const open = policy(['github__*', 'allow'], ['get_*', 'require_approval']);

test('a full name is split, a bare one is on no server that a pattern could name', () => {
  expect(callOf('github__get__all')).toEqual({ serverName: 'github', toolName: 'get__all' });
  expect(simulate(open, callOf('github__x'))).toMatchObject({ decision: 'allow', ruleIndex: 0 });
  expect(simulate(open, callOf('get_x'))).toMatchObject({ decision: 'pending', ruleIndex: 1 });
  expect(simulate(open, callOf('x'))).toMatchObject({ decision: 'deny', ruleIndex: null });
});

test('the reason names the tool as it was asked for', () => {
  expect(simulate(open, callOf('get_x')).reason).toBe('Rule 1 of policy "prod" requires approval for get_x.');
  expect(simulate(open, callOf('github__x')).reason).toBe('Rule 0 of policy "prod" allows github__x.');
});

test('a scope is asked first', () => {
  expect(simulate(open, callOf('github__x'), ['github__x'])).toMatchObject({ decision: 'allow' });
  expect(simulate(open, callOf('github__y'), ['github__x'])).toMatchObject({
    decision: 'deny',
    ruleIndex: null,
  });
  expect(simulate(open, callOf('github__y'), [])).toMatchObject({ decision: 'deny' });
});
