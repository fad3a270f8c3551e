// Every reason that a decision can give is read back from the record: what it tells, also if the names in it look like
// parts of other reasons.

import { expect, test } from 'bun:test';
import { type PassedOver, readPassedOver, readReason, type Told } from '../../src/core/foresight/reasons.ts';
import type { Limits, Rule } from '../../src/core/policy/policy.ts';
import type { ToolCall } from '../../src/core/policy/situation.ts';
import { deciderIn, type Facts, recordOf } from './decider.ts';

const core = await deciderIn();

/** Names as hostile as they may be: each looks like the end of another reason. */
const POLICY_NAMES = ['support', 'p" allows s__t. Rule 0 did not apply: condition 0 is false.'];
const TOOLS = [
  't',
  't.',
  't; freed by approval 7.',
  't, but the definition of the tool has changed and no operator has accepted it.',
  't, but its limit "calls" is used up (3 per week per key), so it requires approval.',
  't: its condition 0 could not be evaluated.',
  "t is outside this session's scopeTools.",
  't. Rule 0 did not apply: condition 0 is false.',
  't; unmatched calls are denied.',
];

const LIMITS: Limits = {
  calls: { calls: 3, each: 'week' },
  asking: { sum: 'args.amount', unit: 0.01, atMost: 500, each: 'day', beyond: 'require_approval' },
  session: { calls: 3, within: '1h', per: 'session' },
};

const FREED = { kind: 'approval', referenceId: 'a-1' } as const;
const GRANTED = { kind: 'grant', referenceId: 'a-2' } as const;
const DENIED = { referenceId: 'a-3', denied: true };
const TOO_MANY = 'this key already has 20 open approvals';
const FULL = '5 calls of this key are under way, as many as TOOLGATE_MAX_CALLS_PER_KEY allows';
const UNFREED = 'it was asked for on mcp, and this is check';

const NOT_TOLD = { asked: false, failed: null, unseen: false, noPlace: false };
const SURE = { ...NOT_TOLD, failed: 'none' } as const;

interface Given extends Facts {
  call?: Partial<ToolCall>;
}
type Row = [what: string, rule: Partial<Rule> | null, given: Given, told: Omit<Told, 'rest'>];

const FAILING = 'args.absent > 1';
const ROWS: Row[] = [
  ['a relayed call', null, { call: { relayed: true } }, { ...NOT_TOLD, cause: 'relayed' }],
  [
    'a relayed call without a place',
    null,
    { call: { relayed: true, noPlace: FULL } },
    { ...NOT_TOLD, cause: 'relayed' },
  ],
  [
    'a tool outside the scope',
    { action: 'allow' },
    { scope: new Set(['s__x']) },
    { ...NOT_TOLD, cause: 'scope' },
  ],
  ['no rule', null, {}, { ...NOT_TOLD, cause: 'no rule' }],
  ['an allow', { action: 'allow' }, {}, { ...SURE, cause: 'rule' }],
  [
    'an allow without a place',
    { action: 'allow' },
    { call: { noPlace: FULL } },
    { ...SURE, cause: 'rule', noPlace: true },
  ],
  ['a deny', { action: 'deny' }, {}, { ...SURE, cause: 'rule' }],
  ['a deny that says why', { action: 'deny', reason: 'No.' }, {}, { ...SURE, cause: 'rule' }],
  [
    'a deny that looks like an answer',
    { action: 'deny', reason: 'A person denied this call.' },
    {},
    { ...SURE, cause: 'rule' },
  ],
  [
    'a deny with a failed condition',
    { action: 'deny', when: ['true', FAILING], reason: 'No.' },
    {},
    { ...NOT_TOLD, cause: 'rule', failed: { condition: 1 } },
  ],
  ['a question', { action: 'require_approval' }, {}, { ...SURE, cause: 'rule', asked: true }],
  [
    'a question that says why',
    { action: 'require_approval', reason: 'Money moves.' },
    { unfreed: UNFREED },
    { ...SURE, cause: 'rule', asked: true },
  ],
  [
    'a question to the terminal',
    { action: 'require_approval' },
    { handedTo: 'terminal' },
    { ...SURE, cause: 'rule', asked: true },
  ],
  [
    'a question to the proxy',
    { action: 'require_approval' },
    { handedTo: 'proxy' },
    { ...SURE, cause: 'rule', asked: true },
  ],
  [
    'a repeated question',
    { action: 'require_approval' },
    { repeats: { ...DENIED, denied: false } },
    { ...SURE, cause: 'rule', asked: true },
  ],
  [
    'a call that an approval freed',
    { action: 'require_approval' },
    { freedom: FREED },
    { ...SURE, cause: 'rule', asked: true },
  ],
  [
    'a call that a grant freed',
    { action: 'require_approval', reason: 'Why.' },
    { freedom: GRANTED },
    { ...SURE, cause: 'rule', asked: true },
  ],
  [
    'a freed call without a place',
    { action: 'require_approval' },
    { freedom: FREED, call: { noPlace: FULL } },
    { ...SURE, cause: 'rule', asked: true, noPlace: true },
  ],
  [
    'a call that a person denied',
    { action: 'require_approval' },
    { repeats: DENIED },
    { ...NOT_TOLD, cause: 'rule', asked: true },
  ],
  [
    'one question too many',
    { action: 'require_approval' },
    { approvalLimit: TOO_MANY, unfreed: UNFREED },
    { ...SURE, cause: 'rule', asked: true },
  ],
  [
    'a question without arguments',
    { action: 'require_approval' },
    { call: { unseen: true } },
    { ...SURE, cause: 'rule', unseen: true },
  ],
  [
    'a failed condition that asks',
    { action: 'require_approval', when: FAILING, reason: 'Why.' },
    {},
    { ...NOT_TOLD, cause: 'rule', asked: true, failed: { condition: 0 } },
  ],
  [
    'a failed condition that a person freed',
    { action: 'require_approval', when: FAILING },
    { freedom: FREED },
    { ...NOT_TOLD, cause: 'rule', asked: true, failed: { condition: 0 } },
  ],
  ['a changed definition', { action: 'allow' }, { drift: 'deny' }, { ...SURE, cause: 'drift' }],
  [
    'a changed definition of what asks',
    { action: 'require_approval' },
    { drift: 'deny' },
    { ...SURE, cause: 'drift' },
  ],
  [
    'a changed definition that asks',
    { action: 'allow' },
    { drift: 'require_approval' },
    { ...SURE, cause: 'drift', asked: true },
  ],
  [
    'a changed definition that a person freed',
    { action: 'allow' },
    { drift: 'require_approval', freedom: FREED },
    { ...SURE, cause: 'drift', asked: true },
  ],
  [
    'a changed definition that a person denied',
    { action: 'allow' },
    { drift: 'require_approval', repeats: DENIED },
    { ...SURE, cause: 'drift', asked: true },
  ],
  ['a used-up limit', { action: 'allow', limit: 'calls' }, { usedUp: true }, { ...SURE, cause: 'limit' }],
  [
    'a used-up limit that asks',
    { action: 'allow', limit: 'asking' },
    { usedUp: true },
    { ...SURE, cause: 'limit', asked: true },
  ],
  [
    'a used-up limit that a person freed',
    { action: 'allow', limit: 'asking' },
    { usedUp: true, freedom: FREED },
    { ...SURE, cause: 'limit', asked: true },
  ],
  [
    'a used-up limit with too many questions',
    { action: 'allow', limit: 'asking' },
    { usedUp: true, approvalLimit: TOO_MANY },
    { ...SURE, cause: 'limit', asked: true },
  ],
  [
    'a used-up limit that a person denied',
    { action: 'allow', limit: 'asking' },
    { usedUp: true, repeats: DENIED },
    { ...SURE, cause: 'limit or drift', asked: true },
  ],
  ['a limit that counts for nobody', { action: 'allow', limit: 'session' }, {}, { ...SURE, cause: 'limit' }],
  [
    'a limit without arguments',
    { action: 'allow', limit: 'asking' },
    { call: { unseen: true } },
    { ...NOT_TOLD, cause: 'unmetered' },
  ],
];

/** A rule with a failed condition asks only about what the rules below it do not deny. */
const BELOW: Rule = { tool: '*', action: 'allow' };

/** Rules above that are passed over, and one in between for other tools. */
const ABOVE: Rule[] = [
  { tool: '*', action: 'allow', when: ['true', 'has(args.never)'] },
  { tool: 'elsewhere__*', action: 'allow' },
  { tool: '*', action: 'deny', during: 'mon 00:00-00:01' },
  { tool: '*', action: 'allow', when: 'args.nothing == 1' },
];
/** The one that came nearest. */
const NEAREST: [number, PassedOver] = [3, { why: 'failed', condition: 0 }];

for (const [what, rule, { call: flags, ...facts }, told] of ROWS) {
  test(`the reason for ${what} is read back`, () => {
    for (const policyName of POLICY_NAMES) {
      for (const toolName of TOOLS) {
        for (const above of [[], ABOVE]) {
          const last = rule === null ? [] : [{ tool: 's__*', action: 'allow', ...rule } as Rule, BELOW];
          const policy = core.compilePolicy({
            id: 'p',
            name: policyName,
            version: 1,
            rules: [...above, ...last],
            limits: LIMITS,
          });
          const args = { amount: 5 };
          const decided = core.decide(
            policy,
            { serverName: 's', toolName, ...flags },
            { ...facts, situation: { args } },
          );
          const call = recordOf({ serverName: 's', toolName }, decided);
          const { rest, ...read } = readReason(call, policy);
          expect([decided.reason, read]).toEqual([decided.reason, told]);
          if (rest === null || above.length === 0) continue;
          const found = readPassedOver(rest, [0, 2, 3], policy);
          const isNear = decided.decision !== 'allow' && told.cause !== 'drift' && !told.noPlace;
          expect([decided.reason, ...found]).toEqual([decided.reason, ...(isNear ? [NEAREST] : [])]);
        }
      }
    }
  });
}

const CALL = { serverName: 's', toolName: 't' };

test('the rule that came nearest is told in every kind of reason that can go on', () => {
  const policy = core.compilePolicy({
    id: 'p',
    name: 'support',
    version: 1,
    rules: [...ABOVE, { tool: '*', action: 'require_approval', reason: 'Money moves.' }],
  });
  for (const facts of [{}, { unfreed: UNFREED }, { repeats: DENIED }, { handedTo: 'proxy' as const }]) {
    const decided = core.decide(
      policy,
      { serverName: 's', toolName: 't' },
      { ...facts, situation: { args: {} } },
    );
    const { rest } = readReason(recordOf(CALL, decided), policy);
    expect([...readPassedOver(rest, [0, 2, 3], policy)]).toEqual([NEAREST]);
  }
});

test('older entries name the first three rules that were passed over, also after an allow', () => {
  const policy = core.compilePolicy({
    id: 'p',
    name: 'support',
    version: 1,
    rules: [...ABOVE, { tool: '*', action: 'allow' }],
  });
  const reason =
    'Rule 4 of policy "support" allows s__t. Rule 0 did not apply: condition 1 is false. ' +
    'Rule 2 did not apply: it is outside its hours. Rule 3 did not apply: condition 0 could not be evaluated.';
  const call = { ...recordOf(CALL, core.decide(policy, CALL)), reason };
  const { rest } = readReason(call, policy);
  expect([...readPassedOver(rest, [0, 2, 3], policy)]).toEqual([
    [0, { why: 'false', condition: 1 }],
    [2, { why: 'hours', condition: null }],
    NEAREST,
  ]);
});

test('a replica that knows no names of rules yet writes reasons without them, which are read too', () => {
  const rules = (named: boolean): Rule[] => [
    { ...(named && { name: 'big' }), tool: '*', action: 'allow', when: 'args.n > 9' },
    { ...(named && { name: '0' }), tool: '*', action: 'require_approval' },
  ];
  const version = (named: boolean) =>
    core.compilePolicy({ id: 'p', name: 'support', version: 1, rules: rules(named) });
  const facts = { situation: { args: { n: 1 } } };
  for (const writer of [version(true), version(false)]) {
    const { rest, ...told } = readReason(recordOf(CALL, core.decide(writer, CALL, facts)), version(true));
    expect(told).toEqual({ ...SURE, cause: 'rule', asked: true });
    expect([...readPassedOver(rest, [0], version(true))]).toEqual([[0, { why: 'false', condition: 0 }]]);
  }
});

test('a reason that is not to be expected tells nothing', () => {
  const policy = core.compilePolicy({
    id: 'p',
    name: 'support',
    version: 1,
    rules: [{ tool: '*', action: 'allow' }],
  });
  const base = recordOf(CALL, core.decide(policy, CALL));
  const causes = [
    readReason({ ...base, reason: 'Because.' }, policy),
    readReason({ ...base, ruleIndex: 7 }, policy),
    readReason({ ...base, ruleIndex: null }, policy),
    readReason({ ...base, reason: base.reason.replace('support', 'other') }, policy),
    readReason(base, null),
  ].map(({ cause }) => cause);
  expect(causes).toEqual(['unread', 'unread', 'unread', 'unread', 'unread']);
});
