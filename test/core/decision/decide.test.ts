// Properties of every decision: denies and scopes only take rights away, and a grant or an approval frees only calls
// that need approval. Two promises say that the decider equals its specification; test/faults/p14 and p15 test them.
// reason.test.ts has the sentences, reasons.test.ts what conditions, hours and limits come to, and strictness.test.ts conditions that fail.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { couldPass } from '../../../src/core/decision/could-pass.ts';
import { asksForApproval, type Decision, type Facts } from '../../../src/core/decision/decide.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { sized } from '../../support/when-changed.ts';
import { deciderIn } from '../decider.ts';
import { oracleFirst } from '../oracle.ts';

const core = await deciderIn();

const FACTS = { scope: null, drift: null, freedom: null, approvalLimit: null };

const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '_', '*'), minLength: 1, maxLength: 6 });
const rule = fc.record({ tool: pattern, action: fc.constantFrom('allow', 'deny', 'require_approval') });
const rules = fc.array(rule as fc.Arbitrary<Rule>, { maxLength: 8 });
const name = fc.string({ unit: fc.constantFrom('a', 'b', '_'), minLength: 1, maxLength: 5 });

function decision(list: readonly Rule[], toolName: string): Decision {
  const policy = core.compilePolicy({ id: 'p', name: 'p', version: 1, rules: list });
  return core.decide(policy, { serverName: 'a', toolName }, FACTS).decision;
}

const RUNS = sized(20_000, 20_000, 2_000);

test('adding a deny anywhere never allows more', () => {
  fc.assert(
    fc.property(rules, pattern, fc.nat(), name, (list, tool, at, toolName) => {
      const stricter = list.toSpliced(at % (list.length + 1), 0, { tool, action: 'deny' });
      const [before, after] = [decision(list, toolName), decision(stricter, toolName)];
      if (before !== 'allow') expect(after).not.toBe('allow');
      if (before === 'deny') expect(after).toBe('deny');
    }),
    { numRuns: RUNS, seed: 3 },
  );
});

test('a scope only ever takes away', () => {
  fc.assert(
    fc.property(rules, name, fc.array(name), (list, toolName, scope) => {
      const policy = core.compilePolicy({ id: 'p', name: 'p', version: 1, rules: list });
      const call = { serverName: 'a', toolName };
      const free = core.decide(policy, call, FACTS);
      const names = new Set(scope.map(each => `a__${each}`));
      const scoped = core.decide(policy, call, { ...FACTS, scope: names });
      if (names.has(`a__${toolName}`)) expect(scoped).toEqual(free);
      else expect(scoped).toMatchObject({ decision: 'deny', ruleIndex: null });
    }),
    { numRuns: RUNS / 4, seed: 4 },
  );
});

test('a grant or a spent approval frees only a call that needs approval, and the reason names it', () => {
  const list: Rule[] = [
    { tool: 'ask', action: 'require_approval', reason: 'Money moves.' },
    { tool: 'no', action: 'deny' },
  ];
  const policy = core.compilePolicy({ id: 'p', name: 'prod', version: 1, rules: list });
  for (const kind of ['grant', 'approval'] as const) {
    const facts = { ...FACTS, freedom: { kind, referenceId: 'ref-1' } };
    const freed = core.decide(policy, { serverName: 's', toolName: 'ask' }, facts);
    expect(freed).toMatchObject({ decision: 'allow', ruleIndex: 0, freedBy: facts.freedom });
    const by = { grant: 'a grant opened by approval', approval: 'approval' }[kind];
    expect(freed.reason).toEndWith(`; freed by ${by} ref-1.`);
    const denied = core.decide(policy, { serverName: 's', toolName: 'no' }, facts);
    expect(denied).toMatchObject({ decision: 'deny', ruleIndex: 1, freedBy: null });
    expect(core.decide(policy, { serverName: 's', toolName: 'other' }, facts).decision).toBe('deny');
    const outside = { ...facts, scope: new Set<string>() };
    expect(core.decide(policy, { serverName: 's', toolName: 'ask' }, outside).decision).toBe('deny');
  }
});

test('a pending verdict says why the approval that the call names does not free it, and only then', () => {
  const list: Rule[] = [{ tool: 'ask', action: 'require_approval', reason: 'Money moves.' }];
  const policy = core.compilePolicy({ id: 'p', name: 'prod', version: 1, rules: list });
  const reason = (facts: Partial<Facts>) =>
    core.decide(policy, { serverName: 's', toolName: 'ask' }, { ...FACTS, ...facts }).reason;
  const asks = 'Rule 0 of policy "prod" requires approval for s__ask';
  const named = 'The approval that was named does not free this call: it has been used.';
  const whyNotFreed = 'used';
  const approvalLimit = { of: 'session', open: 20 } as const;
  expect(reason({})).toBe(`${asks}. Money moves.`);
  expect(reason({ whyNotFreed })).toBe(`${asks}. Money moves. ${named}`);
  expect(reason({ whyNotFreed, approvalLimit })).toBe(
    `${asks}, but this session already has 20 open approvals. ${named}`,
  );
  const freedom = { kind: 'grant', referenceId: 'r' } as const;
  expect(reason({ whyNotFreed, freedom })).not.toContain('was named');
});

test('where nothing more can be forwarded, what would pass is denied, and frees nothing', () => {
  const list: Rule[] = [
    { tool: 'yes', action: 'allow' },
    { tool: 'ask', action: 'require_approval' },
    { tool: 'no', action: 'deny' },
  ];
  const policy = core.compilePolicy({ id: 'p', name: 'prod', version: 1, rules: list });
  const noPlace = { atMost: 5, of: 'key' } as const;
  const call = (toolName: string) => ({ serverName: 's', toolName, noPlace });
  expect(core.decide(policy, call('yes'), FACTS)).toMatchObject({
    decision: 'deny',
    code: { code: 'allows', policy: 'prod', rule: 0, noPlace },
    ruleIndex: 0,
    freedBy: null,
    repeats: null,
  });
  const freedom = { kind: 'approval', referenceId: 'ref-1' } as const;
  expect(core.decide(policy, call('ask'), { ...FACTS, freedom })).toMatchObject({
    decision: 'deny',
    freedBy: null,
  });
  for (const toolName of ['ask', 'no'])
    expect(core.decide(policy, call(toolName), FACTS)).toEqual(
      core.decide(policy, { serverName: 's', toolName }, FACTS),
    );
});

test('past the limit of open approvals a call that needs approval is denied with that reason', () => {
  const list: Rule[] = [{ tool: 'ask', action: 'require_approval' }];
  const policy = core.compilePolicy({ id: 'p', name: 'prod', version: 1, rules: list });
  const facts = { ...FACTS, approvalLimit: { of: 'key', open: 100 } as const };
  const got = core.decide(policy, { serverName: 's', toolName: 'ask' }, facts);
  expect(got).toMatchObject({ decision: 'deny', ruleIndex: 0 });
  expect(got.reason).toContain('this key already has 100 open approvals');
  expect(oracleFirst(list, 's', 'ask')).toBe(0);
});

test('what is asked before the facts are read agrees with the decision', () => {
  const drifts = fc.constantFrom(null, 'deny', 'require_approval') as fc.Arbitrary<Facts['drift']>;
  const scopes = fc.option(fc.array(name));
  const whens = fc.array(fc.constantFrom(undefined, 'args.yes', 'args.no', 'args.gone'), { maxLength: 8 });
  const calls = fc.record({ toolName: name, relayed: fc.boolean() });
  const situation = { args: { yes: true, no: false } };
  fc.assert(
    fc.property(rules, whens, calls, scopes, drifts, (list, when, { toolName, relayed }, scoped, drift) => {
      const conditional = list.map((rule, at) => ({ ...rule, when: when[at] }));
      const policy = core.compilePolicy({ id: 'p', name: 'p', version: 1, rules: conditional });
      const call = { serverName: 'a', toolName, ...(relayed ? { relayed } : {}) };
      const scope = scoped === null ? null : new Set(scoped.map(each => `a__${each}`));
      const { decision } = core.decide(policy, call, { scope, drift, situation });
      const considered = core.considered(policy, call, { scope, situation });
      expect(asksForApproval(considered, { drift, usedUp: false })).toBe(decision === 'pending');
      if (relayed) return;
      if (decision !== 'deny') expect(couldPass(policy, call, scope)).toBe(true);
      if (drift === null && when.every(each => each === undefined))
        expect(couldPass(policy, call, scope)).toBe(decision !== 'deny');
    }),
    { numRuns: RUNS / 2, seed: 5 },
  );
});

test('the same call again is denied if a person denied it, waits if it waits, and needs no further approval', () => {
  const list: Rule[] = [
    { tool: 'ask', action: 'require_approval' },
    { tool: 'no', action: 'deny' },
    { tool: 'yes', action: 'allow' },
  ];
  const policy = core.compilePolicy({ id: 'p', name: 'prod', version: 1, rules: list });
  const call = (toolName: string) => ({ serverName: 's', toolName });
  const [denied, open] = [
    { referenceId: 'ref-1', denied: true },
    { referenceId: 'ref-1', denied: false },
  ];
  const approvalLimit = { of: 'key', open: 1 } as const;
  const full = { ...FACTS, approvalLimit };
  expect(core.decide(policy, call('ask'), { ...full, repeats: denied })).toMatchObject({
    decision: 'deny',
    code: { code: 'asks', answer: { is: 'denied' } },
    ruleIndex: 0,
    freedBy: null,
    repeats: denied,
  });
  expect(core.decide(policy, call('ask'), { ...full, repeats: open })).toMatchObject({
    decision: 'pending',
    repeats: open,
  });
  expect(core.decide(policy, call('ask'), full)).toMatchObject({ decision: 'deny', repeats: null });
  const freedom = { kind: 'grant', referenceId: 'ref-2' } as const;
  expect(core.decide(policy, call('ask'), { ...FACTS, freedom, repeats: denied })).toMatchObject({
    decision: 'allow',
    repeats: null,
  });
  for (const name of ['no', 'yes'])
    expect(core.decide(policy, call(name), { ...FACTS, repeats: denied })).toEqual(
      core.decide(policy, call(name), FACTS),
    );
});

test('the person at the terminal decides only what would wait, and the reason ends with that', () => {
  const list: Rule[] = [
    { tool: 'ask', action: 'allow', when: 'false' },
    { tool: 'ask', action: 'require_approval', reason: 'Money moves.' },
    { tool: 'yes', action: 'allow' },
  ];
  const policy = core.compilePolicy({ id: 'p', name: 'prod', version: 1, rules: list });
  const call = (toolName: string) => ({ serverName: 's', toolName });
  const there = { ...FACTS, handedTo: 'terminal' } as const;
  const waits = core.decide(policy, call('ask'), FACTS);
  expect(waits.reason).toEndWith('Rule 0 did not apply: condition 0 is false.');
  const open = { referenceId: 'ref-1', denied: false };
  for (const repeats of [null, open])
    expect(core.decide(policy, call('ask'), { ...there, repeats })).toMatchObject({
      decision: 'pending',
      reason: `${waits.reason} The person at the terminal decides.`,
      repeats: null,
    });
  const denied = { referenceId: 'ref-1', denied: true };
  const freedom = { kind: 'approval', referenceId: 'ref-1' } as const;
  for (const about of [{ repeats: denied }, { freedom }])
    expect(core.decide(policy, call('ask'), { ...there, ...about })).toEqual(
      core.decide(policy, call('ask'), { ...FACTS, ...about }),
    );
  for (const name of ['no', 'yes'])
    expect(core.decide(policy, call(name), there)).toEqual(core.decide(policy, call(name), FACTS));
});
