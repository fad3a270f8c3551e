// known(): which values it takes, whom it asks about them, and what a list of them comes to.

import { describe, expect, test } from 'bun:test';
import {
  ConditionFault,
  compileCondition,
  Failure,
  KNOWN,
  type Knows,
  Steps,
  types,
} from '../../../src/core/condition/condition.ts';
import { parseJson } from '../../../src/core/wire/json.ts';

const DECLARATIONS = { args: types.mapOf(types.STRING, types.DYN) };
const compile = (source: string) => compileCondition(source, DECLARATIONS, 'bool');

/** What a condition comes to, and what was asked for it. `bob` and 7 are known, and `later` fails. */
function run(source: string, args = '{}', steps = new Steps()) {
  const asked: string[] = [];
  const knows: Knows = (kind, written) => {
    asked.push(`${kind} ${written}`);
    if (written === 'later') return new Failure('Later.');
    return written === 'bob' || (kind === 'number' && written === '7');
  };
  const result = compile(source).evaluate({ args: parseJson(args), [KNOWN]: knows }, steps);
  return { asked, result: result instanceof Failure ? result.why : result };
}

const UNFIT = 'known() takes texts of 2 to 512 characters, numbers, and lists of those.';
const NO_UNICODE = 'A text is not valid Unicode.';

describe('what it comes to', () => {
  test.each<[string, string, string | boolean]>([
    ['known(args.x)', '{"x": "bob"}', true],
    ['known(args.x)', '{"x": "eve"}', false],
    ['!known(args.x)', '{"x": "eve"}', true],
    ['known(args.x)', '{"x": 7.0}', true],
    ['known(args.x)', '{"x": "7x"}', false],
    ['known(args.x)', '{"x": []}', true],
    ['known(args.x)', '{"x": ["bob", 7]}', true],
    ['known(args.x)', '{"x": ["bob", "eve", "bob"]}', false],
    ['known(args.x)', '{"x": ["bob", null]}', UNFIT],
    ['known(args.x)', '{"x": [null, "eve"]}', false],
    ['known(args.x)', '{"x": ["eve", null]}', false],
    ['known(args.x)', '{"x": ["bob", "later"]}', 'Later.'],
    ['known(args.x)', '{"x": ["later", "eve"]}', false],
    ['known(args.x)', '{"x": null}', UNFIT],
    ['known(args.x)', '{"x": true}', UNFIT],
    ['known(args.x)', '{"x": {"bob": 7}}', UNFIT],
    ['known(args.x)', '{"x": [["bob"]]}', UNFIT],
    ['known(args.x)', '{"x": ""}', UNFIT],
    ['known(args.x)', '{"x": "b"}', UNFIT],
    ['known(args.x)', '{"x": "😀"}', UNFIT],
    ['known(args.x)', '{"x": "😀😀"}', false],
    ['known(args.x)', `{"x": "${'😀'.repeat(512)}"}`, false],
    ['known(args.x)', `{"x": "${'b'.repeat(512)}"}`, false],
    ['known(args.x)', `{"x": "${'b'.repeat(513)}"}`, UNFIT],
    ['known(args.x)', `{"x": "${'😀'.repeat(513)}"}`, UNFIT],
    ['known(args.x)', '{"x": "bob\\ud83d"}', NO_UNICODE],
    ['known(args.x)', '{}', 'It reads a field or a key that is absent.'],
    ['known(args.x)', '{"x": 99999999999999999999}', 'A whole number is beyond 64 bits.'],
    ['known(args.x / 0.0)', '{"x": 0.5}', UNFIT],
  ])('%s with %s', (source, args, wanted) => {
    expect(run(source, args).result).toBe(wanted);
  });
});

test('numbers are asked for by the digits that were written', () => {
  const { asked } = run(
    'known(args.x)',
    '{"x": [98.70, 5, 9007199254740993, 0.1000000000000000000001, 1e-7]}',
  );
  expect(asked).toEqual([
    'number 98.7',
    'number 5',
    'number 9007199254740993',
    'number 0.1000000000000000000001',
    'number 1e-7',
  ]);
});

test('every value of a list is asked for, also after one that is not known or that fails', () => {
  const { asked } = run('known(args.x)', '{"x": ["eve", "later", null, "bob"]}');
  expect(asked).toEqual(['text eve', 'text later', 'text bob']);
});

test('without anybody to ask, nothing is known; a failure in that place is the result', () => {
  const without = (source: string, scope: object) =>
    compile(source).evaluate({ args: {}, ...scope }, new Steps());
  expect(without('known("bob")', {})).toBe(false);
  expect(without('known(["bob"])', {})).toBe(false);
  expect(without('known([])', {})).toBe(true);
  const failure = new Failure('Not any more.');
  expect(without('known("bob")', { [KNOWN]: failure })).toBe(failure);
  expect(without('known([])', { [KNOWN]: failure })).toBe(true);
});

test('an argument cannot answer in the place of the run', () => {
  expect(run('known(args.x)', `{"x": "eve", "${KNOWN}": true}`).result).toBe(false);
});

describe('what it costs', () => {
  const TOO_MUCH = 'It needs more steps than a check may use.';

  test('a long list needs more steps than a check has, and no more of it is asked for', () => {
    const { asked, result } = run('known(args.x)', JSON.stringify({ x: new Array(100_000).fill('bob') }));
    expect(result).toBe(TOO_MUCH);
    expect(asked.length).toBeLessThan(5_000);
  });

  test('the steps do not run out in vain for a text that is too long anyway', () => {
    const steps = new Steps();
    expect(run('known(args.x)', JSON.stringify({ x: 'b'.repeat(1_000_000) }), steps).result).toBe(UNFIT);
    expect(steps.taken).toBeLessThan(10);
  });

  test('long texts cost more', () => {
    const steps = new Steps();
    run('known(args.x)', JSON.stringify({ x: 'b'.repeat(512) }), steps);
    expect(steps.taken).toBeGreaterThan(16);
  });
});

describe('what is known of the condition', () => {
  test('which functions it calls', () => {
    expect([...compile('known(args.to) && args.to.matches("a")').calls].sort()).toEqual(['known', 'matches']);
    expect([...compile('args.known == "known(x)"').calls]).toEqual([]);
  });

  test('it is never constant, because it depends on the run', () => {
    expect(compile('known("bob")').constant).toBeNull();
    expect(compile('1 == 1').constant).toBe(true);
  });

  test.each([
    'known(true)',
    'known(null)',
    'known({"a": 1})',
    'known([true])',
    'known([["a"]])',
    'known()',
    'known("a", "b")',
    '"bob".known()',
  ])('%s is refused when it is saved', source => {
    expect(() => compile(source)).toThrow(ConditionFault);
  });
});

test.each([
  'args.x.all(v, known(v))',
  'args.x.exists(v, known(v) == false)',
  'args.x.exists_one(v, known(v))',
  'args.x.filter(v, known(v)) == []',
  'args.x.map(v, known(v)) == []',
  'args.x.map(v, known(v), v) == []',
])('one evaluation of %s asks for every element, although each fails', source => {
  const asked: string[] = [];
  const knows: Knows = (_, written) => {
    asked.push(written);
    return new Failure('Later.');
  };
  const scope = { args: { x: ['ann', 'bob', 'cy'] }, [KNOWN]: knows };
  const result = compile(source).evaluate(scope, new Steps());
  expect([asked, result instanceof Failure && result.why]).toEqual([['ann', 'bob', 'cy'], 'Later.']);
});
