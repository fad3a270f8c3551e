// Policies written out read back the same, and nothing in them is hidden from a reader.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { DETECTOR_NAMES } from '../../../src/core/detectors/detectors.ts';
import { ACTIONS, type Limits, type Rule } from '../../../src/core/policy/policy.ts';
import { hiddenOf, type ResultEntry } from '../../../src/core/policy/result-fields.ts';
import { parsePolicy } from '../../../src/core/policy-file/policy-file.ts';
import { policyText } from '../../../src/core/policy-file/policy-text.ts';
import { textFault } from '../../../src/core/text/name.ts';

const RULES: Rule[] = [
  { tool: 'github__*', action: 'allow' },
  { tool: '*', action: 'deny', reason: 'No, "never".' },
];

test('a policy is a name, perhaps a description, and a rule to a line', () => {
  expect(policyText({ name: 'prod', rules: RULES })).toBe(
    'name: "prod"\nrules:\n  - { tool: "github__*", action: allow }\n' +
      '  - { tool: "*", action: deny, reason: "No, \\"never\\"." }\n',
  );
  expect(policyText({ name: 'prod', description: '', rules: [] })).toBe('name: "prod"\nrules: []\n');
  expect(policyText({ name: 'prod', description: 'All.', rules: [] })).toBe(
    'name: "prod"\ndescription: "All."\nrules: []\n',
  );
});

test('what a reader would not see is written out', () => {
  const [rule] = policyText({ name: 'p', rules: [{ tool: 'a\u202eb\u{e0041}é', action: 'deny' }] })
    .split('\n')
    .slice(2);
  expect(rule).toBe('  - { tool: "a\\u202eb\\udb40\\udc41é", action: deny }');
});

test('conditions and limits are written to a line, too', () => {
  const limits: Limits = {
    sends: { calls: 20, within: '1h', per: 'session' },
    '1': { sum: 'args.n', atMost: 1e21, unit: 1e-7, each: 'day', zone: 'Europe/Berlin', beyond: 'deny' },
  };
  const rules: Rule[] = [
    { tool: 'a', reason: 'R', action: 'allow', ask: 'Q?', limit: 'sends', during: 'mon', when: 'true' },
    { tool: 'a', action: 'deny', when: ['args.a == "x"', 'true'] },
  ];
  expect(policyText({ name: 'p', limits, rules })).toBe(`name: "p"
limits:
  "1": { sum: "args.n", atMost: 1e+21, unit: 1e-7, each: day, zone: "Europe/Berlin", beyond: deny }
  "sends": { calls: 20, within: 1h, per: session }
rules:
  - { tool: "a", action: allow, when: "true", during: "mon", limit: "sends", ask: "Q?", reason: "R" }
  - { tool: "a", action: deny, when: ["args.a == \\"x\\"", "true"] }
`);
});

test('what is about the question to people is written in one order', () => {
  const rule: Rule = {
    tool: 'a',
    action: 'require_approval',
    reason: 'R',
    escalate: { notify: ['on-call'], after: '10m' },
    notify: ['default', 'finance'],
    timeout: '15m',
    approvers: { count: 2, group: 'finance' },
    ask: '{a}?',
    show: ['a', '["b\u200b"]'],
  };
  expect(
    policyText({ name: 'p', rules: [rule, { tool: 'b', action: 'require_approval', show: 'all' }] }),
  ).toBe(`name: "p"
rules:
  - { tool: "a", action: require_approval, show: ["a", "[\\"b\\u200b\\"]"], ask: "{a}?", approvers: { group: "finance", count: 2 }, timeout: 15m, notify: ["default", "finance"], escalate: { after: 10m, notify: ["on-call"] }, reason: "R" }
  - { tool: "b", action: require_approval, show: all }
`);
});

test('whatever is written reads back the same', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
  const condition = fc.oneof(
    text.map(each => `args.a == ${JSON.stringify(each.replace(/[^ -~]/g, '?'))}`),
    fc.constantFrom(
      'has(args.a) &&\n\targs.a > 1',
      "args['é'].all(x, x != \"'\")",
      ' true ',
      'args.a == r"\\d"',
    ),
  );
  const name = fc.constantFrom('l', '1', '1e5', 'true', 'null', 'constructor', 'toString', 'a.b-c_d', '0x1');
  const rest = fc.record(
    {
      when: fc.oneof(condition, fc.array(condition, { minLength: 1, maxLength: 3 })),
      during: fc.constantFrom('mon-fri 08:00-18:00 Europe/Berlin', '22:00-06:00', 'sat,sun'),
      name: text,
      reason: text,
    },
    { requiredKeys: [] },
  );
  const channels = fc.uniqueArray(
    fc.constantFrom('default', 'on-call', '1', '1e5', 'true', 'null', 'a.b_c'),
    {
      minLength: 1,
    },
  );
  const asking = fc.record(
    {
      show: fc.oneof(
        fc.constant('all' as const),
        fc.uniqueArray(fc.constantFrom('a', 'a.b[0]', 'null', '["é \\" \u200b"]', 'user-id'), {
          minLength: 1,
        }),
      ),
      ask: text.map(each => each.replaceAll('{', '{a}')),
      approvers: fc.oneof(
        fc.record({ group: text, count: fc.integer({ min: 1, max: 5 }) }, { requiredKeys: ['group'] }),
        fc.record(
          { group: text, count: fc.constantFrom(1, 5), proof: fc.constant('passkey' as const) },
          { requiredKeys: ['proof'] },
        ),
      ),
      timeout: fc.constantFrom('20m', '7d', '168h'),
      notify: channels,
      escalate: fc.record({ after: fc.constantFrom('1m', '19m'), notify: channels }),
    },
    { requiredKeys: [] },
  );
  const amount = fc.constantFrom(0.01, 0.5, 1e-7, 3, 1000);
  const limit = fc.oneof(
    fc.record({ calls: fc.integer({ min: 1, max: 2 ** 50 }), within: fc.constantFrom('1m', '1h', '31d') }),
    fc.record(
      {
        sum: fc.constantFrom('args.a', 'args.a * 2.0', '1'),
        atMost: amount.map(each => each * 1),
        unit: amount,
        each: fc.constantFrom('hour', 'day', 'week', 'month'),
        zone: fc.constantFrom('UTC', 'Europe/Berlin'),
        per: fc.constantFrom('key', 'session', 'person', 'policy'),
      },
      { requiredKeys: ['sum', 'atMost', 'each'] },
    ),
  );
  const limits = fc.array(fc.tuple(name, limit, fc.boolean()), { maxLength: 4 });
  const rules = fc.array(fc.tuple(text, fc.constantFrom(...ACTIONS), rest, fc.nat(), asking), {
    maxLength: 5,
  });
  fc.assert(
    fc.property(text, text, limits, rules, (name, description, someLimits, someRules) => {
      const limits = Object.fromEntries(
        someLimits.map(([each, limit, asks]) => {
          const whole = {
            ...limit,
            ...('sum' in limit ? { unit: limit.unit, atMost: multiple(limit) } : {}),
          };
          return [each, defined(asks ? { ...whole, beyond: 'require_approval' } : whole)];
        }),
      ) as Limits;
      const names = Object.keys(limits);
      const rules = someRules.map(([tool, action, { name: ruleName, ...more }, which, asking], index) => {
        const used = action === 'allow' && names.length > 0 ? names[which % names.length] : undefined;
        const asks = action === 'require_approval' || (used && limits[used]?.beyond === 'require_approval');
        return defined({
          // Names are unique.
          name: ruleName && `${ruleName}${index}`,
          tool,
          action,
          ...more,
          limit: used,
          ...(asks ? asking : {}),
        }) as unknown as Rule;
      });
      const written = policyText({ name, description, rules, limits });
      const read = parsePolicy(written);
      expect(read.problems.filter(each => each.severity === 'error')).toEqual([]);
      expect(read.policy).toEqual({ name, description, rules, limits, results: [] });
      expect(
        policyText({ name, description, rules: read.policy?.rules ?? [], limits: read.policy?.limits }),
      ).toBe(written);
    }),
    { numRuns: 300 },
  );
});

/** An amount that the unit fits into. */
const multiple = ({ unit = 1 }: { unit?: number | undefined }) => unit;

function defined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined));
}

test('entries of results read back the same, whatever they hold', () => {
  const text = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 20 })
    .filter(each => textFault(each, 1, 200) === null);
  const hidden = fc.oneof(
    fc.constantFrom(...DETECTOR_NAMES),
    fc.record({
      pattern: fc.constantFrom('KD-[0-9]+', 'a"b: {c}', "it's #1", '\\\\d{2}\u202e'),
      as: fc.constantFrom('a', 'b_2'),
    }),
  );
  const entry = fc.record(
    {
      tool: text,
      when: fc.constantFrom('result.bytes > 5', 'result.found.secrets > 0 || "a" in args', ['true', 'false']),
      hide: fc.oneof(hidden, fc.array(hidden, { minLength: 1, maxLength: 4 })),
      withhold: fc.constant(true as const),
      reason: text,
      atMost: fc.constantFrom('1B', '64KiB', '5MiB'),
      marks: fc.oneof(fc.constant('untrusted'), fc.constant(['a', 'b'])),
    },
    { requiredKeys: ['tool', 'atMost'] },
  );
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 4 }), entries => {
      const patterns = new Map<string, string>();
      // A name stands for one pattern.
      for (const each of entries.flatMap(hiddenOf))
        if (typeof each !== 'string') patterns.set(each.as, each.pattern);
      const results = entries.map(each => ({
        ...each,
        ...(each.hide && { hide: withPatterns(each.hide, patterns) }),
      }));
      const written = policyText({ name: 'p', rules: RULES, results });
      const read = parsePolicy(written);
      expect(read.problems.filter(each => each.severity === 'error')).toEqual([]);
      expect(read.policy?.results).toEqual(results);
      expect(policyText({ name: 'p', rules: RULES, results: read.policy?.results })).toBe(written);
    }),
    { numRuns: 50 },
  );
});

type Hide = NonNullable<ResultEntry['hide']>;

function withPatterns(hide: Hide, patterns: ReadonlyMap<string, string>): Hide {
  const one = (each: ReturnType<typeof hiddenOf>[number]) =>
    typeof each === 'string' ? each : { ...each, pattern: patterns.get(each.as) ?? each.pattern };
  return Array.isArray(hide) ? hide.map(one) : one(hide as ReturnType<typeof hiddenOf>[number]);
}
