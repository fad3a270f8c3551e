// A condition that is evaluated without the variables that nobody knows any more: true and false mean that it is so for
// every value of them, and a failure means that it depends on them. It is compared with an enumeration of the values.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ConditionFault, Failure, type Knows, Steps } from '../../../src/core/condition/condition.ts';
import { comparable, comparableNumber, formFor } from '../../../src/core/flows/words.ts';
import { compilePolicy, compileWhen } from '../../../src/core/policy/compiled-policy.ts';
import type { Limits, Rule } from '../../../src/core/policy/policy.ts';
import {
  type RunFacts,
  type Situation,
  scopeOf,
  scopeOfRecollection,
} from '../../../src/core/policy/situation.ts';
import type { JsonObject } from '../../../src/core/wire/json.ts';
import { parseJson } from '../../../src/core/wire/json.ts';
import { SEED } from '../../support/faults.ts';
import { argumentTexts, expressions } from '../condition/expressions.ts';
import { PLAIN } from '../decider.ts';

const CALL = { serverName: 's', toolName: 't' };
const RECALLED = { ...CALL, keyName: 'agent', inPersonsName: true };

const without = (source: string, inPersonsName = true) => {
  const result = compileWhen(source).evaluate(
    scopeOfRecollection({ ...RECALLED, inPersonsName }),
    new Steps(),
  );
  return typeof result === 'boolean' ? result : 'depends';
};

test('what only names decide is known, and what reads anything else depends', () => {
  expect(without('tool.name == "t" && tool.server == "s" && key.name == "agent"')).toBe(true);
  expect(without('key.name == "other" && args.amount > 5')).toBe(false);
  expect(without('args.amount > 5 && key.name == "other"')).toBe(false);
  expect(without('tool.name == "t" || args.amount > 5')).toBe(true);
  expect(without('tool.name == "t" ? key.name == "agent" : args.yes')).toBe(true);
  const unknown = [
    'has(args.x)',
    '!has(args.x)',
    'has(args.a.b)',
    'has(session.label)',
    'session.label == "x"',
    'has(person.email)',
    '"ops" in person.groups',
    'has(tool.annotations)',
    'has(tool.annotations.readOnlyHint)',
    'tool.annotations.readOnlyHint',
    'has(session.attributes)',
    'session.attributes.customer == "c_17"',
    '"untrusted" in marks',
    'marks == []',
    'marks.all(m, true)',
    'known("bob")',
    'known(tool.name + "ool")',
    'surface == "mcp"',
    'args == args',
    'size(args) >= 0',
    'type(args.x) == int',
    'args.list.all(x, true)',
    '[1, 2].exists_one(x, x == args.a)',
    '1 in [1, args.a]',
    'has(args.x) ? true : true',
    '{"a": args.b}.size() == 1',
  ];
  for (const source of unknown) expect([source, without(source)]).toEqual([source, 'depends']);
});

test('known() of nothing is true, whatever a run knows', () => {
  expect(without('known([])')).toBe(true);
  expect(without('known("bob") && tool.name == "other"')).toBe(false);
});

describe('what a call sees of its run and its session', () => {
  const seen = (source: string, situation: Partial<Situation>) => {
    const result = compileWhen(source).evaluate(scopeOf(CALL, { ...PLAIN, ...situation }), new Steps());
    return result instanceof Failure ? result.why : result;
  };
  const named = new Set([comparable('bob@example.com'), comparableNumber(98.7), comparableNumber(7)]);
  const run: RunFacts = { marks: ['untrusted'], knows: (kind, written) => named.has(formFor(kind, written)) };

  test('marks are a list, which is empty where there are none', () => {
    expect(seen('"untrusted" in marks && !("private" in marks)', { run })).toBe(true);
    expect(seen('marks == []', {})).toBe(true);
    expect(seen('marks == []', { run: { ...run, marks: [] } })).toBe(true);
  });

  test('known() compares as texts and numbers are compared', () => {
    expect(seen('known("Bob@Example.com")', { run })).toBe(true);
    expect(seen('known("bob@example.co")', { run })).toBe(false);
    expect(seen('known(args.a) && known([args.b, 7])', { run, args: parseJson('{"a":98.70,"b":7.0}') })).toBe(
      true,
    );
    expect(seen('known(98.71)', { run })).toBe(false);
    expect(seen('known("bob@example.com")', {})).toBe(false);
  });

  test('a string of more than eight words has no form in which it could be known', () => {
    const knows: Knows = (kind, written) => formFor(kind, written) !== null;
    expect(seen('known("a b c d e f g h")', { run: { marks: [], knows } })).toBe(true);
    expect(seen('known("a b c d e f g h i")', { run: { marks: [], knows } })).toBe(false);
  });

  test('what could not be looked up fails', () => {
    const why = 'It could not be looked up.';
    expect(seen('known("bob")', { run: { marks: [], knows: () => new Failure(why) } })).toBe(why);
  });

  test('attributes are there where the session has them', () => {
    const session = { id: 's', label: '', attributes: { customer: 'c_17', limits: { day: 5 } } };
    expect(
      seen('args.customer == session.attributes.customer', { session, args: { customer: 'c_17' } }),
    ).toBe(true);
    expect(seen('session.attributes.limits.day == 5', { session })).toBe(true);
    expect(seen('has(session.attributes.region)', { session })).toBe(false);
    const plain = { id: 's', label: '' };
    for (const without of [plain, null]) {
      expect(seen('has(session.attributes)', { session: without })).toBe(false);
      expect(seen('session.attributes.customer == "c_17"', { session: without })).toMatch(/absent/);
    }
  });
});

describe('what a policy uses of runs', () => {
  const uses = (rule: Partial<Rule>, limits: Limits = {}) => {
    const rules: Rule[] = [
      { tool: 'x', action: 'allow' },
      { tool: 'a', action: 'allow', ...rule },
    ];
    const { usesMarks, usesKnown } = compilePolicy({ id: 'p', name: 'p', version: 1, rules, limits });
    return { usesMarks, usesKnown };
  };

  test.each<[string, Partial<Rule>, boolean, boolean]>([
    ['nothing', {}, false, false],
    ['other conditions', { when: 'args.marks == "known(x)"' }, false, false],
    ['a rule that marks', { marks: 'untrusted' }, true, false],
    ['a rule that makes known', { known: 'results' }, false, true],
    ['a condition on marks', { when: ['true', '"a" in marks'] }, true, false],
    ['a condition on known values', { when: 'args.to.all(a, known(a))' }, false, true],
  ])('%s', (_, rule, usesMarks, usesKnown) => {
    expect(uses(rule)).toEqual({ usesMarks, usesKnown });
  });

  test('a limit that adds up by them', () => {
    const sum = (text: string): Limits => ({ l: { sum: text, atMost: 5, within: '1h' } });
    expect(uses({ limit: 'l' }, sum('size(marks)'))).toEqual({ usesMarks: true, usesKnown: false });
    expect(uses({ limit: 'l' }, sum('known(args.a) ? 0 : 1'))).toEqual({ usesMarks: false, usesKnown: true });
  });
});

test('a call in nobody’s name is known to have no person', () => {
  expect(without('has(person.email)', false)).toBe(false);
  expect(without('has(person.email) && person.email.endsWith("@example.com")', false)).toBe(false);
});

/** Conditions that read all unknown variables, beside those of the language’s own tests, which read arguments. */
const ATOMS = [
  'tool.name == "t"',
  'key.name == "other"',
  'tool.server == "other"',
  'has(session.label)',
  'session.label == "run"',
  'has(person.email)',
  'person.groups.exists(g, g == "ops")',
  'has(tool.annotations)',
  'tool.annotations.readOnlyHint == true',
  'surface == "mcp"',
  'has(args.a)',
  'args.a == 1',
  '"untrusted" in marks',
  'size(marks) == 0',
  'known("bob")',
  'known([])',
  'has(session.attributes)',
  'session.attributes.customer == "c"',
];
const { bool } = expressions;
const atom = fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...ATOMS) }, { weight: 1, arbitrary: bool });
const conditions = fc
  .tuple(atom, fc.constantFrom('&&', '||', '==', '?'), atom, atom)
  .map(([a, operator, b, c]) =>
    operator === '?' ? `(${a}) ? (${b}) : (${c})` : `(${a}) ${operator} (${b})`,
  );

const SESSIONS = [
  null,
  { id: 'x', label: 'run' },
  { id: 'y', label: '', attributes: { customer: 'c' } },
  { id: 'z', label: '', attributes: {} },
];
const RUNS: (RunFacts | undefined)[] = [
  undefined,
  { marks: ['untrusted'], knows: () => true },
  { marks: [], knows: () => false },
];
const PEOPLE = [null, { email: 'a@example.com', groups: ['ops'] }, { email: 'b@example.com', groups: [] }];
const ANNOTATIONS: (JsonObject | null)[] = [null, {}, { readOnlyHint: true }];

test('whatever is true or false without them is so for every value of the unknown variables', () => {
  const seen = { known: 0, ofUnknown: 0 };
  const about = fc.tuple(conditions, fc.array(argumentTexts, { minLength: 8, maxLength: 8 }));
  fc.assert(
    fc.property(about, ([source, texts]) => {
      const condition = compiled(source);
      if (condition === null) return;
      const known = condition.evaluate(scopeOfRecollection(RECALLED), new Steps());
      if (typeof known !== 'boolean') return;
      seen.known++;
      if (condition.reads.some(({ path: [variable] }) => variable === 'args')) seen.ofUnknown++;
      [undefined, ...texts.map(text => parseJson(text))].forEach((args, at) => {
        const situation = {
          ...PLAIN,
          args,
          session: SESSIONS[at % 4] ?? null,
          run: RUNS[at % 3],
          person: PEOPLE[Math.floor(at / 2) % 3] ?? null,
          annotations: ANNOTATIONS[Math.floor(at / 3) % 3] ?? null,
          surface: at % 2 === 0 ? ('check' as const) : ('mcp' as const),
        };
        expect([source, condition.evaluate(scopeOf(CALL, situation), new Steps())]).toEqual([source, known]);
      });
    }),
    { numRuns: 2500, seed: SEED },
  );
  // Otherwise the comparison says little.
  expect(seen.known).toBeGreaterThan(150);
  expect(seen.ofUnknown).toBeGreaterThan(20);
});

function compiled(source: string) {
  try {
    return compileWhen(source);
  } catch (error) {
    if (error instanceof ConditionFault) return null;
    throw error;
  }
}
