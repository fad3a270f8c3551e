// A suggested policy decides what was recorded as it was decided, and denies every tool that was not called.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DECISIONS, type Decision } from '../../../src/core/decision/decide.ts';
import { seenCall } from '../../../src/core/foresight/decided-by.ts';
import type { RecordedCall } from '../../../src/core/foresight/evidence.ts';
import { outcomeOf } from '../../../src/core/foresight/replay.ts';
import { type SeenCall, SeenTools } from '../../../src/core/foresight/seen-tools.ts';
import { type Seen, suggestedPolicy } from '../../../src/core/foresight/suggest.ts';
import { listed } from '../../../src/core/foresight/suggestion-remarks.ts';
import { type CompiledPolicy, compilePolicy } from '../../../src/core/policy/compiled-policy.ts';
import { ACTIONS, type Limits, MAX_TEXT, type Rule } from '../../../src/core/policy/policy.ts';
import { parsePolicy } from '../../../src/core/policy-file/policy-file.ts';
import { DAY } from '../../../src/core/time/duration.ts';
import type { JsonObject } from '../../../src/core/wire/json.ts';
import { sized } from '../../support/when-changed.ts';
import { type Decider, deciderIn, type Facts } from '../decider.ts';

const decider: Decider = await deciderIn();

const policyOf = (rules: readonly Rule[], limits: Limits = {}): CompiledPolicy =>
  compilePolicy({ id: 'p', name: 'prod', version: 3, rules, limits });

const FROM = Date.UTC(2026, 9, 17);
const TO = FROM + 30 * DAY;

function seenTools(policy: CompiledPolicy, calls: readonly SeenCall[]): SeenTools {
  const tools = new SeenTools(policy.index);
  for (const call of calls) tools.add(call);
  return tools;
}

function suggest(policy: CompiledPolicy, calls: readonly SeenCall[], more: Partial<Seen> = {}): string {
  const tools = seenTools(policy, calls);
  const longer = { from: TO - 90 * DAY, to: TO, tools };
  const seen: Seen = {
    keyName: 'ci',
    policy,
    from: FROM,
    to: TO,
    tools,
    unidentified: 0,
    earlier: 0,
    outcomes: [],
    longer,
    offered: [],
    ...more,
  };
  const steps = suggestedPolicy(seen);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

const call = (tool: string, by: SeenCall['by'], decision: Decision, count = 1): SeenCall => {
  const [serverName = '', toolName = ''] = tool.split('__');
  return { serverName, toolName, by, decision, count, held: false };
};

test('without any call, every tool is denied', () => {
  const text = suggest(policyOf([{ tool: '*', action: 'allow' }]), []);
  expect(text.split('\n').slice(0, 5)).toEqual([
    '# Suggested for the key "ci" from what it did between 2026-10-17T00:00:00Z and 2026-11-16T00:00:00Z: no calls.',
    '# So every tool is denied.',
    'rules:',
    '  # No rule decided about any call.',
    '  - { tool: "*", action: deny }',
  ]);
});

test('one rule for each tool that was called, by server and name, with counts and remarks', () => {
  const policy = policyOf(
    [
      { tool: 'github__delete_*', action: 'deny', reason: 'Nobody deletes.' },
      { tool: 'pay__*', action: 'allow', when: 'args.amount <= 50', limit: 'small' },
      { tool: 'pay__*', action: 'require_approval', show: ['amount'], approvers: { group: 'Finance' } },
      { tool: 'slack__*', action: 'allow' },
      { tool: 'github__*', action: 'allow' },
    ],
    { small: { calls: 20, within: '1h' }, other: { calls: 1, within: '1h' } },
  );
  const calls = [
    call('pay__refund', 2, 'pending', 40),
    call('pay__refund', 1, 'allow', 1200),
    call('github__list_issues', 4, 'allow', 412),
    call('github__delete_repo', 0, 'deny', 3),
    call('shell__run', 'no rule', 'deny', 2),
  ];
  const outcomes = [{ serverName: 'pay', toolName: 'refund', rule: 2, approved: 40, refused: 0 }];
  const offered = [
    { serverName: 'github', toolName: 'list_issues' },
    { serverName: 'github', toolName: 'create_issue' },
  ];
  expect(suggest(policy, calls, { outcomes, offered })).toBe(
    `# Suggested for the key "ci" from what it did between 2026-10-17T00:00:00Z and 2026-11-16T00:00:00Z: 1,657 calls of 4 tools.
# Each rule is one of the policy "prod", version 3, for one tool. All other tools are denied.
limits:
  "small": { calls: 20, within: 1h }
rules:
  # 3 calls: 3 denied.
  - { tool: "github__delete_repo", action: deny, reason: "Nobody deletes." }
  # 412 calls: 412 allowed.
  - { tool: "github__list_issues", action: allow }

  # 1,240 calls: 1,200 allowed, 40 asked.
  # Asked 40 times, always approved. To ask no more, change the rule that asks to:
  #   - { tool: "pay__refund", action: allow }
  - { tool: "pay__refund", action: allow, when: "args.amount <= 50", limit: "small" }
  - { tool: "pay__refund", action: require_approval, show: ["amount"], approvers: { group: "Finance" } }

# No rule applied to the calls of these tools. They stay denied:
#   "shell__run" (2 calls)

# Rules of the policy "prod" that decided no call of this key in 90 days:
#   rule 3: { tool: "slack__*", action: allow }

# Tools of its servers that this key did not call in 90 days:
#   "github__create_issue"
`,
  );
});

describe('keeps', () => {
  const rulesIn = (text: string) => parsePolicy(text).policy?.rules;
  const guarded = policyOf([
    { tool: 'a__t', action: 'allow', when: 'args.free' },
    { tool: 'a__t', action: 'deny', when: 'has(args.n) && args.n > 9' },
    { tool: '*', action: 'allow' },
  ]);

  test('what guards above the rule that decided, and nothing that no call needed', () => {
    expect(rulesIn(suggest(guarded, [call('a__t', 2, 'allow')]))).toEqual([
      { tool: 'a__t', action: 'deny', when: 'has(args.n) && args.n > 9' },
      { tool: 'a__t', action: 'allow' },
    ]);
    expect(rulesIn(suggest(guarded, [call('a__t', 0, 'allow')]))).toEqual([
      { tool: 'a__t', action: 'allow', when: 'args.free' },
    ]);
    expect(rulesIn(suggest(guarded, [call('a__t', 1, 'deny')]))).toEqual([
      { tool: 'a__t', action: 'deny', when: 'has(args.n) && args.n > 9' },
    ]);
  });

  test('all rules for a tool if it is not known which of them decided', () => {
    const text = suggest(guarded, [call('a__t', 'other', 'allow', 7)]);
    expect(rulesIn(text)?.map(rule => rule.action)).toEqual(['allow', 'deny', 'allow']);
    expect(text).toContain('# 7 calls: 7 allowed. 7 of them were decided before the policy had these rules.');
    expect(text).not.toContain('decided no call');
  });

  test('names that a pattern or YAML cannot say plainly', () => {
    const odd = ['s__a*', 's__it\'s "x": # {y}', 's__list[0]', 's*__t', 's__\u202e'];
    const text = suggest(
      policyOf([{ tool: '*', action: 'allow' }]),
      odd.map(tool => call(tool, 0, 'allow')),
    );
    const { policy, problems } = parsePolicy(text);
    expect(problems).toEqual([]);
    expect(text).not.toContain('\u202e');
    const compiled = policyOf(policy?.rules ?? []);
    const allowed = (tool: string) => {
      const { serverName, toolName } = call(tool, 0, 'allow');
      return decider.decide(compiled, { serverName, toolName }).decision === 'allow';
    };
    expect(odd.filter(allowed)).toEqual(odd);
    expect(['s__a', 's__ab', 's__list0', 's__list[1]', 'sx__t', 's*__u', 's__*'].filter(allowed)).toEqual([]);
  });
});

test('says how far back calls are counted, if that is less than 90 days', () => {
  const policy = policyOf([{ tool: 'a__*', action: 'allow' }]);
  const unused = (ms: number) =>
    suggest(policy, [], { longer: { from: TO - ms, to: TO, tools: new SeenTools(policy.index) } });
  expect(unused(12.5 * DAY)).toContain(
    '# Rules of the policy "prod" that decided no call of this key in 12 days, which is as far back as its calls are counted:\n',
  );
  expect(unused(1000)).toContain('in less than an hour, which is as far back');
});

test('denies everything if nothing was allowed or asked', () => {
  const text = suggest(policyOf([]), [call('a__t', 'no rule', 'deny')]);
  expect(parsePolicy(text)).toMatchObject({
    policy: { rules: [{ tool: '*', action: 'deny' }] },
    problems: [],
  });
});

test('people always approve only if nobody ever refused, and only where a rule asks', () => {
  const asks = policyOf([{ tool: 'a__t', action: 'require_approval', show: 'all' }]);
  const remark = (policy: CompiledPolicy, approved: number, refused: number) => {
    const outcomes = [{ serverName: 'a', toolName: 't', rule: 0, approved, refused }];
    return /Asked .*approved/.exec(suggest(policy, [call('a__t', 0, 'pending')], { outcomes }))?.[0];
  };
  expect(remark(asks, 5, 0)).toBe('Asked 5 times, always approved');
  expect(remark(asks, 4, 0)).toBeUndefined();
  expect(remark(asks, 400, 1)).toBeUndefined();
  expect(remark(policyOf([{ tool: 'a__t', action: 'allow' }]), 5, 0)).toBeUndefined();
});

test('what the calls of a rule bring into their run stays, also if it is to ask no more', () => {
  const policy = policyOf([
    { tool: 'web__*', action: 'allow', marks: 'untrusted' },
    { tool: 'crm__*', action: 'require_approval', show: 'all', marks: ['private'], known: 'results' },
  ]);
  const outcomes = [{ serverName: 'crm', toolName: 'get', rule: 1, approved: 9, refused: 0 }];
  const text = suggest(policy, [call('web__get', 0, 'allow'), call('crm__get', 1, 'pending')], { outcomes });
  expect(text).toContain('  - { tool: "web__get", action: allow, marks: "untrusted" }\n');
  expect(text).toContain('  #   - { tool: "crm__get", action: allow, marks: ["private"], known: results }\n');
  expect(text).toContain(
    '  - { tool: "crm__get", action: require_approval, marks: ["private"], known: results, show: all }\n',
  );
});

test('of several rules that ask, the one whose questions were always approved is named', () => {
  const policy = policyOf([
    { tool: 'a__t', action: 'require_approval', when: 'args.n > 9', show: 'all' },
    { tool: 'a__t', action: 'require_approval', during: 'mon-fri', show: 'all' },
  ]);
  const about = { serverName: 'a', toolName: 't' };
  const outcomes = [
    { ...about, rule: 0, approved: 9, refused: 1 },
    { ...about, rule: 1, approved: 7, refused: 0 },
  ];
  expect(suggest(policy, [call('a__t', 1, 'pending'), call('a__t', 0, 'pending')], { outcomes })).toContain(
    `  # Asked 7 times, always approved. To ask no more, change this rule:
  #   - { tool: "a__t", action: require_approval, during: "mon-fri", show: all }
  # to:
  #   - { tool: "a__t", action: allow, during: "mon-fri" }
  - {`,
  );
});

test('a rule for several tools loses its name, which is unique; one that is left out is told with it', () => {
  const policy = policyOf([
    { name: 'reading', tool: '*', action: 'allow' },
    { name: 'never', tool: 'b', action: 'deny' },
  ]);
  const text = suggest(policy, [call('a__t', 0, 'allow'), call('a__u', 0, 'allow')]);
  expect(parsePolicy(text).policy?.rules).toEqual([
    { tool: 'a__t', action: 'allow' },
    { tool: 'a__u', action: 'allow' },
  ]);
  expect(text).toContain('#   rule 1: { name: "never", tool: "b", action: deny }');
});

test('leaves out the tools that were called least if a policy cannot have so many', () => {
  const long = { tool: '*', action: 'allow', when: ['args.a == 1', 'args.b == 1'] } as const;
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => call(`s__t${at}`, 0, 'allow', at + 1));
  for (const [policy, count, kept] of [
    [policyOf([long]), 1500, 1000],
    [policyOf([{ tool: '*', action: 'allow', reason: 'x'.repeat(900) }]), 1000, null],
    [policyOf([{ tool: '*', action: 'allow' }]), 20_000, null],
  ] as const) {
    const text = suggest(policy, many(count));
    expect(text.length).toBeLessThanOrEqual(MAX_TEXT);
    const found = parsePolicy(text);
    expect(found.problems).toEqual([]);
    const tools = new Set(found.policy?.rules.map(rule => rule.tool));
    if (kept !== null) expect(tools.size).toBe(kept);
    expect(tools.size).toBeGreaterThan(200);
    expect([tools.has(`s__t${count - 1}`), tools.has('s__t0')]).toEqual([true, false]);
    expect(text).toContain('They are denied here:');
  }
});

// Random policies and random logs.

const TOOLS = ['a__t', 'a__tt', 'a__u', 'b__t', 'b__x*', 'b__l[0]', 'c__u'];
const PATTERNS = ['*', 'a__*', 't', 'a__t', 't*', '*__u', 'b__*', 'b__x*', 'u'];
const CONDITIONS = [
  'args.n > 1',
  'has(args.m)',
  'args.m == "x"',
  'tool.name == "t"',
  '!has(args.n) || args.n < 3',
];
const ARGS: JsonObject[] = [{}, { n: 1 }, { n: 2 }, { n: 3, m: 'x' }, { m: 'y' }, { n: 2, m: 'x' }];
const LIMITS: Limits = {
  calls: { calls: 3, each: 'day' },
  asks: { calls: 3, within: '1h', beyond: 'require_approval' },
  sum: { sum: 'args.n', atMost: 5, each: 'day', per: 'session' },
};

const ruleOf = fc
  .record({
    tool: fc.constantFrom(...PATTERNS),
    action: fc.constantFrom(...ACTIONS),
    when: fc.oneof(fc.constant([]), fc.array(fc.constantFrom(...CONDITIONS), { maxLength: 2 })),
    during: fc.constantFrom(undefined, undefined, undefined, 'mon 08:00-18:00 UTC'),
    limit: fc.constantFrom(undefined, undefined, ...Object.keys(LIMITS)),
    approvers: fc.constantFrom(undefined, undefined, { group: 'g', count: 2 }),
  })
  .map(({ tool, action, when, during, limit, approvers }): Rule => {
    const asks = action === 'require_approval';
    return {
      tool,
      action,
      ...(when.length > 0 && { when }),
      ...(during && { during }),
      ...(limit && action === 'allow' && { limit }),
      ...(asks && { show: 'all' as const }),
      ...(asks && approvers && { approvers }),
    };
  });
const SATURDAY = Date.UTC(2026, 10, 14, 12);
const MONDAY = Date.UTC(2026, 10, 16, 12);
const factsOf = fc.record({
  args: fc.constantFrom(...ARGS),
  now: fc.constantFrom(MONDAY, SATURDAY),
  usedUp: fc.boolean(),
  drift: fc.constantFrom(null, null, 'deny', 'require_approval'),
  heldFor: fc.constantFrom(null, 'nobody', 'hidden'),
  freedom: fc.constantFrom(null, null, { kind: 'grant', referenceId: 'g' }),
});
const made = fc.record({ tool: fc.constantFrom(...TOOLS), facts: factsOf });
type Made = { tool: string; facts: Facts };

const madeOf = (each: { tool: string; facts: { args: JsonObject; now: number } & object }): Made => {
  const { args, now, ...facts } = each.facts;
  return { tool: each.tool, facts: { ...facts, situation: { args, now } } as Facts };
};

function judged(policy: CompiledPolicy, { tool, facts }: Made) {
  const [serverName = '', toolName = ''] = tool.split('__');
  return decider.decide(policy, { serverName, toolName }, facts);
}

/** The call as it is found in the log. */
function logged(policy: CompiledPolicy, each: Made): RecordedCall & { count: number } {
  const [serverName = '', toolName = ''] = each.tool.split('__');
  const { decision, recorded: reason, ruleIndex } = judged(policy, each);
  const { id: policyId, version: policyVersion } = policy;
  const about = { policyId, policyVersion, ruleIndex, keyId: 'key', personId: null };
  return { serverName, toolName, decision, reason, count: 1, ...about };
}

const strictness = (decision: Decision): number => ['allow', 'pending', 'deny'].indexOf(decision);
const isBlind = ({ message }: { message: string }): boolean => /without has\(/.test(message);

/** The suggestion as a policy. It has no warnings that the policy does not have itself. */
function suggestedFrom(policy: CompiledPolicy, recorded: readonly SeenCall[]): CompiledPolicy {
  const text = suggest(policy, recorded);
  expect(suggest(policy, recorded.toReversed())).toBe(text);
  const { policy: suggested, problems } = parsePolicy(text);
  expect(problems.filter(each => !isBlind(each))).toEqual([]);
  return policyOf(suggested?.rules ?? [], suggested?.limits);
}

/** What is wrong with a suggestion besides what it says about the calls that it was made from. */
function expectNarrow(suggested: CompiledPolicy, policy: CompiledPolicy, seen: Set<string>, others: Made[]) {
  for (const each of others) {
    const { decision } = judged(suggested, each);
    expect(strictness(decision)).toBeGreaterThanOrEqual(strictness(judged(policy, each).decision));
    if (!seen.has(each.tool)) expect(decision).toBe('deny');
  }
}

const RUNS = sized(600, 600, 100);
const rulesOf = fc.array(ruleOf, { maxLength: 6 });
const logOf = fc.array(made, { maxLength: 12 }).map(all => all.map(madeOf));
const othersOf = fc.array(made, { minLength: 8, maxLength: 8 }).map(all => all.map(madeOf));

test('decides the calls of any log as they were decided, no other call more freely, and denies other tools', () => {
  const decisions = new Set<Decision>();
  fc.assert(
    fc.property(rulesOf, logOf, othersOf, (rules, log, others) => {
      const policy = policyOf(rules, LIMITS);
      const recorded = log.map(each => logged(policy, each));
      const seen = recorded.flatMap(each => seenCall(each, policy, policy) ?? []);
      expect(seen.length).toBe(log.length);
      const suggested = suggestedFrom(policy, seen);
      expect(log.map(each => judged(suggested, each).decision)).toEqual(recorded.map(each => each.decision));
      for (const each of recorded) {
        decisions.add(each.decision);
        // A rule for an odd name has other conditions, and a replay leaves out what its limit cannot count.
        if (!/^\w+$/.test(each.toolName)) continue;
        const replayed = outcomeOf(suggested, each, { recorded: policy, keyName: 'agent' });
        expect([each.decision, 'depends']).toContain(replayed);
      }
      expectNarrow(suggested, policy, new Set(log.map(({ tool }) => tool)), others);
    }),
    { numRuns: RUNS, seed: 18 },
  );
  expect([...decisions].sort()).toEqual([...DECISIONS].sort());
});

test('also from calls that an earlier version decided, nothing gets more freedom than the policy gives it now', () => {
  let known = 0;
  fc.assert(
    fc.property(rulesOf, rulesOf, fc.nat(6), logOf, othersOf, (rules, added, at, log, others) => {
      const before: CompiledPolicy = { ...policyOf(rules, LIMITS), version: 2 };
      const policy = policyOf(rules.toSpliced(at, 1, ...added), LIMITS);
      const seen = log.flatMap(each => seenCall(logged(before, each), before, policy) ?? []);
      known += seen.filter(each => typeof each.by === 'number').length;
      const suggested = suggestedFrom(policy, seen);
      const tools = new Set(log.map(({ tool }) => tool));
      expectNarrow(suggested, policy, tools, [...log, ...others]);
    }),
    { numRuns: RUNS / 2, seed: 18 },
  );
  expect(known).toBeGreaterThan(RUNS / 6);
});

describe('which rule decided', () => {
  const policy = policyOf([
    { tool: 'a__*', action: 'deny', when: 'args.n > 9' },
    { tool: 'a__*', action: 'require_approval', when: 'args.m', show: 'all' },
    { tool: '*', action: 'allow' },
  ]);
  const earlier: CompiledPolicy = { ...policyOf(policy.rules.slice(1)), version: 2 };
  const recorded = (on: CompiledPolicy, tool: string, facts: Facts = {}) => logged(on, { tool, facts });
  const by = (each: RecordedCall, on: CompiledPolicy | null) => {
    const seen = seenCall({ ...each, count: 1 }, on, policy);
    return seen && [seen.by, seen.held];
  };

  test('is known from the number, or from its words in an earlier version', () => {
    const args = { n: 1, m: false };
    expect(by(recorded(policy, 'a__t', { situation: { args } }), policy)).toEqual([2, false]);
    expect(by(recorded(policy, 'a__t'), policy)).toEqual([0, false]);
    expect(by(recorded(policy, 'a__t', { situation: { args: { n: 1 } } }), policy)).toEqual([1, true]);
    expect(by(recorded(earlier, 'a__t', { situation: { args } }), earlier)).toEqual([2, false]);
    expect(by(recorded(earlier, 'a__t', { situation: { args: { m: true } } }), earlier)).toEqual([1, false]);
    const named: CompiledPolicy = { ...policyOf([{ name: 'rest', tool: '*', action: 'allow' }]), version: 1 };
    expect(by(recorded(named, 'a__t'), named)).toEqual([2, false]);
  });

  test('is not known if the policy has no such rule any more, or if the version cannot be read', () => {
    const other: CompiledPolicy = { ...policyOf([{ tool: 'b__t', action: 'allow' }]), version: 1 };
    expect(by(recorded(other, 'b__t'), other)).toEqual(['other', false]);
    expect(by(recorded(earlier, 'b__t'), null)).toEqual(['other', false]);
    expect(by(recorded(other, 'c__t'), other)).toEqual(['other', false]);
    expect(seenCall({ ...recorded(other, 'c__t'), count: 1 }, other, other)?.by).toBe('no rule');
  });

  test('is no question for calls outside a scope, and for what is relayed', () => {
    expect(by(recorded(policy, 'b__t', { scope: new Set() }), policy)).toBeNull();
    const relayed = { serverName: 'b', toolName: 'prompts/get', relayed: true as const };
    const { decision, recorded: reason, ruleIndex } = decider.decide(policy, relayed);
    expect(by({ ...recorded(policy, 'b__prompts/get'), decision, reason, ruleIndex }, policy)).toBeNull();
  });
});

test('a list below a remark is bounded by its lines and by its length', () => {
  const lines = (count: number, length: number) =>
    listed(
      'These:',
      Array.from({ length: count }, () => 'x'.repeat(length)),
      String,
    );
  expect(lines(51, 1).slice(-2)).toEqual(['  x', '  and 1 more']);
  expect(lines(8, 1000).map(line => line.length)).toEqual([6, ...Array(7).fill(1002), '  and 1 more'.length]);
  expect(lines(7, 1000)).toHaveLength(8);
});
