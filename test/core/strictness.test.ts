// A condition that could not be evaluated counts as whichever outcome is stricter. All small policies are compared with
// a slow oracle: it decides every way in which the failed conditions could have turned out, and takes the strictest.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Decision } from '../../src/core/decision/decide.ts';
import { ACTIONS, type Limits, type Rule } from '../../src/core/policy/policy.ts';
import type { JsonObject } from '../../src/core/wire/json.ts';
import { figures, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import { whenChanged } from '../support/when-changed.ts';
import { type Decider, deciderIn } from './decider.ts';

/** Null: it fails. */
type Truth = boolean | null;
const TRUTHS: readonly Truth[] = [true, false, null];

/** A rule that matches the call or does not, with so many conditions. */
interface Shape {
  action: Rule['action'];
  matches: boolean;
  conditions: number;
}

const shapesWith = (...conditions: number[]): Shape[] =>
  ACTIONS.flatMap(action => [
    { action, matches: false, conditions: 0 },
    ...conditions.map(count => ({ action, matches: true, conditions: count })),
  ]);

const FEW = shapesWith(0, 1);
const MANY = shapesWith(0, 1, 2);

/** Every list of that length. */
function listsOf<T>(items: readonly T[], length: number): T[][] {
  if (length === 0) return [[]];
  return listsOf(items, length - 1).flatMap(list => items.map(item => [...list, item]));
}

/** The rule at an index reads its conditions from arguments of its own; what is absent fails. */
function ruleOf({ action, matches, conditions }: Shape, index: number): Rule {
  const when = Array.from({ length: conditions }, (_, at) => `args.c${index}_${at}`);
  return { tool: matches ? 's__t' : 's__other', action, ...(conditions === 0 ? {} : { when }) };
}

function argsOf(truths: readonly (readonly Truth[])[]): JsonObject {
  const entries = truths.flatMap((of, index) => of.map((truth, at) => [`c${index}_${at}`, truth] as const));
  return Object.fromEntries(entries.filter(([, truth]) => truth !== null));
}

const OUTCOME = { allow: 'allow', deny: 'deny', require_approval: 'pending' } as const;
const STRICTNESS: readonly Decision[] = ['allow', 'pending', 'deny'];

/** Cuts a flat list of truths into those of each rule. */
function dealt(shapes: readonly Shape[], truths: readonly Truth[]): Truth[][] {
  let left = truths;
  return shapes.map(({ conditions }) => {
    const own = left.slice(0, conditions);
    left = left.slice(conditions);
    return own;
  });
}

function strictest(shapes: readonly Shape[], truths: readonly Truth[]): Decision {
  const failed = truths.indexOf(null);
  if (failed >= 0) {
    const ways = [true, false].map(way => strictest(shapes, truths.with(failed, way)));
    return STRICTNESS[Math.max(...ways.map(way => STRICTNESS.indexOf(way)))] as Decision;
  }
  const held = dealt(shapes, truths);
  const first = shapes.find(({ matches }, index) => matches && held[index]?.every(truth => truth));
  return first === undefined ? 'deny' : OUTCOME[first.action];
}

interface Found {
  operations: number;
  violations: number;
  first: string;
}

/** Compares all policies of so many rules; `most` ends it after so many differences. */
function compareAll(decider: Decider, shapes: readonly Shape[], rules: number, most: number): Found {
  const found: Found = { operations: 0, violations: 0, first: '' };
  for (const policy of listsOf(shapes, rules)) {
    const compiled = decider.compilePolicy({ id: 'p', name: 'p', version: 1, rules: policy.map(ruleOf) });
    const count = policy.reduce((sum, shape) => sum + shape.conditions, 0);
    for (const truths of listsOf(TRUTHS, count)) {
      const args = argsOf(dealt(policy, truths));
      const call = { serverName: 's', toolName: 't' };
      const got = decider.decide(compiled, call, { situation: { args } }).decision;
      const want = strictest(policy, truths);
      found.operations++;
      if (got === want) continue;
      found.violations++;
      found.first ||= `${JSON.stringify([policy, truths])}: ${got}, not ${want}`;
      if (found.violations >= most) return found;
    }
  }
  return found;
}

function compareSmall(decider: Decider, most = Number.POSITIVE_INFINITY): Found {
  const runs: [readonly Shape[], number][] = [
    [MANY, 0],
    [MANY, 1],
    [MANY, 2],
    [MANY, 3],
    [LONG ? MANY : FEW, 4],
  ];
  const found: Found = { operations: 0, violations: 0, first: '' };
  for (const [shapes, rules] of runs) {
    const { operations, violations, first } = compareAll(decider, shapes, rules, most);
    found.operations += operations;
    found.violations += violations;
    found.first ||= first;
    if (found.violations >= most) break;
  }
  return found;
}

test('the decision is the strictest that failed conditions leave open', async () => {
  const { first, ...found } = compareSmall(await deciderIn());
  figures('P14 strictness', found);
  expect(first).toBe('');
  expect(found.operations).toBeGreaterThan(100_000);
});

/** Conditions that turn out differently for some arguments, and some that do not depend on them. */
const CONDITIONS = [
  'args.a == 1',
  'has(args.a)',
  '!has(args.a)',
  'has(args.a) && args.a > 1',
  'size(args) == 0',
  '"b" in args',
  'args.all(name, name != "b")',
  'args.exists(name, name == "b")',
  'args == {}',
  'tool.server == "s" || has(args.b)',
  'tool.server == "other" && has(args.b)',
  'has(args.b) ? true : true',
];

const unseenRule = fc
  .record({
    action: fc.constantFrom(...ACTIONS),
    when: fc.array(fc.constantFrom(...CONDITIONS), { maxLength: 2 }),
    limit: fc.constantFrom(undefined, 'calls', 'sum'),
  })
  .map(
    ({ action, when, limit }): Rule => ({
      tool: 's__t',
      action,
      ...(when.length > 0 && { when }),
      ...(limit !== undefined && action === 'allow' && { limit }),
    }),
  );
const UNSEEN_LIMITS: Limits = {
  calls: { calls: 3, each: 'day' },
  sum: { sum: 'args.a', atMost: 5, each: 'day' },
};
const ARGS: (JsonObject | undefined)[] = [undefined, {}, { a: 1 }, { a: 2 }, { b: 1 }, { a: 2, b: null }];
const SEED = 17;

/** The policies for which a call is allowed without its arguments, although it is not with some of them. */
function laxUnseen(decider: Decider, runs: number): string[] {
  const lax: string[] = [];
  for (const rules of fc.sample(fc.array(unseenRule, { maxLength: 4 }), { numRuns: runs, seed: SEED })) {
    const policy = decider.compilePolicy({ id: 'p', name: 'p', version: 1, rules, limits: UNSEEN_LIMITS });
    for (const usedUp of [false, true]) {
      const call = { serverName: 's', toolName: 't' };
      const facts = { usedUp, freedom: { kind: 'grant', referenceId: 'ref' } } as const;
      const unseen = decider.decide(policy, { ...call, unseen: true }, facts);
      if (unseen.decision === 'pending') lax.push(`pending: ${JSON.stringify(rules)}`);
      if (unseen.decision !== 'allow') continue;
      for (const args of ARGS) {
        const seen = decider.decide(policy, call, { usedUp, situation: { args } });
        if (seen.decision !== 'allow') lax.push(JSON.stringify({ rules, args, usedUp }));
      }
    }
  }
  return lax;
}

test('a call whose arguments are not known is allowed only if it is with any arguments, and is never pending', async () => {
  const decider = await deciderIn();
  expect(laxUnseen(decider, LONG ? 100_000 : 3000).slice(0, 3), `seed ${SEED}`).toEqual([]);
  const says = (rules: Rule[]) => {
    const policy = decider.compilePolicy({ id: 'p', name: 'p', version: 1, rules, limits: UNSEEN_LIMITS });
    const { decision, reason } = decider.decide(policy, { serverName: 's', toolName: 't', unseen: true });
    return [decision, reason];
  };
  const rule = { tool: 's__t' };
  expect(says([{ ...rule, action: 'allow' }])).toEqual(['allow', 'Rule 0 of policy "p" allows s__t.']);
  expect(says([{ ...rule, action: 'deny', when: 'has(args.a)' }])).toEqual([
    'deny',
    'Rule 0 of policy "p" denies s__t: its condition 0 could not be evaluated.',
  ]);
  expect(says([{ ...rule, action: 'require_approval' }])).toEqual([
    'deny',
    'Rule 0 of policy "p" requires approval for s__t, but its arguments are not known here.',
  ]);
  expect(says([{ ...rule, action: 'allow', limit: 'sum' }])).toEqual([
    'deny',
    'Rule 0 of policy "p" may allow s__t within its limit "sum", but its arguments are not known here.',
  ]);
  expect(says([{ ...rule, action: 'allow', limit: 'calls' }])[0]).toBe('allow');
});

const UNSEEN_MUTANTS: Record<string, Patch> = {
  'takes unknown arguments for none': {
    file: 'src/core/policy/situation.ts',
    find: 'call.unseen ? undefined : (situation.args ?? {})',
    replace: 'situation.args ?? {}',
  },
  'passes over a limit that unknown arguments may use up': {
    file: 'src/core/decision/consider.ts',
    find: 'if (call.unseen && compiled?.limit',
    replace: 'if (!call.unseen && call.unseen && compiled?.limit',
  },
  'frees a call whose arguments nobody saw': {
    file: 'src/core/decision/decide.ts',
    find: 'call.unseen ? { ...given, ...UNSEEN_FACTS } : given',
    replace: 'given',
  },
};

for (const [what, patch] of Object.entries(UNSEEN_MUTANTS)) {
  whenChanged(patch)(`the comparison without arguments goes red on a decider that ${what}`, async () => {
    const lax = await withMutant([patch], async root => laxUnseen(await deciderIn(root), 1000));
    expect(lax).not.toEqual([]);
  });
}

const MUTANTS: Record<string, Patch> = {
  'lets a deny with a failed condition pass': {
    file: 'src/core/decision/consider.ts',
    find: "deny: 'applies',",
    replace: "deny: 'passed over',",
  },
  'lets an allow with a failed condition apply': {
    file: 'src/core/decision/consider.ts',
    find: "allow: 'passed over',",
    replace: "allow: 'applies',",
  },
  'forgets an approval with a failed condition': {
    file: 'src/core/decision/consider.ts',
    find: "require_approval: 'holds',",
    replace: "require_approval: 'passed over',",
  },
  'takes a failed condition for a true one': {
    file: 'src/core/decision/consider.ts',
    find: 'if (result === true) continue;',
    replace: 'if (result !== false) continue;',
  },
  'takes a failed condition for a false one': {
    file: 'src/core/decision/consider.ts',
    find: 'if (result === false) return',
    replace: 'if (result !== true) return',
  },
  'does not look for a false condition behind a failed one': {
    file: 'src/core/decision/consider.ts',
    find: 'failed ??= index;',
    replace: 'failed ??= index; break;',
  },
  'holds what the rules below deny': {
    file: 'src/core/decision/decide.ts',
    find: "if (held === null || found.decision === 'deny') return found;",
    replace: 'if (held === null) return found;',
  },
  'does not hold what the rules below allow': {
    file: 'src/core/decision/decide.ts',
    find: "if (held === null || found.decision === 'deny') return found;",
    replace: "if (held === null || found.decision !== 'pending') return found;",
  },
};

for (const [what, patch] of Object.entries(MUTANTS)) {
  whenChanged(patch)(`the comparison goes red on a decider that ${what}`, async () => {
    const found = await withMutant([patch], async root => compareSmall(await deciderIn(root), 1));
    expect(found.violations).toBe(1);
  });
}
