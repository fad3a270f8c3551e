// P14 and P15: the decider equals its specification, also for large policies; a broken decider is found by
// the very same comparison.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import * as core from '../../src/core/decide.ts';
import type { Rule } from '../../src/core/policy.ts';
import { mutant, type Patch } from '../support/mutant.ts';
import { compare, type Decider, oracleDecision, oracleFirst, seeded } from './oracle.ts';

const FACTS = { scope: null, freedom: null, approvalLimit: null };

test('the decider agrees with the naive one on random policies', () => {
  const { decisions, pairs, mismatches } = compare(core, 20, 4500, 40);
  console.log(`P14: ${decisions} decisions over ${pairs} pairs, ${mismatches.length} mismatches`);
  expect(mismatches).toEqual([]);
  expect(pairs).toBeGreaterThan(1_000_000);
});

const MUTANTS: Record<string, Patch | Patch[]> = {
  'forgets the bare name': {
    file: 'src/core/decide.ts',
    find: '(joinName(call.serverName, call.toolName), call.toolName)',
    replace: '(joinName(call.serverName, call.toolName), joinName(call.serverName, call.toolName))',
  },
  'forgets the full name': {
    file: 'src/core/decide.ts',
    find: '(joinName(call.serverName, call.toolName), call.toolName)',
    replace: '(call.toolName, call.toolName)',
  },
  'lets the last exact rule win': {
    file: 'src/core/policy.ts',
    find: 'if (!map.has(text)) map.set(text, index);',
    replace: 'map.set(text, index);',
  },
  'takes the longest prefix instead of the first rule': {
    file: 'src/core/policy.ts',
    find: 'if (index !== undefined && index < best) best = index;',
    replace: 'if (index !== undefined) best = index;',
  },
  'prefers looked-up rules to scanned ones': {
    file: 'src/core/policy.ts',
    find: 'if (index >= best) break;',
    replace: 'if (best !== NONE) break;',
  },
  'remembers a tool by its bare name': [
    {
      file: 'src/core/policy.ts',
      find: 'this.#known.get(fullName)',
      replace: 'this.#known.get(bareName)',
    },
    {
      file: 'src/core/policy.ts',
      find: 'this.#known.set(fullName, found)',
      replace: 'this.#known.set(bareName, found)',
    },
  ],
  'lets head and tail share characters': {
    file: 'src/core/pattern.ts',
    find: 'if (at > end || !name.startsWith',
    replace: 'if (!name.startsWith',
  },
  'lets a piece reach into the tail': {
    file: 'src/core/pattern.ts',
    find: 'if (found < 0 || found + piece.length > end) return false;',
    replace: 'if (found < 0) return false;',
  },
  'looks for every piece from the start': {
    file: 'src/core/pattern.ts',
    find: 'name.indexOf(piece, at)',
    replace: 'name.indexOf(piece, pattern.head.length)',
  },
  'allows what no rule matches': {
    file: 'src/core/decide.ts',
    find: "    return outcome(\n      'deny',",
    replace: "    return outcome(\n      'allow',",
  },
};

for (const [what, patch] of Object.entries(MUTANTS)) {
  test(`the comparison goes red on a decider that ${what}`, async () => {
    const { root, remove } = mutant(...[patch].flat());
    try {
      const broken = (await import(join(root, 'src/core/decide.ts'))) as Decider;
      expect(compare(broken, 20, 300, 40).mismatches.length).toBeGreaterThan(0);
    } finally {
      remove();
    }
  });
}

const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '_', '*'), minLength: 1, maxLength: 6 });
const rule = fc.record({ tool: pattern, action: fc.constantFrom('allow', 'deny', 'require_approval') });
const rules = fc.array(rule as fc.Arbitrary<Rule>, { maxLength: 8 });
const name = fc.string({ unit: fc.constantFrom('a', 'b', '_'), minLength: 1, maxLength: 5 });

function decision(list: readonly Rule[], toolName: string): core.Decision {
  const policy = core.compilePolicy({ id: 'p', name: 'p', version: 1, rules: list });
  return core.decide(policy, { serverName: 'a', toolName }, FACTS).decision;
}

test('adding a deny anywhere never allows more', () => {
  fc.assert(
    fc.property(rules, pattern, fc.nat(), name, (list, tool, at, toolName) => {
      const stricter = list.toSpliced(at % (list.length + 1), 0, { tool, action: 'deny' });
      const [before, after] = [decision(list, toolName), decision(stricter, toolName)];
      if (before !== 'allow') expect(after).not.toBe('allow');
      if (before === 'deny') expect(after).toBe('deny');
    }),
    { numRuns: 20_000, seed: 3 },
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
    { numRuns: 5000, seed: 4 },
  );
});

/** One policy of 10,000 rules of every kind, none of which matches the calls that must run through all. */
function largePolicy(): Rule[] {
  const random = seeded(15);
  const kinds = [
    (i: number) => `server${random(50)}__tool_${i}`,
    (i: number) => `tool_${i}`,
    (i: number) => `server${random(50)}__pre${i}_*`,
    (i: number) => `*_suf${i}`,
    (i: number) => `*a*a*a*a*a*a*b${i}`,
    (i: number) => `a*${i}*z`,
  ];
  return Array.from({ length: 10_000 }, (_, i) => ({
    tool: (kinds[i % kinds.length] as (i: number) => string)(i),
    action: i % 3 === 0 ? 'allow' : i % 3 === 1 ? 'deny' : 'require_approval',
  }));
}

test('a policy of 10,000 rules decides like the naive one', () => {
  const list = largePolicy();
  const policy = core.compilePolicy({ id: 'p', name: 'large', version: 1, rules: list });
  const random = seeded(16);
  const shapes = [
    () => `tool_${random(10_000)}`,
    () => `pre${random(10_000)}_x`,
    () => `x_suf${random(10_000)}`,
    () => `${'a'.repeat(20)}b${random(10_000)}`,
    () => `a${random(10_000)}z`,
    () => 'a'.repeat(60),
  ];
  const times: number[] = [];
  for (let call = 0; call < 36; call++) {
    const toolName = (shapes[call % shapes.length] as () => string)();
    const serverName = `server${random(50)}`;
    const started = performance.now();
    const got = core.decide(policy, { serverName, toolName }, FACTS);
    times.push(performance.now() - started);
    expect(got).toMatchObject(oracleDecision(list, serverName, toolName));
  }
  times.sort((a, b) => a - b);
  console.log(
    `P15: 10,000 rules, p99 of a decision ${times[Math.floor(times.length * 0.99)]?.toFixed(3)} ms`,
  );
});

/** Steps that one decision takes: look-ups in an index, and patterns tried one by one. Counted, not timed. */
function stepsOf(decider: Decider, rules: number): number {
  const kinds = [(n: number) => `tool_${n}`, (n: number) => `p${n}_*`, (n: number) => `*_s${n}`];
  const list = Array.from({ length: rules }, (_, n): Rule => ({ tool: kinds[n % 3]!(n), action: 'deny' }));
  const policy = decider.compilePolicy({ id: 'p', name: 'p', version: 1, rules: list });
  const { get } = Map.prototype;
  const { startsWith } = String.prototype;
  let steps = 0;
  Map.prototype.get = function (key) {
    steps++;
    return get.call(this, key);
  };
  String.prototype.startsWith = function (...args) {
    steps++;
    return startsWith.apply(this, args);
  };
  try {
    decider.decide(policy, { serverName: 'files', toolName: 'nobody_knows_this_one' }, FACTS);
    return steps;
  } finally {
    Map.prototype.get = get;
    String.prototype.startsWith = startsWith;
  }
}

test('10,000 rules take hardly more steps than 10, unless nothing is indexed', async () => {
  const steps = { ten: stepsOf(core, 10), many: stepsOf(core, 10_000) };
  const unindexed: Patch = {
    file: 'src/core/policy.ts',
    find: 'if (!pattern.stars) setFirst(this.#exact, pattern.head, index);',
    replace: 'if (index >= 0) this.#rest.push({ pattern, index });',
  };
  const { root, remove } = mutant(unindexed);
  const broken: Decider = await import(join(root, 'src/core/decide.ts'));
  const mutantSteps = stepsOf(broken, 10_000);
  remove();
  console.log(
    `P15: steps of a decision: ${steps.ten} of 10 rules, ${steps.many} of 10,000, mutant ${mutantSteps}`,
  );
  expect(steps.many).toBeLessThan(steps.ten + 30);
  expect(mutantSteps).toBeGreaterThan(1000);
});

test('a grant or a spent approval frees a held call only, and the reason names it', () => {
  const list: Rule[] = [
    { tool: 'ask', action: 'require_approval', reason: 'Money moves.' },
    { tool: 'no', action: 'deny' },
  ];
  const policy = core.compilePolicy({ id: 'p', name: 'prod', version: 1, rules: list });
  for (const kind of ['grant', 'approval'] as const) {
    const facts = { ...FACTS, freedom: { kind, referenceId: 'ref-1' } };
    const freed = core.decide(policy, { serverName: 's', toolName: 'ask' }, facts);
    expect(freed).toMatchObject({ decision: 'allow', ruleIndex: 0, freedBy: facts.freedom });
    expect(freed.reason).toContain('ref-1');
    const denied = core.decide(policy, { serverName: 's', toolName: 'no' }, facts);
    expect(denied).toMatchObject({ decision: 'deny', ruleIndex: 1, freedBy: null });
    expect(core.decide(policy, { serverName: 's', toolName: 'other' }, facts).decision).toBe('deny');
    const outside = { ...facts, scope: new Set<string>() };
    expect(core.decide(policy, { serverName: 's', toolName: 'ask' }, outside).decision).toBe('deny');
  }
});

test('past the limit of open approvals a held call is denied with that reason', () => {
  const list: Rule[] = [{ tool: 'ask', action: 'require_approval' }];
  const policy = core.compilePolicy({ id: 'p', name: 'prod', version: 1, rules: list });
  const facts = { ...FACTS, approvalLimit: 'this key already has 100 open approvals' };
  const got = core.decide(policy, { serverName: 's', toolName: 'ask' }, facts);
  expect(got).toMatchObject({ decision: 'deny', ruleIndex: 0 });
  expect(got.reason).toContain('this key already has 100 open approvals');
  expect(oracleFirst(list, 's', 'ask')).toBe(0);
});
