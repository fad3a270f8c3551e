// The trace of a simulated decision: each rule that matches by name, whether it applies, and why, with the values that
// its conditions read.

import { expect, test } from 'bun:test';
import { callOf, simulate, type Tried, usedFault } from '../../../src/core/decision/simulate.ts';
import { MAX_KNOWN } from '../../../src/core/flows/words.ts';
import { compilePolicy } from '../../../src/core/policy/compiled-policy.ts';
import type { Limits, Rule } from '../../../src/core/policy/policy.ts';
import { parseJson } from '../../../src/core/wire/json.ts';

const LIMITS: Limits = {
  refunds: { sum: 'args.amount', unit: 0.01, atMost: 500, each: 'day', beyond: 'require_approval' },
  sends: { calls: 20, within: '1h', per: 'session' },
};
const RULES: Rule[] = [
  { tool: 'fs__*', action: 'deny', when: '!path.within(args.path, "/srv")' },
  { tool: 'fs__read', action: 'allow' },
  {
    tool: 'stripe__refund',
    action: 'allow',
    when: ['args.amount > 0 && args.amount <= 50', 'args.currency == "EUR"'],
    limit: 'refunds',
  },
  { tool: 'stripe__*', action: 'require_approval', when: 'args.note.size() > 3' },
  { tool: 'stripe__*', action: 'allow', when: 'key.name == "till"' },
  { tool: 'mail__send', action: 'allow', during: 'mon-fri 08:00-18:00 Europe/Berlin', limit: 'sends' },
];
const policy = compilePolicy({ id: 'p', name: 'p', version: 1, rules: RULES, limits: LIMITS });
const MONDAY = Date.parse('2026-03-02T08:00:00Z');
const SUNDAY = Date.parse('2026-03-01T08:00:00Z');

function traced(tool: string, tried: Partial<Tried>) {
  const { decision, ruleIndex, trace } = simulate(policy, callOf(tool), { at: MONDAY, ...tried });
  const steps = trace.map(step => [step.ruleIndex, step.applies, step.conditions, step.why]);
  return [decision, ruleIndex, ...steps];
}

test('every condition of every rule up to the one that decides, with the values', () => {
  expect(traced('stripe__refund', { args: { amount: 60, currency: 'EUR', note: 'broken' } })).toEqual([
    'pending',
    3,
    [2, false, [false, true], 'condition 0 is false (args.amount is 60, args.currency is "EUR")'],
    [3, true, [true], 'it applies (args.note is "broken")'],
  ]);
  const { trace } = simulate(policy, callOf('stripe__refund'), { at: MONDAY, args: { amount: 60 } });
  expect(trace[0]?.details).toEqual([
    {
      name: 'condition 0',
      text: 'args.amount > 0 && args.amount <= 50',
      outcome: 'false',
      why: null,
      values: ['args.amount is 60'],
    },
    {
      name: 'condition 1',
      text: 'args.currency == "EUR"',
      outcome: 'failed',
      why: 'it reads a field or a key that is absent',
      values: ['args.currency is absent'],
    },
    {
      name: 'limit "refunds"',
      text: 'args.amount',
      outcome: 'not counted',
      why: null,
      values: ['args.amount is 60'],
    },
  ]);
});

test('what follows from a condition that could not be evaluated, for each action', () => {
  expect(traced('fs__read', { args: { path: 7 } })).toEqual([
    'deny',
    0,
    [0, null, ['error'], 'condition 0 could not be evaluated, so it denies (args.path is 7)'],
  ]);
  const [absent, words] = ['args.note is absent', 'condition 0 could not be evaluated'];
  expect(traced('stripe__refund', { args: {}, keyName: 'till' })).toEqual([
    'pending',
    3,
    [
      2,
      null,
      ['error', 'error'],
      `${words}, so it does not apply (args.amount is absent, args.currency is absent)`,
    ],
    [3, null, ['error'], `${words}, so it requires approval, unless a rule below denies (${absent})`],
    [4, true, [true], 'it applies (key.name is "till")'],
  ]);
});

test('limits: what is added to what is used, and when it is too much', () => {
  const args = { amount: 40, currency: 'EUR' };
  const read = '(args.amount is 40, args.currency is "EUR")';
  expect(traced('stripe__refund', { args, used: { refunds: '460' } })).toEqual([
    'allow',
    2,
    [2, true, [true, true], `it applies ${read}`],
  ]);
  expect(traced('stripe__refund', { args, used: { refunds: '460.01' } })).toEqual([
    'pending',
    2,
    [2, true, [true, true], `it applies, but its limit "refunds" is used up ${read}`],
  ]);
  const details = (tried: Partial<Tried>, tool = 'stripe__refund') => {
    const { trace } = simulate(policy, callOf(tool), { at: MONDAY, ...tried });
    const { outcome, why } = trace[0]?.details.at(-1) ?? {};
    return [outcome, why];
  };
  expect(details({ args, used: { refunds: '460.01' } })).toEqual(['adds 40 to 460.01 of 500', null]);
  expect(details({ args })).toEqual(['adds 40 to 0 of 500', null]);
  const multiples = ['not counted', '"refunds" counts multiples of 0.01 that are not negative'];
  expect(details({ args: { ...args, amount: 0.001 } })).toEqual(multiples);
  expect(details({ session: 'run', used: { sends: '3' } }, 'mail__send')).toEqual([
    'adds 1 to 3 of 20',
    null,
  ]);
  expect(traced('stripe__refund', { args: { ...args, amount: 0.001 } })[2]).toEqual([
    2,
    false,
    [true, true],
    'its limit "refunds" cannot count this call (args.amount is 0.001, args.currency is "EUR")',
  ]);
});

test('hours and sessions', () => {
  expect(traced('mail__send', { session: '' })).toEqual([
    'allow',
    5,
    [5, true, [], 'it applies (the time is 2026-03-02T08:00:00.000Z, mon 09:00 in Europe/Berlin)'],
  ]);
  expect(traced('mail__send', {})[2]).toEqual([
    5,
    true,
    [],
    'it applies, but its limit "sends" counts per session, and this call has none (the time is 2026-03-02T08:00:00.000Z, mon 09:00 in Europe/Berlin)',
  ]);
  expect(traced('mail__send', { session: '', at: SUNDAY })).toEqual([
    'deny',
    null,
    [
      5,
      false,
      [],
      'it is outside its hours (the time is 2026-03-01T08:00:00.000Z, sun 09:00 in Europe/Berlin)',
    ],
  ]);
});

test('without arguments, rules that read them depend on them, and the decision is the one for {}', () => {
  const depends = 'depends on arguments';
  for (const args of [undefined, {}]) expect(traced('fs__read', { args }).slice(0, 2)).toEqual(['deny', 0]);
  expect(traced('fs__read', {}).slice(2)).toEqual([
    [0, null, ['error'], depends],
    [1, true, [], 'it applies without conditions'],
  ]);
  expect(traced('stripe__refund', {}).slice(2)).toEqual([
    [2, null, ['error', 'error'], depends],
    [3, null, ['error'], depends],
    [4, false, [false], 'condition 0 is false (key.name is "")'],
  ]);
  const [first] = simulate(policy, callOf('fs__read'), { at: MONDAY }).trace;
  expect(first?.details[0]).toMatchObject({
    outcome: 'without arguments failed',
    why: 'it reads a field or a key that is absent',
  });
  const asked = compilePolicy({
    id: 'p',
    name: 'p',
    version: 1,
    rules: [{ tool: 'a', action: 'allow', when: 'has(args.x)' }],
  });
  expect(simulate(asked, callOf('a'), { at: 0 }).trace[0]?.why).toBe(depends);
});

test('the server of a bare name is not known', () => {
  const rules: Rule[] = [{ tool: 'a', action: 'allow', when: 'tool.server == "s"' }];
  const bare = compilePolicy({ id: 'p', name: 'p', version: 1, rules });
  expect(simulate(bare, callOf('a'), { at: 0 }).trace[0]?.why).toBe(
    'condition 0 is false (tool.server is not known)',
  );
  expect(simulate(bare, callOf('s__a'), { at: 0 }).trace[0]?.why).toBe('it applies (tool.server is "s")');
});

test('outside the scope of a session no rule is looked at', () => {
  expect(traced('fs__read', { args: {}, scopeTools: [] })).toEqual(['deny', null]);
});

test('values are cut, and what cannot be seen is written out', () => {
  const args = parseJson(`{"path":"\\u202e${'x'.repeat(500)}","long":12345678901234567890}`) as object;
  const [, , step] = traced('fs__read', { args: args as never }) as [
    string,
    number,
    [number, null, [], string],
  ];
  expect(step[3]).toEndWith(`(args.path is "\\u202e${'x'.repeat(73)}…)`);
});

test('the trace shows the evaluations that count: the steps of one rule are missing in the next', () => {
  const rules: Rule[] = [
    { tool: 'a', action: 'allow', when: 'args.list.all(x, args.list.exists(y, x == y && y < 0))' },
    { tool: 'a', action: 'deny', when: 'args.list.all(x, x >= 0)' },
    { tool: 'a', action: 'allow' },
  ];
  const long = compilePolicy({ id: 'p', name: 'p', version: 1, rules });
  const args = { list: Array.from({ length: 4000 }, (_, n) => n) };
  const { decision, ruleIndex, trace } = simulate(long, callOf('a'), { at: 0, args });
  // By itself the second condition is true.
  expect([decision, ruleIndex, trace.map(step => step.conditions)]).toEqual([
    'deny',
    1,
    [[false], ['error']],
  ]);
});

test('what may be said to be used', () => {
  expect(usedFault(policy, 'refunds', '460.01')).toBeNull();
  expect(usedFault(policy, 'sends', '3')).toBeNull();
  const amount = 'what is used of the limit "refunds" must be a multiple of 0.01 that is not negative';
  for (const wrong of ['x', '', '-1', '0.001', 'NaN', '1,5'])
    expect(usedFault(policy, 'refunds', wrong)).toBe(amount);
  expect(usedFault(policy, 'sends', '1.5')).toBe(
    'what is used of the limit "sends" must be a whole number that is not negative',
  );
  expect(usedFault(policy, 'refund', '1')).toBe('the policy has no limit "refund"; it has refunds, sends');
  expect(usedFault(policy, '__proto__', '1')).toStartWith('the policy has no limit "__proto__"');
  const none = compilePolicy({ id: 'p', name: 'p', version: 1, rules: [] });
  expect(usedFault(none, 'toString', '1')).toBe('the policy has no limit "toString"');
});

const FLOWING = compilePolicy({
  id: 'p',
  name: 'p',
  version: 1,
  rules: [
    { tool: 'web__*', action: 'allow', marks: ['untrusted', 'abroad'] },
    { tool: 'crm__get', action: 'allow', known: 'results', limit: 'gets' },
    { tool: 'crm__find', action: 'allow', marks: 'private', limit: 'finds' },
    { tool: 'mail__send', action: 'allow', when: ['!("untrusted" in marks) || known(args.to)', 'true'] },
    { tool: 'mail__*', action: 'require_approval', marks: 'sent', known: 'results' },
    { tool: 'pay', action: 'require_approval', when: 'args.amount > 5', marks: 'paid' },
    { tool: 'pay', action: 'require_approval', marks: 'asked' },
    { tool: 'db__*', action: 'allow', when: 'args.customer == session.attributes.customer' },
  ],
  limits: {
    gets: { calls: 1, within: '1h' },
    finds: { calls: 1, within: '1h', beyond: 'require_approval' },
  },
});
const flowing = (tool: string, tried: Partial<Tried>) =>
  simulate(FLOWING, callOf(tool), { at: MONDAY, ...tried });

test('marks and what known() was asked about are shown', () => {
  const to = ['Bob@example.com', 'eve@example.com', 5];
  const { decision, trace } = flowing('mail__send', {
    args: { to },
    marks: ['untrusted'],
    known: ['Write to bob@example.com about 5 things.'],
  });
  expect(decision).toBe('pending');
  expect(trace[0]?.details[0]?.values).toEqual([
    'marks is ["untrusted"]',
    'args.to is ["Bob@example.com","eve@example.com",5]',
    '"Bob@example.com" is known',
    '"eve@example.com" is not known',
    '5 is known',
  ]);
  const unmarked = flowing('mail__send', { args: { to } });
  expect([unmarked.decision, unmarked.trace[0]?.details[0]?.values]).toEqual([
    'allow',
    ['marks is []', 'args.to is ["Bob@example.com","eve@example.com",5]'],
  ]);
});

test('of many values that known() was asked about, some are shown', () => {
  const to = Array.from({ length: 20 }, (_, at) => `${at}@example.com`);
  const values = flowing('mail__send', { args: { to }, marks: ['untrusted'] }).trace[0]?.details[0]?.values;
  expect(values?.slice(-2)).toEqual(['"7@example.com" is not known', '12 more were asked about']);
});

test('values that had no room in the run are counted', () => {
  const known = Array.from({ length: MAX_KNOWN + 3 }, (_, at) => `${at}@example.com`);
  const tried = { args: { to: 'eve@example.com' }, marks: ['untrusted'], known };
  expect(flowing('mail__send', tried).trace[0]?.details[0]?.values.slice(-2)).toEqual([
    '"eve@example.com" is not known',
    '3 further values had no room in the run',
  ]);
});

test('a condition that was not looked at is shown with what it would ask', () => {
  const rules: Rule[] = [{ tool: 'a', action: 'allow', when: ['args.x == 1', 'known("bob")'] }];
  const policy = compilePolicy({ id: 'p', name: 'p', version: 1, rules });
  const { trace } = simulate(policy, callOf('a'), { at: MONDAY, args: { x: 2 }, known: ['bob'] });
  expect([trace[0]?.conditions, trace[0]?.details[1]?.values]).toEqual([[false, true], ['"bob" is known']]);
});

test('what a call means for its run, and when', () => {
  const brought = (tool: string, tried: Partial<Tried> = {}) => {
    const { brings, trace } = flowing(tool, tried);
    const shown = trace.flatMap(({ ruleIndex, details }) =>
      details.flatMap(({ name, text, outcome }) =>
        ['marks', 'known'].includes(name) ? [`${ruleIndex} ${name} ${text}: ${outcome}`] : [],
      ),
    );
    return [brings.marks, brings.knownResults, ...shown];
  };
  expect(brought('web__get')).toEqual([
    ['untrusted', 'abroad'],
    false,
    '0 marks untrusted, abroad: given to the run',
  ]);
  expect(brought('crm__get')).toEqual([[], true, '1 known results: makes known what its result names']);
  expect(brought('crm__get', { used: { gets: '1' } })).toEqual([[], false]);
  expect(brought('crm__find', { used: { finds: '1' } })).toEqual([
    ['private'],
    false,
    '2 marks private: given to the run once it is approved',
  ]);
  expect(brought('mail__read')).toEqual([
    ['sent'],
    true,
    '4 marks sent: given to the run once it is approved',
    '4 known results: makes known what its result names once it is approved',
  ]);
  expect(brought('db__get', { args: { customer: 1 } })).toEqual([[], false]);
  // The rule that asks, because a condition of it failed, is another than the one that applies.
  expect(brought('pay', { args: {} }).slice(0, 2)).toEqual([['asked', 'paid'], false]);
});

test('attributes are those of a session', () => {
  const tried = { args: { customer: 'c_17' }, attributes: { customer: 'c_17' } };
  expect(flowing('db__get', tried).decision).toBe('allow');
  expect(flowing('db__get', { ...tried, session: 'run 7' }).decision).toBe('allow');
  expect(flowing('db__get', { ...tried, attributes: {} }).decision).toBe('deny');
  expect(flowing('db__get', { args: tried.args, session: 'run 7' }).decision).toBe('deny');
});
