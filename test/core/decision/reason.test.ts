// Every reason that a decision can give: what people read, which is the contract of agents and pages, what is stored, and
// what the record is evidence of. The names are as hostile as they may be: each looks like a part of a reason.

import { expect, test } from 'bun:test';
import { WHY_NOT_FREED, type WhyNotFreed } from '../../../src/core/decision/reason.ts';
import { notFreedText } from '../../../src/core/decision/reason-text.ts';
import {
  CODES,
  readReason,
  recordedAgain,
  recordedReason,
} from '../../../src/core/decision/recorded-reason.ts';
import { type Evidence, evidenceOf } from '../../../src/core/foresight/evidence.ts';
import type { Limits, Rule } from '../../../src/core/policy/policy.ts';
import type { ToolCall } from '../../../src/core/policy/situation.ts';
import { textFault } from '../../../src/core/text/name.ts';
import { canonicalJson } from '../../../src/core/wire/canonical.ts';
import { deciderIn, type Facts, recordOf } from '../decider.ts';

const core = await deciderIn();

const POLICY_NAMES = ['support', 'p" allows s__t. Rule 0 did not apply: condition 0 is false.'];
const TOOLS = ['t', 't; freed by approval 7.', '{"code":"allows","policy":"p","rule":0}'];

const LIMITS: Limits = {
  calls: { calls: 3, each: 'week' },
  asking: { sum: 'args.amount', unit: 0.01, atMost: 99.5, each: 'day', beyond: 'require_approval' },
  session: { calls: 3, within: '1h', per: 'session' },
};

const FREED = { kind: 'approval', referenceId: 'a-1' } as const;
const GRANTED = { kind: 'grant', referenceId: 'a-2' } as const;
const DENIED = { referenceId: 'a-3', denied: true };
const TOO_MANY = { of: 'key', open: 20 } as const;
const FULL = { atMost: 5, of: 'key' } as const;
const FULL_TOOL = { atMost: 6, of: 'connected_tool' } as const;
const NOT_FREED_HERE: WhyNotFreed = { asked: 'mcp', here: 'check' };

interface Given extends Facts {
  call?: Partial<ToolCall>;
}

/** `NAME` stands for the tool, `POLICY` for the policy, and `RULE` for the rule, which has this number and name. */
type Row = [rule: Partial<Rule> | null, given: Given, text: string, evidence: Partial<Evidence>];

const FAILING = 'args.absent > 1';
const IN_USE = '5 calls of this key are under way, as many as TOOLGATE_MAX_CALLS_PER_KEY allows.';
const TOOL_IN_USE =
  '6 calls of this Connected Tool are under way, as many as TOOLGATE_MAX_CALLS_PER_CONNECTED_TOOL allows.';
const DRIFTED =
  'RULE allows NAME, but the definition of the tool has changed and no operator has accepted it';
const UNACCEPTED = 'RULE allows NAME, but nobody has accepted the definition of the tool';
const USED_UP = 'RULE allows NAME, but its limit "asking" is used up (99.5 each day per key)';
const SURE = { cause: 'rule', failed: 'none' } as const;
const ASKED = { ...SURE, asked: true } as const;

const ROWS: Row[] = [
  [null, { call: { relayed: true } }, "This key's setting forwards TOOL to s.", { cause: 'relayed' }],
  [
    null,
    { call: { relayed: true, noPlace: FULL } },
    `This key's setting forwards TOOL to s, but ${IN_USE}`,
    { cause: 'relayed' },
  ],
  [{}, { scope: new Set(['s__x']) }, "NAME is outside this session's scopeTools.", { cause: 'scope' }],
  [null, {}, 'No rule of policy "POLICY" matches NAME; unmatched calls are denied.', { cause: 'no rule' }],
  [{}, {}, 'RULE allows NAME.', SURE],
  [{}, { call: { noPlace: FULL_TOOL } }, `RULE allows NAME, but ${TOOL_IN_USE}`, { ...SURE, noPlace: true }],
  [{ action: 'deny' }, {}, 'RULE denies NAME.', SURE],
  [{ action: 'deny', reason: '' }, {}, 'RULE denies NAME.', SURE],
  [{ action: 'deny', reason: 'A person denied this call.' }, {}, 'A person denied this call.', SURE],
  [
    { action: 'deny', when: ['true', FAILING], reason: 'No.' },
    {},
    'RULE denies NAME: its condition 1 could not be evaluated.',
    { cause: 'rule', failed: { condition: 1 } },
  ],
  [{ action: 'require_approval' }, {}, 'RULE requires approval for NAME.', ASKED],
  [
    { action: 'require_approval', reason: 'Money moves.' },
    { whyNotFreed: NOT_FREED_HERE },
    'RULE requires approval for NAME. Money moves. The approval that was named does not free this call: it was asked for on mcp, and this is check.',
    ASKED,
  ],
  [
    { action: 'require_approval' },
    { handedTo: 'terminal' },
    'RULE requires approval for NAME. The person at the terminal decides.',
    ASKED,
  ],
  [
    { action: 'require_approval' },
    { handedTo: 'proxy' },
    'RULE requires approval for NAME. The MCP proxy asks for the approval.',
    ASKED,
  ],
  [
    { action: 'require_approval' },
    { repeats: { ...DENIED, denied: false } },
    'RULE requires approval for NAME.',
    ASKED,
  ],
  [
    { action: 'require_approval' },
    { freedom: FREED },
    'RULE requires approval for NAME; freed by approval a-1.',
    { ...ASKED, freed: true },
  ],
  [
    { action: 'require_approval', reason: 'Why.' },
    { freedom: GRANTED },
    'RULE requires approval for NAME; freed by a grant opened by approval a-2.',
    { ...ASKED, freed: true },
  ],
  [
    { action: 'require_approval' },
    { freedom: FREED, call: { noPlace: FULL } },
    `RULE requires approval for NAME; freed by approval a-1, but ${IN_USE}`,
    { ...ASKED, noPlace: true },
  ],
  [{ action: 'require_approval' }, { repeats: DENIED }, 'A person denied this call.', ASKED],
  [
    { action: 'require_approval' },
    { approvalLimit: TOO_MANY, whyNotFreed: 'used' },
    'RULE requires approval for NAME, but this key already has 20 open approvals. The approval that was named does not free this call: it has been used.',
    ASKED,
  ],
  [
    { action: 'require_approval' },
    { call: { unseen: true } },
    'RULE requires approval for NAME, but its arguments are not known here.',
    { ...SURE, unseen: true },
  ],
  [
    { action: 'require_approval', when: FAILING, reason: 'Why.' },
    {},
    'RULE requires approval for NAME: its condition 0 could not be evaluated. Why.',
    { ...ASKED, failed: { condition: 0 } },
  ],
  [{}, { drift: 'deny' }, `${DRIFTED}.`, { ...SURE, cause: 'drift' }],
  [
    { action: 'require_approval' },
    { drift: 'deny' },
    'RULE requires approval for NAME, but the definition of the tool has changed and no operator has accepted it.',
    { ...SURE, cause: 'drift' },
  ],
  [{}, { drift: 'require_approval' }, `${DRIFTED}, so it requires approval.`, { ...ASKED, cause: 'drift' }],
  [
    {},
    { drift: 'require_approval', freedom: FREED },
    `${DRIFTED}, so it requires approval; freed by approval a-1.`,
    { ...ASKED, cause: 'drift', freed: true },
  ],
  [
    {},
    { drift: 'require_approval', repeats: DENIED },
    'A person denied this call.',
    { ...ASKED, cause: 'drift' },
  ],
  [{}, { drift: 'deny', heldFor: 'nobody' }, `${UNACCEPTED}.`, { ...SURE, cause: 'drift' }],
  [
    { action: 'require_approval' },
    { drift: 'deny', heldFor: 'lock_file' },
    'RULE requires approval for NAME, but the lock file does not have the definition of the tool.',
    { ...SURE, cause: 'drift' },
  ],
  [
    {},
    { drift: 'require_approval', heldFor: 'hidden' },
    'RULE allows NAME, but the definition of the tool has hidden characters and nobody has accepted it, so it requires approval.',
    { ...ASKED, cause: 'drift' },
  ],
  [
    {},
    { drift: 'require_approval', heldFor: 'shadows' },
    'RULE allows NAME, but the tool is spelled like another tool of this key and nobody has accepted its definition, so it requires approval.',
    { ...ASKED, cause: 'drift' },
  ],
  [
    {},
    { drift: 'require_approval', heldFor: 'names_tool' },
    'RULE allows NAME, but the definition of the tool names a tool of another server and nobody has accepted it, so it requires approval.',
    { ...ASKED, cause: 'drift' },
  ],
  [
    {},
    { drift: 'require_approval', heldFor: 'nobody', freedom: FREED },
    `${UNACCEPTED}, so it requires approval; freed by approval a-1.`,
    { ...ASKED, cause: 'drift', freed: true },
  ],
  [
    { limit: 'calls' },
    { usedUp: true },
    'RULE allows NAME, but its limit "calls" is used up (3 each week per key).',
    { ...SURE, cause: 'limit' },
  ],
  [
    { limit: 'asking' },
    { usedUp: true },
    `${USED_UP}, so it requires approval.`,
    { ...ASKED, cause: 'limit' },
  ],
  [
    { limit: 'asking' },
    { usedUp: true, freedom: FREED },
    `${USED_UP}, so it requires approval; freed by approval a-1.`,
    { ...ASKED, cause: 'limit', freed: true },
  ],
  [
    { limit: 'asking' },
    { usedUp: true, approvalLimit: { of: 'session', open: 3 } },
    `${USED_UP}, so it requires approval, but this session already has 3 open approvals.`,
    { ...ASKED, cause: 'limit' },
  ],
  [
    { limit: 'asking' },
    { usedUp: true, repeats: DENIED },
    'A person denied this call.',
    { ...ASKED, cause: 'limit' },
  ],
  [
    { limit: 'session' },
    {},
    'RULE allows NAME, but its limit "session" counts per session, and this call has none.',
    { ...SURE, cause: 'limit' },
  ],
  [
    { limit: 'asking' },
    { call: { unseen: true }, situation: { args: undefined } },
    'RULE may allow NAME within its limit "asking", but its arguments are not known here.',
    { cause: 'unmetered' },
  ],
];

const NOTHING: Evidence = {
  cause: 'unread',
  asked: false,
  freed: false,
  failed: null,
  unseen: false,
  noPlace: false,
  nearest: null,
};

/** A rule with a failed condition asks only about what the rules below it do not deny. */
const BELOW: Rule = { tool: '*', action: 'allow' };
const ABOVE: Rule[] = [
  { tool: '*', action: 'allow', when: ['true', 'has(args.never)'] },
  { tool: 'elsewhere__*', action: 'allow' },
  { tool: '*', action: 'deny', during: 'mon 00:00-00:01' },
  { name: '0") did not apply', tool: '*', action: 'allow', when: 'args.nothing == 1' },
];
const NEAREST = ' Rule 3 ("0") did not apply") did not apply: condition 0 could not be evaluated.';
/** Where the rule that came nearest is not the last that is said. */
const HANDED = [' The person at the terminal decides.', ' The MCP proxy asks for the approval.'];

const seen = new Set<string>();

for (const [rule, { call: flags, ...facts }, template, expected] of ROWS) {
  test(`${template} ${JSON.stringify(facts)}`, () => {
    for (const name of POLICY_NAMES)
      for (const toolName of TOOLS)
        for (const above of [[], ABOVE])
          for (const ruleName of [undefined, 'x" of policy "y'])
            expectRow({ rule, flags, facts, template, expected, name, toolName, above, ruleName });
  });
}

interface Case {
  rule: Partial<Rule> | null;
  flags: Partial<ToolCall> | undefined;
  facts: Facts;
  template: string;
  expected: Partial<Evidence>;
  name: string;
  toolName: string;
  above: Rule[];
  ruleName: string | undefined;
}

function expectRow({ rule, flags, facts, template, expected, name, toolName, above, ruleName }: Case): void {
  const own: Rule = { tool: 's__*', action: 'allow', ...(ruleName && { name: ruleName }), ...rule };
  const rules = rule === null ? above : [...above, own, BELOW];
  const policy = core.compilePolicy({ id: 'p', name, version: 1, rules, limits: LIMITS });
  const call = { serverName: 's', toolName };
  const situation = { args: { amount: 5 }, ...facts.situation };
  const said = core.decide(policy, { ...call, ...flags }, { ...facts, situation });
  const isNear =
    above.length > 0 &&
    said.decision !== 'allow' &&
    !['relayed', 'scope', 'drift'].includes(expected.cause ?? '') &&
    !facts.drift &&
    flags?.noPlace === undefined;
  const ruleText = `Rule ${above.length}${ruleName === undefined ? '' : ` ("${ruleName}")`} of policy "${name}"`;
  const handed = HANDED.find(each => template.endsWith(each)) ?? '';
  const words = (text: string) =>
    text
      .replaceAll('RULE', () => ruleText)
      .replaceAll('POLICY', () => name)
      .replaceAll('NAME', () => `s__${toolName}`)
      .replaceAll('TOOL to', () => `${toolName} to`);
  const first = words(template.slice(0, template.length - handed.length));
  expect(said.reason).toBe(`${first}${isNear ? NEAREST : ''}${handed}`);
  // What is stored is canonical, and read back it is the same.
  expect(readReason(said.recorded)).toEqual(JSON.parse(JSON.stringify(said.code)));
  expect(said.recorded.slice(1)).toBe(canonicalJson(JSON.parse(said.recorded.slice(1))));
  const { nearest, ...evidence } = evidenceOf(recordOf(call, said));
  const { nearest: _, ...nothing } = NOTHING;
  expect(evidence).toEqual({ ...nothing, ...expected });
  // Without arguments, rules are passed over that would apply with them.
  const tells = isNear && !expected.unseen && expected.cause !== 'unmetered';
  expect(nearest?.rule ?? null).toBe(tells ? 3 : null);
  seen.add(said.code.code);
}

test('the table has every code', () => {
  expect([...seen].sort()).toEqual([...CODES].sort());
});

test('why a named approval frees nothing', () => {
  const why = WHY_NOT_FREED.map(each => notFreedText(each));
  expect(new Set(why.map(each => each.split(': ')[0]))).toEqual(
    new Set(['The approval that was named does not free this call']),
  );
  expect(why.map(each => each.split(': ')[1])).toEqual([
    'nobody has answered it yet.',
    'it timed out.',
    'it was denied.',
    'it opened a grant, and no grant is open for this call.',
    'it has been used.',
    'it was withdrawn.',
    'it was approved too long ago.',
    'there is none with this id.',
    'it is for another tool.',
    'it is for other arguments.',
    'the definition of the tool has changed since.',
    'the rule wants other people to approve this call, or more of them.',
    'not enough people of the group have approved it.',
  ]);
});

test('why rules above did not apply', () => {
  const of = (rule: Partial<Rule>) => {
    const rules: Rule[] = [{ tool: '*', action: 'allow', ...rule }];
    const policy = core.compilePolicy({ id: 'p', name: 'p', version: 1, rules, limits: LIMITS });
    const said = core.decide(
      policy,
      { serverName: 's', toolName: 't' },
      { situation: { args: { amount: 0.001 } } },
    );
    return said.reason.split('; unmatched calls are denied. ')[1];
  };
  expect(of({ when: 'false' })).toBe('Rule 0 did not apply: condition 0 is false.');
  expect(of({ when: FAILING })).toBe('Rule 0 did not apply: condition 0 could not be evaluated.');
  expect(of({ during: 'mon 00:00-00:01' })).toBe('Rule 0 did not apply: it is outside its hours.');
  expect(of({ limit: 'asking' })).toBe('Rule 0 did not apply: its limit "asking" cannot count this call.');
});

const ALLOWS = { code: 'allows', policy: 'p', rule: 0 } as const;

test('what people could choose as a reason in an earlier version is no code', () => {
  const json = JSON.stringify(ALLOWS);
  for (const hostile of [json, ` ${json}`, `\ufeff${json}`, `\u2028${json}`, '']) {
    expect(textFault(hostile, 0, 1000)).toBeNull();
    expect(readReason(hostile)).toBeNull();
    const call = {
      ...recordOf({ serverName: 's', toolName: 't' }, { decision: 'deny', recorded: hostile, ruleIndex: 0 }),
    };
    expect(evidenceOf(call).cause).toBe('unread');
  }
  // The mark is a control character, which a policy never could contain.
  expect(textFault(recordedReason(ALLOWS), 0, 1000)).not.toBeNull();
  expect(readReason(recordedReason(ALLOWS))).toEqual(ALLOWS);
});

test('of a code that a later version wrote, it cannot be told that nobody freed the call', () => {
  const recorded = recordedReason(ALLOWS).replace('allows', 'wonders');
  const of = (decision: 'allow' | 'deny') =>
    evidenceOf(recordOf({ serverName: 's', toolName: 't' }, { decision, recorded, ruleIndex: 0 }));
  expect(of('allow')).toEqual({ ...NOTHING, freed: true });
  expect(of('deny')).toEqual(NOTHING);
});

test('what is not to the letter as it is written, or of a later version, stays a text', () => {
  const mark = recordedReason(ALLOWS).slice(0, 1);
  const texts = [
    '{"policy":"p","code":"allows","rule":0}',
    '{"code":"allows", "policy":"p","rule":0}',
    '{"code":"allows","code":"allows","policy":"p","rule":0}',
    '{"code":"allows","policy":"p","rule":0,"zone":1}',
    '{"code":"allows","policy":"p"}',
    '{"code":"allows","policy":"p","rule":"0"}',
    '{"code":"wonders","policy":"p","rule":0}',
    '{"code":"__proto__"}',
    '{"answer":{"is":"hopes"},"code":"asks","policy":"p","rule":0}',
    '{"answer":{"is":"waits","whyNotFreed":"later"},"code":"asks","policy":"p","rule":0}',
    '[]',
    'null',
    '{',
  ];
  for (const text of texts) expect([text, readReason(mark + text)]).toEqual([text, null]);
  expect(readReason(`${mark}{"code":"allows","policy":"p","rule":0}`)).toEqual(ALLOWS);
  expect(recordedAgain({ rule: 0, policy: 'p', code: 'allows' })).toBe(recordedReason(ALLOWS));
});
