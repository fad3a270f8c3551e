// A suggested policy decides what was recorded as it was decided, and denies every tool that was not called.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DAY } from '../../src/core/buckets.ts';
import { type CompiledPolicy, compilePolicy } from '../../src/core/compiled-policy.ts';
import { DECISIONS, type Decision } from '../../src/core/decide.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { joinName } from '../../src/core/name.ts';
import { ACTIONS, type Limits, MAX_TEXT, type Rule } from '../../src/core/policy.ts';
import { parsePolicy } from '../../src/core/policy-file.ts';
import { type SeenCall, SeenTools } from '../../src/core/seen-tools.ts';
import { type Seen, suggestedPolicy } from '../../src/core/suggest.ts';
import { type Decider, deciderIn, type Facts } from './decider.ts';

const decider: Decider = await deciderIn();

const policyOf = (rules: readonly Rule[], limits: Limits = {}): CompiledPolicy =>
  compilePolicy({ id: 'p', name: 'prod', version: 3, rules, limits });

const FROM = Date.UTC(2026, 9, 17);
const TO = FROM + 30 * DAY;

function seenTools(calls: readonly SeenCall[]): SeenTools {
  const tools = new SeenTools();
  for (const call of calls) tools.add(call);
  return tools;
}

function suggest(policy: CompiledPolicy, calls: readonly SeenCall[], more: Partial<Seen> = {}): string {
  const tools = seenTools(calls);
  const longer = { from: TO - 90 * DAY, to: TO, tools };
  const seen: Seen = {
    keyName: 'ci',
    policy,
    from: FROM,
    to: TO,
    tools,
    untold: 0,
    outcomes: [],
    longer,
    offered: [],
    ...more,
  };
  return suggestedPolicy(seen);
}

const call = (tool: string, by: SeenCall['by'], decision: Decision, count = 1): SeenCall => {
  const [serverName = '', toolName = ''] = tool.split('__');
  return { serverName, toolName, by, decision, count, held: false };
};

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
  const outcomes = [{ serverName: 'pay', toolName: 'refund', approved: 40, refused: 0 }];
  const offered = [
    { serverName: 'github', toolName: 'list_issues' },
    { serverName: 'github', toolName: 'create_issue' },
  ];
  expect(suggest(policy, calls, { outcomes, offered })).toBe(
    `# Suggested for the key "ci" from what it did between 2026-10-17T00:00Z and 2026-11-16T00:00Z: 1,657 calls of 4 tools.
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

# No rule allowed or asked about any call of these tools. They stay denied:
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
    expect(text).toContain('# 7 calls: 7 allowed. 7 of them by rules that the policy no longer has.');
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
    suggest(policy, [], { longer: { from: TO - ms, to: TO, tools: new SeenTools() } });
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
    const outcomes = [{ serverName: 'a', toolName: 't', approved, refused }];
    return /Asked .*approved/.exec(suggest(policy, [call('a__t', 0, 'pending')], { outcomes }))?.[0];
  };
  expect(remark(asks, 5, 0)).toBe('Asked 5 times, always approved');
  expect(remark(asks, 4, 0)).toBeUndefined();
  expect(remark(asks, 400, 1)).toBeUndefined();
  expect(remark(policyOf([{ tool: 'a__t', action: 'allow' }]), 5, 0)).toBeUndefined();
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
function logged(policy: CompiledPolicy, each: Made): SeenCall {
  const { decision, ruleIndex } = judged(policy, each);
  const [serverName = '', toolName = ''] = each.tool.split('__');
  const { held } = decider.considered(policy, { serverName, toolName }, each.facts);
  return {
    serverName,
    toolName,
    decision,
    count: 1,
    by: ruleIndex ?? 'no rule',
    held: held !== null && held.index === ruleIndex,
  };
}

const strictness = (decision: Decision): number => ['allow', 'pending', 'deny'].indexOf(decision);

test('decides the calls of any log as they were decided, no other call more freely, and denies other tools', () => {
  const decisions = new Set<Decision>();
  fc.assert(
    fc.property(
      fc.array(ruleOf, { maxLength: 6 }),
      fc.array(made, { maxLength: 12 }),
      fc.array(made, { minLength: 8, maxLength: 8 }),
      (rules, log, others) => {
        const policy = policyOf(rules, LIMITS);
        const calls = log.map(madeOf);
        const recorded = calls.map(each => logged(policy, each));
        const text = suggest(policy, recorded);
        expect(suggest(policy, recorded.toReversed())).toBe(text);
        const suggested = parsePolicy(text);
        expect(suggested.problems.filter(({ message }) => !/without has\(/.test(message))).toEqual([]);
        const now = policyOf(suggested.policy?.rules ?? [], suggested.policy?.limits);
        expect(calls.map(each => judged(now, each).decision)).toEqual(recorded.map(each => each.decision));
        for (const { decision } of recorded) decisions.add(decision);
        const seen = new Set(recorded.map(each => joinName(each.serverName, each.toolName)));
        for (const each of others.map(madeOf)) {
          const { decision } = judged(now, each);
          expect(strictness(decision)).toBeGreaterThanOrEqual(strictness(judged(policy, each).decision));
          if (!seen.has(each.tool)) expect(decision).toBe('deny');
        }
      },
    ),
    { numRuns: 600, seed: 18 },
  );
  expect([...decisions].sort()).toEqual([...DECISIONS].sort());
});
