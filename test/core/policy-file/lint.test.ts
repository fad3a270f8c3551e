// What lint warns of. A rule that it calls unreachable never decides, which is tested with every short name. Common
// mistakes are noticed, and correct rules give no warning.

import { expect, test } from 'bun:test';
import type { Limits, Rule } from '../../../src/core/policy/policy.ts';
import { warningsOf } from '../../../src/core/policy-file/lint.ts';
import { shadowedRules } from '../../../src/core/policy-file/tool-patterns.ts';
import { serverNameFault } from '../../../src/core/text/name.ts';
import { oracleApplies, oracleFirst, randomRules, randomText, seeded } from '../oracle.ts';

const policy = (...tools: string[]): Rule[] => tools.map(tool => ({ tool, action: 'allow' }));
const warned = (...tools: string[]): number[] =>
  warningsOf(policy(...tools)).map(each => each.path[1] as number);

/** Every text of these characters, up to a length. */
function texts(alphabet: string, maxLength: number): string[] {
  let longest = [''];
  return Array.from({ length: maxLength }, () => {
    longest = longest.flatMap(text => alphabet.split('').map(char => text + char));
    return longest;
  }).flat();
}

const SERVERS = texts('ab_', 3).filter(name => serverNameFault(name) === null);
const CALLS = SERVERS.flatMap(server => texts('ab_', 4).map(tool => ({ server, tool })));
/** For each short pattern, which of the calls it matches. */
const MATCHED = new Map(
  texts('a_*', 4).map(tool => [tool, CALLS.map(call => oracleApplies(tool, call.server, call.tool))]),
);

test('of two rules the second is reported when the first matches all that it matches, and only then', () => {
  let [covered, missed] = [0, 0];
  for (const [first, ofFirst] of MATCHED) {
    for (const [second, ofSecond] of MATCHED) {
      const reported = shadowedRules(policy(first, second)).length > 0;
      const never = ofSecond.includes(true) && ofSecond.every((matches, call) => !matches || ofFirst[call]);
      if (reported && !never) throw new Error(`${first} does not cover ${second}`);
      if (never) covered++;
      if (never && !reported) missed++;
    }
  }
  // What is missed needs that a full name cannot end with its separator, as in `*__*_` and then `*_`.
  expect(covered).toBeGreaterThan(1500);
  expect(missed).toBeLessThan(covered / 50);
});

test('a rule is said to match no full name exactly when it matches none', () => {
  for (const [tool, matched] of MATCHED) {
    expect([tool, warned(tool).length]).toEqual([tool, matched.includes(true) ? 0 : 1]);
  }
});

test('a rule reported as shadowed never decides, in policies of many rules', () => {
  const random = seeded(30);
  let reported = 0;
  for (let round = 0; round < 1500; round++) {
    const rules = randomRules(random, 10);
    const shadowed = new Set(shadowedRules(rules).map(each => each.index));
    reported += shadowed.size;
    for (let call = 0; call < 30; call++) {
      const server = randomText(random, 'ab', 2, 1);
      const tool = randomText(random, 'abc_', 6, 1);
      const decides = oracleFirst(rules, server, tool);
      if (shadowed.has(decides))
        throw new Error(`${decides} decides ${server}__${tool}: ${JSON.stringify(rules)}`);
    }
  }
  expect(reported).toBeGreaterThan(1000);
});

test('the rules named as the cause match whatever the shadowed one matches', () => {
  const random = seeded(31);
  for (let round = 0; round < 1000; round++) {
    const rules = randomRules(random, 8);
    for (const { index, by } of shadowedRules(rules)) {
      expect(Math.max(...by)).toBeLessThan(index);
      for (let call = 0; call < 20; call++) {
        const [server, tool] = [randomText(random, 'ab', 2, 1), randomText(random, 'abc_', 6, 1)];
        const applies = (rule: number) => oracleApplies(rules[rule]?.tool ?? '', server, tool);
        if (applies(index)) expect(by.some(applies)).toBe(true);
      }
    }
  }
});

test('finds a rule behind one that covers it, and leaves the others alone', () => {
  const second = [{ index: 1, by: [0] }];
  expect(shadowedRules(policy('*', 'a'))).toEqual(second);
  expect(shadowedRules(policy('a', 'a'))).toEqual(second);
  expect(shadowedRules(policy('a*', 'ab*', 'a*b', 'a'))).toEqual(
    [1, 2, 3].map(index => ({ index, by: [0] })),
  );
  expect(shadowedRules(policy('a*c', 'a*b*c'))).toEqual(second);
  expect(shadowedRules(policy('*', '**'))).toEqual(second);
  expect(shadowedRules(policy('ab*', 'a*'))).toEqual([]);
  expect(shadowedRules(policy('a', '*a', 'a*', '*'))).toEqual([]);
  // Overlap is not cover: a name may match the second and not the first.
  expect(shadowedRules(policy('a*b', 'a*'))).toEqual([]);
});

test('knows which patterns are compared with the full name only', () => {
  const second = [{ index: 1, by: [0] }];
  expect(shadowedRules(policy('*', 'x__y'))).toEqual(second);
  expect(shadowedRules(policy('read_*', 'files__read_file'))).toEqual(second);
  expect(shadowedRules(policy('*__read', 'read'))).toEqual(second);
  expect(shadowedRules(policy('*__*', '*'))).toEqual(second);
  // The tool x__read of a server; the server read_all; another server than files.
  expect(shadowedRules(policy('read', '*__read'))).toEqual([]);
  expect(shadowedRules(policy('*__read_*', 'read_*'))).toEqual([]);
  expect(shadowedRules(policy('files__read_*', 'read_file'))).toEqual([]);
  // Two rules together: of any server, and the server whose own name begins like that.
  expect(shadowedRules(policy('*__get*', 'get*__*', 'get*'))).toEqual([{ index: 2, by: [0, 1] }]);
});

test('a pattern that looks like a regular expression is told so, a plain one is not', () => {
  const expressions = [
    'github.*',
    '^get.*$',
    '^get',
    'get$',
    'get_.+',
    'get_\\w*',
    'get_[a-z]*',
    '(get|list)_*',
  ];
  for (const tool of expressions) {
    expect([tool, warningsOf(policy(tool))]).toEqual([
      tool,
      [
        {
          path: ['rules', 0],
          offset: null,
          message: expect.stringContaining(`rule 0 (${tool}) looks like a regular expression`),
        },
      ],
    ]);
  }
  expect(
    warned('github__*', 'files.read', 'a-b', 'dots.and/slashes', 'what?', 'c++', '5$_note', '*.md'),
  ).toEqual([]);
});

test('a policy without rules is told that it denies everything', () => {
  expect(warningsOf([])).toEqual([
    { path: ['rules'], offset: null, message: expect.stringContaining('denies every call') },
  ]);
});

test('a rule that shares its underscores with the separator is covered only where those names are', () => {
  const shadowed = (...tools: string[]) => shadowedRules(policy(...tools));
  // What is left of the last rule is a__b each time.
  expect(shadowed('*__a*_b', 'a*__*_b', 'a*_b')).toEqual([]);
  expect(shadowed('*__a*_b', 'a*__*_b', 'a*__b', 'a*_b')).toMatchObject([{ index: 3 }]);
  const others = ['*__a_*_b', 'a_*__*_b', 'a__*_b', 'a_*__b'];
  expect(shadowed(...others, 'a_*_b')).toEqual([]);
  expect(shadowed(...others, 'a__b', 'a_*_b')).toMatchObject([{ index: 5 }]);
});

test('a warning names the rule and what covers it, in order, or what to write in its place', () => {
  const messages = (...tools: string[]) => warningsOf(policy(...tools)).map(({ message }) => message);
  expect(messages('a*', 'ab')).toEqual(['rule 1 (ab) can never match: rule 0 (a*) covers it']);
  expect(messages('a*__*_b', '*__a*_b', 'a*__b', 'a*_b')).toEqual([
    'rule 3 (a*_b) can never match: rule 0 (a*__*_b) and rule 1 (*__a*_b) and rule 2 (a*__b) cover it',
  ]);
  expect(messages('_a__b')).toEqual([
    'rule 0 (_a__b) can never match: with "__" in it, it is compared with full names only, <server>__<tool>, ' +
      'and this is not one; begin it with * to mean any server',
  ]);
  expect(messages('^a__b')).toEqual([
    'rule 0 (^a__b) looks like a regular expression, which a pattern is not: only * is special, and stands for any ' +
      'run of characters; every tool of a server is <server>__*',
  ]);
});

/** Warnings about rules with conditions, as `path offset: message`. */
function conditionWarnings(rules: Partial<Rule>[], limits: Limits = {}): string[] {
  const asks = (rule: Partial<Rule>) => rule.action === 'require_approval' && { show: 'all' };
  const whole = rules.map(rule => ({ tool: 't', action: 'allow', ...asks(rule), ...rule }) as Rule);
  return warningsOf(whole, limits).map(
    ({ path, offset, message }) => `${path.join(' ')} ${offset}: ${message}`,
  );
}

test('only a rule that always applies covers those behind it', () => {
  const behind: Partial<Rule> = { action: 'deny' };
  const covered = ['rules 1 null: rule 1 (t) can never match: rule 0 (t) covers it'];
  expect(conditionWarnings([{}, behind])).toEqual(covered);
  expect(conditionWarnings([{ when: 'args.a == 1' }, behind])).toEqual([]);
  expect(conditionWarnings([{ during: 'mon 08:00-09:00' }, behind])).toEqual([]);
  // A limit of calls decides even when it is used up; one of amounts is passed over where it cannot count.
  const limits: Limits = {
    calls: { calls: 1, within: '1h' },
    sum: { sum: 'args.a', atMost: 1, within: '1h' },
  };
  const used: Partial<Rule>[] = [
    { tool: 'x', limit: 'calls' },
    { tool: 'y', limit: 'sum' },
  ];
  const numbers = (rule: Partial<Rule>) =>
    conditionWarnings([rule, behind, ...used], limits).filter(each => each.startsWith('rules 1'));
  expect(numbers({ limit: 'calls' })).toEqual(covered);
  expect(numbers({ limit: 'sum' })).toEqual([]);
  // A covered rule is told so whatever its own conditions are.
  expect(conditionWarnings([{}, { when: 'args.a == 1' }])).toEqual(covered);
});

test('a deny that reads what may be absent, without has() of it, is told what it does', () => {
  const deny = (...when: string[]) => conditionWarnings([{ action: 'deny', when }]);
  const missing = (name: string) =>
    `rule 0 (t) reads ${name} without has(${name}), so it also denies calls that lack it`;
  expect(deny('args.amount > 50')).toEqual([`rules 0 when 0 0: ${missing('args.amount')}`]);
  expect(deny('1 < 2 || args.a.b == 1', 'args.a.b == 2')).toEqual([`rules 0 when 0 9: ${missing('args.a')}`]);
  expect(deny('has(args.a) && args.a.b == 1')).toEqual([`rules 0 when 0 15: ${missing('args.a.b')}`]);
  expect(deny('has(args.a) && args.b == 1')).toEqual([`rules 0 when 0 15: ${missing('args.b')}`]);
  expect(deny('session.label == "x"')).toEqual([`rules 0 when 0 0: ${missing('session.label')}`]);
  expect(deny('"a" in person.groups')).toEqual([`rules 0 when 0 7: ${missing('person.groups')}`]);
  expect(deny('tool.annotations.destructiveHint')).toEqual([
    `rules 0 when 0 0: ${missing('tool.annotations')}`,
  ]);
  const text = conditionWarnings([{ action: 'deny', when: 'args.a == 1' }]);
  expect(text).toEqual([`rules 0 when 0: ${missing('args.a')}`]);

  expect(deny('agent.reads == []')).toEqual([`rules 0 when 0 0: ${missing('agent.reads')}`]);
  expect(deny('has(agent.folder) && agent.runs == []')).toEqual([
    `rules 0 when 0 21: ${missing('agent.runs')}`,
  ]);

  // What an agent's call would do is known or not as a whole.
  expect(deny('has(agent.reads) && agent.writes + agent.runs == []')).toEqual([]);
  expect(deny('has(args.amount) && args.amount > 50')).toEqual([]);
  expect(deny('has(args.amount)', 'args.amount > 50')).toEqual([]);
  expect(deny('has(args.a) && has(args.a.b) && args.a.b == 1')).toEqual([]);
  expect(deny('key.name == "ci" && tool.server == "s" && surface == "mcp"')).toEqual([]);
  expect(deny('"a-b" in args && args["a-b"] == 1')).toEqual([]);
  for (const action of ['allow', 'require_approval'] as const)
    expect(conditionWarnings([{ action, when: 'args.amount > 50' }])).toEqual([]);
});

test('an allow that relies on annotations is told who wrote them', () => {
  const relies =
    'rule 0 (t) relies on tool.annotations, which the server wrote about its own tool: it can say what it likes there';
  expect(conditionWarnings([{ when: ['args.a == 1', 'tool.annotations.readOnlyHint'] }])).toEqual([
    `rules 0 when 1 0: ${relies}`,
  ]);
  expect(conditionWarnings([{ when: '!has(tool.annotations.destructiveHint)' }])).toHaveLength(1);
  for (const action of ['deny', 'require_approval'] as const) {
    const when = 'has(tool.annotations) && has(tool.annotations.x) && tool.annotations.x == 1';
    expect(conditionWarnings([{ action, when }])).toEqual([]);
  }
});

test('a comparison with a number in quotes is told that it compares texts', () => {
  const told = (when: string, action: Rule['action'] = 'allow') => conditionWarnings([{ action, when }]);
  const quoted =
    'condition 0 of rule 0 (t) compares with a number in quotes, which is a text, and as a text "100" is less than "50"; leave out the quotes';
  expect(told('args.amount <= "50"')).toEqual([`rules 0 when 15: ${quoted}`]);
  expect(told('"-0.5" > args.amount', 'require_approval')).toEqual([`rules 0 when 0: ${quoted}`]);
  expect(told('has(args.list) && args.list.all(x, x < "1e3")', 'deny')).toEqual([
    `rules 0 when 39: ${quoted}`,
  ]);
  for (const when of [
    'args.a <= 50',
    'args.a == "50"',
    'args.a < "2026-11-16"',
    'args.a > ""',
    'args.a > " "',
  ])
    expect(told(when)).toEqual([]);
});

test('a condition that is always the same, and a limit that no rule names', () => {
  expect(conditionWarnings([{ when: ['args.a == 1', '1 > 2'] }, { action: 'deny', when: 'true' }])).toEqual([
    'rules 0 when 1 0: rule 0 (t) can never apply: its condition 1 is always false',
    'rules 1 when 0: condition 0 of rule 1 (t) is always true; leave it out',
  ]);
  const limits: Limits = { sends: { calls: 1, within: '1h' }, other: { calls: 1, within: '1h' } };
  expect(conditionWarnings([{ limit: 'other' }], limits)).toEqual([
    'limits sends null: limit "sends" counts nothing, because no rule names it',
  ]);
  expect(
    conditionWarnings([{ limit: 'constructor' }], JSON.parse('{"constructor":{"calls":1,"within":"1h"}}')),
  ).toEqual([]);
});

test('a rule that asks people without showing them anything is told so', () => {
  const warned = (...rules: Partial<Rule>[]) => conditionWarnings(rules);
  const blind =
    'rules 0 null: rule 0 (t) asks people to approve calls without showing them the arguments; add show: all, a list of ' +
    'arguments as in show: [amount, customer.name], or a question as in ask: "Refund {amount}?"';
  const asks = { action: 'require_approval' } as const;
  expect(warned({ ...asks, show: undefined })).toEqual([blind]);
  expect(warned({ ...asks, show: undefined, timeout: '1h', notify: ['a'] })).toEqual([blind]);
  expect(warned({ ...asks, show: 'all' })).toEqual([]);
  expect(warned({ ...asks, show: ['amount', 'args', 'arguments.a'] })).toEqual([]);
  expect(warned({ ...asks, show: undefined, ask: 'Refund {amount} args.amount?' })).toEqual([]);
  expect(warned({ action: 'allow' })).toEqual([]);
});

test('a path that begins like those of conditions is told so', () => {
  const told = (field: string) =>
    `rules 0 ${field} null: rule 0 (t) has a path that begins with "args.", which is for conditions; here, write amount for args.amount`;
  const asks = { action: 'require_approval' } as const;
  expect(conditionWarnings([{ ...asks, show: ['a', 'args.amount'], ask: 'Pay {args["b"]}?' }])).toEqual([
    told('show'),
    told('ask'),
  ]);
});

const MARKING = { tool: 'web__*', marks: ['untrusted', 'private'] };

test('a mark that no condition reads, and one that no rule gives', () => {
  expect(conditionWarnings([MARKING, { tool: 'a', when: '"untrusted" in marks' }])).toEqual([
    'rules 0 marks null: rule 0 (web__*) gives the mark "private", which no condition reads',
  ]);
  expect(
    conditionWarnings([
      MARKING,
      { tool: 'a', when: ['args.a == 1', '"untrustd" in marks && "private" in marks'] },
      { tool: 'b', when: '["untrusted", "elsewhere"].exists(m, m in marks)' },
    ]),
  ).toEqual([
    'rules 1 when 1 0: condition 1 of rule 1 (a) looks for the mark "untrustd", which nothing gives. Did you mean "untrusted"?',
    'rules 2 when 14: condition 0 of rule 2 (b) looks for the mark "elsewhere", which nothing gives.',
  ]);
  const limits: Limits = { l: { sum: '"privat" in marks ? 1 : 2', atMost: 5, within: '1h' } };
  expect(conditionWarnings([{ tool: 'a', limit: 'l' }], limits)).toEqual([
    'limits l sum 0: limit "l" looks for the mark "privat", which nothing gives.',
  ]);
});

test('a condition that names no mark may be about any', () => {
  expect(conditionWarnings([MARKING, { tool: 'a', when: 'marks != []' }])).toEqual([]);
  expect(conditionWarnings([MARKING, { tool: 'a', when: 'args.marks != []' }])).toHaveLength(2);
});

test('a rule that marks its run and makes its results known is told what that means', () => {
  const warned = conditionWarnings([
    { tool: 'web__*', marks: 'untrusted', known: 'results' },
    { tool: 'crm__*', known: 'results' },
    { tool: 'a', when: '"untrusted" in marks && !known(args.to)' },
  ]);
  expect(warned).toEqual([
    expect.stringMatching(
      /^rules 0 marks null: rule 0 \(web__\*\) marks its run and makes its results known: /,
    ),
  ]);
});
