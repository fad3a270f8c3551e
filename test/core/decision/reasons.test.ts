// What conditions, hours and limits come to in a reason, and that it holds no part of an argument. The
// policy is the one of the documentation.

import { describe, expect, test } from 'bun:test';
import type { Limits, Rule } from '../../../src/core/policy/policy.ts';
import type { ToolCall } from '../../../src/core/policy/situation.ts';
import type { JsonObject } from '../../../src/core/wire/json.ts';
import { deciderIn, type Facts } from '../decider.ts';

const core = await deciderIn();

const LIMITS: Limits = {
  sends: { calls: 20, within: '1h', per: 'session' },
  refunds: {
    sum: 'args.amount',
    unit: 0.01,
    atMost: 500,
    each: 'day',
    zone: 'Europe/Berlin',
    beyond: 'require_approval',
  },
  plain: { calls: 3, each: 'week' },
};

const RULES: Rule[] = [
  {
    tool: 'fs__*',
    action: 'deny',
    when: 'has(args.path) && !path.within(args.path, "/srv/documents")',
    reason: 'Only the documents folder.',
  },
  {
    tool: 'stripe__refund',
    action: 'allow',
    when: ['args.amount > 0 && args.amount <= 50', 'args.currency == "EUR"'],
    limit: 'refunds',
  },
  { tool: 'stripe__refund', action: 'require_approval', when: 'args.amount <= 1000', reason: 'Money moves.' },
  {
    tool: 'mail__send',
    action: 'allow',
    when: 'args.to.all(a, email.domain(a) == "example.com")',
    limit: 'sends',
    during: 'mon-fri 08:00-18:00 Europe/Berlin',
  },
  { tool: 'mail__count', action: 'allow', limit: 'plain' },
];

const policy = core.compilePolicy({ id: 'p', name: 'support', version: 1, rules: RULES, limits: LIMITS });
/** A Monday, 9 o'clock in Berlin. */
const MONDAY = Date.parse('2026-03-02T08:00:00Z');
const SUNDAY = Date.parse('2026-03-01T08:00:00Z');

function says(tool: string, args: JsonObject, { situation, ...facts }: Facts = {}) {
  const [serverName = '', toolName = ''] = tool.split('__');
  const about = { ...facts, situation: { now: MONDAY, args, ...situation } };
  const { decision, ruleIndex, reason } = core.decide(policy, { serverName, toolName }, about);
  return [decision, ruleIndex, reason];
}

const session = { id: 's', label: 'run' };
const EUR = { currency: 'EUR' };

test('a rule with a condition that could not be evaluated denies, and says which one', () => {
  expect(says('fs__read', { path: '../etc' })).toEqual([
    'deny',
    0,
    'Rule 0 of policy "support" denies fs__read: its condition 0 could not be evaluated.',
  ]);
  expect(says('fs__read', { path: '/etc/passwd' })).toEqual(['deny', 0, 'Only the documents folder.']);
  expect(says('fs__read', { path: '/srv/documents/a' })).toEqual([
    'deny',
    null,
    'No rule of policy "support" matches fs__read; unmatched calls are denied.',
  ]);
});

test('the rule that came nearest is named with its condition', () => {
  const asks = 'Rule 2 of policy "support" requires approval for stripe__refund. Money moves.';
  expect(says('stripe__refund', { amount: 60, ...EUR })).toEqual([
    'pending',
    2,
    `${asks} Rule 1 did not apply: condition 0 is false.`,
  ]);
  expect(says('stripe__refund', { amount: 40, currency: 'USD' })[2]).toBe(
    `${asks} Rule 1 did not apply: condition 1 is false.`,
  );
  expect(says('stripe__refund', { amount: 40 })[2]).toBe(
    `${asks} Rule 1 did not apply: condition 1 could not be evaluated.`,
  );
  expect(says('stripe__refund', { amount: 5000 })).toEqual([
    'deny',
    null,
    'No rule of policy "support" matches stripe__refund; unmatched calls are denied. Rule 2 did not apply: ' +
      'condition 0 is false.',
  ]);
});

test('a rule that asks for approval and could not be evaluated says so, unless the rules below deny', () => {
  const gone: Rule = {
    tool: 'a',
    action: 'require_approval',
    when: ['true', 'args.gone'],
    reason: 'Look first.',
  };
  const of = (...rules: Rule[]) => {
    const compiled = core.compilePolicy({ id: 'p', name: 'n', version: 1, rules });
    const { decision, ruleIndex, reason } = core.decide(compiled, { serverName: 's', toolName: 'a' });
    return [decision, ruleIndex, reason];
  };
  const passed = ' Rule 0 did not apply: condition 1 could not be evaluated.';
  expect(of(gone, { tool: 'a', action: 'allow' })).toEqual([
    'pending',
    0,
    `Rule 0 of policy "n" requires approval for s__a: its condition 1 could not be evaluated. Look first.`,
  ]);
  const never: Rule = { tool: 'a', action: 'deny', when: 'false' };
  expect(of(never, gone, never, { tool: 'a', action: 'allow' })[2]).toBe(
    'Rule 1 of policy "n" requires approval for s__a: its condition 1 could not be evaluated. Look first.',
  );
  expect(of(gone, gone, { tool: 'a', action: 'require_approval' })[1]).toBe(0);
  expect(of(gone, { tool: 'a', action: 'deny', reason: 'Never.' })).toEqual(['deny', 1, `Never.${passed}`]);
  expect(of(gone)).toEqual([
    'deny',
    null,
    `No rule of policy "n" matches s__a; unmatched calls are denied.${passed}`,
  ]);
});

describe('which rule came nearest', () => {
  const allow: Rule = { tool: 'a', action: 'allow', when: 'false' };
  const asks: Rule = { tool: 'a', action: 'require_approval', when: 'false' };
  const denies: Rule = { tool: 'a', action: 'deny', when: 'false' };
  const other: Rule = { tool: 'b', action: 'allow', when: 'false' };
  const gone: Rule = { tool: 'a', action: 'require_approval', when: 'args.gone' };
  const last = (action: Rule['action'], more: Partial<Rule> = {}): Rule => ({ tool: 'a', action, ...more });
  const limits: Limits = {
    some: { calls: 3, each: 'day' },
    more: { calls: 3, each: 'day', beyond: 'require_approval' },
  };
  /** The number of the rule that the reason names, or null. */
  const nearest = (rules: Rule[], facts: Facts = {}, flags: Partial<ToolCall> = {}) => {
    const compiled = core.compilePolicy({ id: 'p', name: 'n', version: 1, rules, limits });
    const call = { serverName: 's', toolName: 'a', ...flags };
    const { decision, code } = core.decide(compiled, call, facts);
    return [decision, 'nearest' in code ? (code.nearest?.rule ?? null) : null];
  };

  test('after an allow none is named', () => {
    expect(nearest([allow, asks, denies, last('allow')])).toEqual(['allow', null]);
    const freedom = { kind: 'grant', referenceId: 'r' } as const;
    expect(nearest([allow, last('require_approval')], { freedom })).toEqual(['allow', null]);
  });

  test('after a deny it is the last that would have allowed or asked', () => {
    expect(nearest([allow, asks, denies, other, last('deny')])).toEqual(['deny', 1]);
    expect(nearest([asks, allow, denies])).toEqual(['deny', 1]);
    expect(nearest([denies, denies, last('deny')])).toEqual(['deny', null]);
    expect(nearest([allow, allow, allow, allow])).toEqual(['deny', 3]);
    expect(nearest([allow, gone, last('deny'), allow])).toEqual(['deny', 1]);
  });

  test('after pending it is the last that would have allowed', () => {
    expect(nearest([allow, asks, denies, last('require_approval')])).toEqual(['pending', 0]);
    expect(nearest([asks, last('require_approval'), allow])).toEqual(['pending', null]);
    // A rule below the one that holds the call stood in nobody's way.
    expect(nearest([allow, gone, allow, last('allow')])).toEqual(['pending', 0]);
  });

  test('a limit that is used up counts as what it decides', () => {
    const usedUp = true;
    expect(nearest([allow, asks, last('allow', { limit: 'some' })], { usedUp })).toEqual(['deny', 1]);
    expect(nearest([allow, asks, last('allow', { limit: 'more' })], { usedUp })).toEqual(['pending', 0]);
  });

  test('what is in the way of every rule that asks leaves only those that allow', () => {
    const rules = [allow, asks, last('require_approval')];
    expect(nearest(rules, { repeats: { referenceId: 'r', denied: true } })).toEqual(['deny', 0]);
    expect(nearest(rules, { approvalLimit: { of: 'key', open: 20 } })).toEqual(['deny', 0]);
    expect(nearest(rules, {}, { unseen: true })).toEqual(['deny', 0]);
  });

  test('what is in the way of every rule leaves none', () => {
    expect(nearest([allow, last('allow')], { drift: 'deny' })).toEqual(['deny', null]);
    expect(nearest([allow, last('allow')], { drift: 'require_approval' })).toEqual(['pending', null]);
    expect(nearest([allow, last('allow')], {}, { noPlace: { atMost: 5, of: 'key' } })).toEqual([
      'deny',
      null,
    ]);
    expect(nearest([allow, last('deny')], { scope: new Set() })).toEqual(['deny', null]);
  });
});

test('hours: a rule outside its hours is passed over, and its conditions are not looked at', () => {
  const to = ['a@example.com'];
  expect(says('mail__send', { to }, { situation: { session } })).toEqual([
    'allow',
    3,
    'Rule 3 of policy "support" allows mail__send.',
  ]);
  for (const args of [{ to }, {}] as JsonObject[])
    expect(says('mail__send', args, { situation: { session, now: SUNDAY } })[2]).toBe(
      'No rule of policy "support" matches mail__send; unmatched calls are denied. ' +
        'Rule 3 did not apply: it is outside its hours.',
    );
});

test('limits: one that is used up decides, in the words of its window', () => {
  const usedUp = true;
  const args = { amount: 40, ...EUR };
  expect(says('stripe__refund', args)).toEqual([
    'allow',
    1,
    'Rule 1 of policy "support" allows stripe__refund.',
  ]);
  expect(says('stripe__refund', args, { usedUp })).toEqual([
    'pending',
    1,
    'Rule 1 of policy "support" allows stripe__refund, but its limit "refunds" is used up (500 each day per key), ' +
      'so it requires approval.',
  ]);
  expect(says('mail__count', {}, { usedUp })).toEqual([
    'deny',
    4,
    'Rule 4 of policy "support" allows mail__count, but its limit "plain" is used up (3 each week per key).',
  ]);
  expect(says('mail__send', { to: [] }, { usedUp, situation: { session } })).toEqual([
    'deny',
    3,
    'Rule 3 of policy "support" allows mail__send, but its limit "sends" is used up (20 within 1h per session).',
  ]);
});

test('limits: a call whose amount cannot be counted is not what the rule is for', () => {
  const passed = 'Rule 1 did not apply: its limit "refunds" cannot count this call.';
  for (const amount of [0.001, 49.995]) {
    const [decision, ruleIndex, reason] = says('stripe__refund', { amount, ...EUR });
    expect([decision, ruleIndex]).toEqual(['pending', 2]);
    expect(reason).toEndWith(` ${passed}`);
  }
});

test('limits: without whoever they count for, the call is denied', () => {
  expect(says('mail__send', { to: [] })).toEqual([
    'deny',
    3,
    'Rule 3 of policy "support" allows mail__send, but its limit "sends" counts per session, and this call has none.',
  ]);
});

test('no reason holds a part of an argument', () => {
  const canary = 'canary-5f2a';
  const calls: [string, JsonObject][] = [
    ['fs__read', { path: canary }],
    ['fs__read', { path: `/${canary}` }],
    ['stripe__refund', { amount: canary, currency: canary }],
    ['stripe__refund', { amount: 12345678.5, currency: canary }],
    ['mail__send', { to: [canary, `${canary}@example.com`] }],
  ];
  for (const [tool, args] of calls) {
    for (const usedUp of [false, true]) {
      const told = JSON.stringify(says(tool, args, { usedUp, situation: { session } }));
      expect(told).not.toContain('5f2a');
      expect(told).not.toContain('12345678');
    }
  }
});
