// What a draft would have decided about recorded calls of each kind. replay-random.test.ts compares random ones with what
// the draft really decides.

import { expect, test } from 'bun:test';
import type { Decision } from '../../../src/core/decision/decide.ts';
import { outcomeOf } from '../../../src/core/foresight/replay.ts';
import type { CompiledPolicy } from '../../../src/core/policy/compiled-policy.ts';
import type { Limits, Rule } from '../../../src/core/policy/policy.ts';
import type { ResultEntry } from '../../../src/core/policy/result-fields.ts';
import type { ToolCall } from '../../../src/core/policy/situation.ts';
import type { JsonObject } from '../../../src/core/wire/json.ts';
import { deciderIn, type Facts, recordOf } from '../decider.ts';

const core = await deciderIn();

const LIMITS: Limits = {
  calls: { calls: 3, each: 'week' },
  others: { calls: 9, each: 'day' },
  asking: { calls: 3, each: 'day', beyond: 'require_approval' },
};
const compile = (rules: readonly Rule[], version = 1): CompiledPolicy =>
  core.compilePolicy({ id: 'p', name: 'prod', version, rules, limits: LIMITS });

const CALL = { serverName: 's', toolName: 't' };

interface Given extends Facts {
  call?: Partial<ToolCall>;
}

/** What a draft makes of a call that the policy decided. */
function replayed(rules: readonly Rule[], draft: readonly Rule[], { call: flags, ...facts }: Given = {}) {
  const policy = compile(rules);
  const decided = core.decide(policy, { ...CALL, ...flags }, facts);
  const outcome = outcomeOf(compile(draft, 2), recordOf(CALL, decided), {
    recorded: policy,
    keyName: 'agent',
  });
  return `${decided.decision} -> ${outcome}`;
}

const rule = (action: Rule['action'], more: Partial<Rule> = {}): Rule => ({ tool: 's__*', action, ...more });
const ALLOW = [rule('allow')];
const DENY = [rule('deny')];
const ASK = [rule('require_approval')];
const LIMITED = [rule('allow', { limit: 'calls' })];
const ASKING = [rule('allow', { limit: 'asking' })];
const OTHER_LIMIT = [rule('allow', { limit: 'others' })];
const NONE: Rule[] = [];
const TAINTED = [
  rule('allow', { tool: 'web__*', marks: 'untrusted' }),
  rule('allow', { when: '!("untrusted" in marks)' }),
];

const FREED = { kind: 'approval', referenceId: 'a-1' } as const;
const DENIED = { referenceId: 'a-3', denied: true };

type Row = [rules: Rule[], given: Given, draft: Rule[], outcome: string];
const TABLE: Record<string, Row[]> = {
  'a rule decides': [
    [ALLOW, {}, DENY, 'allow -> deny'],
    [ALLOW, {}, ASK, 'allow -> pending'],
    [ALLOW, {}, NONE, 'allow -> deny'],
    [NONE, {}, ALLOW, 'deny -> allow'],
    [DENY, {}, ASK, 'deny -> pending'],
    [ALLOW, {}, LIMITED, 'allow -> allow'],
  ],
  'what a run had met is not known any more, unless nothing has changed': [
    [TAINTED, {}, [...TAINTED], 'allow -> allow'],
    [TAINTED, {}, [...TAINTED, rule('deny', { tool: 'other' })], 'allow -> depends'],
    [TAINTED, {}, [rule('allow', { tool: 'web__*' }), ...TAINTED.slice(1)], 'allow -> depends'],
    [TAINTED, {}, [...TAINTED.slice(0, 1), rule('allow')], 'allow -> allow'],
    [ALLOW, {}, [rule('allow', { when: 'known("bob")' })], 'allow -> depends'],
    [ALLOW, {}, [rule('allow', { marks: 'untrusted', known: 'results' })], 'allow -> allow'],
  ],
  'outside the scope nothing is allowed': [
    [ALLOW, { scope: new Set(['x__y']) }, [rule('allow', { limit: 'calls' })], 'deny -> deny'],
  ],
  'what the key forwards no policy decides': [[DENY, { call: { relayed: true } }, ASK, 'allow -> allow']],
  'whoever answered would answer again': [
    [ASK, {}, [rule('require_approval', { when: 'true' })], 'pending -> pending'],
    [ASK, {}, ALLOW, 'pending -> allow'],
    [ASK, { freedom: FREED }, [rule('require_approval', { when: 'true' })], 'allow -> allow'],
    [ASK, { freedom: FREED }, DENY, 'allow -> deny'],
    [ASK, { freedom: FREED }, ALLOW, 'allow -> unasked'],
    [ASK, { freedom: { ...FREED, kind: 'grant' } }, ALLOW, 'allow -> unasked'],
    [ASK, { freedom: FREED }, [rule('allow', { when: 'args.n > 1' }), ...ASK], 'allow -> depends'],
    [ASKING, { usedUp: true, freedom: FREED }, ALLOW, 'allow -> unasked'],
    [ASKING, { usedUp: true, freedom: FREED }, LIMITED, 'allow -> allow'],
    [ASK, { repeats: DENIED }, [rule('require_approval', { when: 'true' })], 'deny -> deny'],
    [ASK, { repeats: DENIED }, ALLOW, 'deny -> allow'],
    [
      ASK,
      { approvalLimit: { of: 'key', open: 20 } },
      [rule('require_approval', { when: 'true' })],
      'deny -> deny',
    ],
    [ASK, { approvalLimit: { of: 'key', open: 20 } }, ALLOW, 'deny -> allow'],
    [ASK, { handedTo: 'proxy' }, [rule('require_approval', { when: 'true' })], 'pending -> pending'],
    [ASK, { call: { unseen: true } }, [rule('require_approval', { when: 'true' })], 'deny -> deny'],
    [ASK, { call: { unseen: true } }, ALLOW, 'deny -> allow'],
    [ASK, { call: { unseen: true } }, LIMITED, 'deny -> depends'],
  ],
  'a used-up limit is used up for another limit too': [
    [LIMITED, { usedUp: true }, OTHER_LIMIT, 'deny -> deny'],
    [LIMITED, { usedUp: true }, ALLOW, 'deny -> allow'],
    [LIMITED, { usedUp: true }, ASK, 'deny -> pending'],
    [ASKING, { usedUp: true }, LIMITED, 'pending -> pending'],
    [ASKING, { usedUp: true }, ALLOW, 'pending -> allow'],
    [ASKING, { usedUp: true, freedom: FREED }, ASK, 'allow -> allow'],
    [
      ASKING,
      { usedUp: true, repeats: DENIED },
      [rule('allow', { limit: 'calls', when: 'true' })],
      'deny -> deny',
    ],
    [ASKING, { usedUp: true, repeats: DENIED }, ALLOW, 'deny -> allow'],
  ],
  'a changed definition stays changed': [
    [ALLOW, { drift: 'deny' }, ASK, 'deny -> deny'],
    [ALLOW, { drift: 'deny' }, LIMITED, 'deny -> deny'],
    [ASK, { drift: 'deny' }, ALLOW, 'deny -> deny'],
    [ALLOW, { drift: 'require_approval' }, ASK, 'pending -> pending'],
    [ALLOW, { drift: 'require_approval' }, LIMITED, 'pending -> pending'],
    [ALLOW, { drift: 'require_approval' }, DENY, 'pending -> deny'],
    [ALLOW, { drift: 'require_approval', freedom: FREED }, DENY, 'allow -> deny'],
    [ALLOW, { drift: 'require_approval', freedom: FREED }, ASK, 'allow -> allow'],
    [ALLOW, { drift: 'require_approval', heldFor: 'nobody' }, LIMITED, 'pending -> pending'],
    [ASK, { drift: 'deny', heldFor: 'hidden' }, ALLOW, 'deny -> deny'],
  ],
  'without a place a call stays denied': [
    [ALLOW, { call: { noPlace: { atMost: 5, of: 'key' } } }, LIMITED, 'deny -> deny'],
    [ALLOW, { call: { noPlace: { atMost: 5, of: 'key' } } }, ASK, 'deny -> pending'],
    [ASK, { call: { noPlace: { atMost: 5, of: 'key' } }, freedom: FREED }, ALLOW, 'deny -> deny'],
  ],
};

for (const [what, rows] of Object.entries(TABLE)) {
  test(`replay: ${what}`, () => {
    for (const [rules, given, draft, outcome] of rows) {
      const about = JSON.stringify([rules, given, draft]);
      expect([about, replayed(rules, draft, given)]).toEqual([about, outcome]);
    }
  });
}

const SMALL = 'args.amount < 5';
const situation = (args: JsonObject) => ({ situation: { args } });

test('whatever the unknown conditions of a draft say, the decision may be the same', () => {
  const conditional = (action: Rule['action']) => rule(action, { when: SMALL });
  expect(replayed(ALLOW, [conditional('deny'), rule('deny')])).toBe('allow -> deny');
  expect(replayed(ALLOW, [conditional('allow')])).toBe('allow -> depends');
  expect(replayed(ALLOW, [conditional('deny')])).toBe('allow -> deny');
  expect(replayed(DENY, [conditional('deny'), rule('allow')])).toBe('deny -> depends');
  expect(replayed(ALLOW, [conditional('require_approval')])).toBe('allow -> depends');
  expect(replayed(ALLOW, [conditional('require_approval'), rule('deny')])).toBe('allow -> depends');
  expect(replayed(ALLOW, [conditional('require_approval'), rule('require_approval')])).toBe(
    'allow -> pending',
  );
  expect(replayed(DENY, [rule('allow', { during: 'mon-fri' })])).toBe('deny -> depends');
  expect(replayed(DENY, [rule('allow', { during: 'mon-sun' })])).toBe('deny -> allow');
  expect(replayed(DENY, [rule('allow', { when: 'tool.name == "t" || args.x' })])).toBe('deny -> allow');
  expect(replayed(DENY, [rule('allow', { when: 'key.name == "agent"' })])).toBe('deny -> allow');
  expect(replayed(DENY, [rule('allow', { when: 'has(person.email)' })])).toBe('deny -> deny');
});

test('what the record proves about a condition holds for the same condition of the draft', () => {
  const rules = [rule('allow', { when: SMALL, during: 'mon-fri' }), rule('require_approval')];
  const flipped = [rule('deny', { when: SMALL }), rule('allow')];
  expect(replayed(rules, flipped, situation({ amount: 1 }))).toBe('allow -> deny');
  expect(replayed(rules, flipped, situation({ amount: 9 }))).toBe('pending -> allow');
  expect(replayed(rules, flipped, situation({}))).toBe('pending -> deny');
  const hours = [rule('deny', { during: 'mon-fri' }), rule('allow')];
  expect(replayed(rules, hours, situation({ amount: 9 }))).toBe('pending -> deny');
  const sunday = { situation: { args: { amount: 1 }, now: Date.parse('2026-03-01T08:00:00Z') } };
  expect(replayed(rules, hours, sunday)).toBe('pending -> allow');
  expect(replayed(rules, flipped, sunday)).toBe('pending -> depends');
});

test('a rule that is added above changes what it decides, and the rest stays known', () => {
  const rules = [1, 2, 3, 4, 5].map(each => rule('allow', { when: `args.n == ${each}` }));
  const above = [rule('deny', { tool: 's__other' }), ...rules, rule('require_approval')];
  for (const n of [1, 3, 5]) expect(replayed(rules, above, situation({ n }))).toBe('allow -> allow');
  // Only three of the five rules are named, but none of them applied.
  expect(replayed(rules, above, situation({ n: 9 }))).toBe('deny -> pending');
  expect(replayed(rules, [rule('deny', { when: 'args.n == 2' }), ...rules], situation({ n: 9 }))).toBe(
    'deny -> deny',
  );
  expect(replayed(rules, [rule('allow', { when: 'args.n == 6' }), ...rules], situation({ n: 9 }))).toBe(
    'deny -> depends',
  );
});

test('what results bring into a run is not known any more, unless nothing of it has changed', () => {
  const outcome = (rules: Rule[], before: ResultEntry[], now: ResultEntry[]) => {
    const recorded = core.compilePolicy({ ...compile(rules), results: before });
    const draft = core.compilePolicy({ ...compile(rules, 2), results: now });
    const decided = core.decide(recorded, CALL, {});
    return outcomeOf(draft, recordOf(CALL, decided), { recorded, keyName: 'agent' });
  };
  const marking: ResultEntry = { tool: 'crm__*', marks: 'untrusted' };
  const hiding: ResultEntry = { tool: 'crm__*', hide: 'email' };
  expect(outcome(TAINTED, [], [marking])).toBe('depends');
  expect(outcome(TAINTED, [marking], [])).toBe('depends');
  expect(outcome(TAINTED, [marking], [{ ...marking, when: 'result.isError' }])).toBe('depends');
  expect(outcome(TAINTED, [marking], [marking])).toBe('allow');
  expect(outcome(TAINTED, [marking], [{ ...marking, hide: 'email' }, hiding])).toBe('allow');
  expect(outcome(ALLOW, [], [marking, hiding])).toBe('allow');
  // What is hidden in the result of a trusted tool is not known either.
  const known = [
    rule('allow', { tool: 'crm__*', known: 'results' }),
    rule('allow', { when: '!known("bob")' }),
  ];
  expect(outcome(known, [hiding], [hiding])).toBe('allow');
  expect(outcome(known, [], [hiding])).toBe('depends');
});

test('a call that an earlier version recorded proves nothing, but that nothing changes under the same rules', () => {
  const outcome = (decision: Decision, draft: Rule[], recorded = 'Because.') =>
    outcomeOf(compile(draft), recordOf(CALL, { decision, recorded, ruleIndex: 0 }), {
      recorded: compile([rule('require_approval', { when: 'true' })]),
      keyName: 'agent',
    });
  expect(outcome('deny', [rule('require_approval', { when: 'true', reason: 'Why.' })])).toBe('deny');
  expect(outcome('allow', DENY)).toBe('deny');
  expect(outcome('allow', ALLOW)).toBe('allow');
  expect(outcome('allow', ASK)).toBe('depends');
  expect(outcome('pending', ASK)).toBe('pending');
  // People may have freed it, so nobody calls it unchanged.
  expect(outcome('allow', ALLOW, 'A rule asks; freed by approval 7.')).toBe('depends');
});
