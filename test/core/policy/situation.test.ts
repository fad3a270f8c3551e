// A condition that is evaluated without the variables that nobody knows any more: true and false mean that it is so for
// every value of them, and a failure means that it depends on them. It is compared with an enumeration of the values.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ConditionFault, Steps } from '../../../src/core/condition/condition.ts';
import { compileWhen } from '../../../src/core/policy/compiled-policy.ts';
import { scopeOf, scopeOfRecollection } from '../../../src/core/policy/situation.ts';
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
];
const { bool } = expressions;
const atom = fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...ATOMS) }, { weight: 1, arbitrary: bool });
const conditions = fc
  .tuple(atom, fc.constantFrom('&&', '||', '==', '?'), atom, atom)
  .map(([a, operator, b, c]) =>
    operator === '?' ? `(${a}) ? (${b}) : (${c})` : `(${a}) ${operator} (${b})`,
  );

const SESSIONS = [null, { id: 'x', label: 'run' }, { id: 'y', label: '' }];
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
          session: SESSIONS[at % 3] ?? null,
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
