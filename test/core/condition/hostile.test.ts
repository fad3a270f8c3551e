// Arguments made to fool conditions or to keep them busy.

import { describe, expect, test } from 'bun:test';
import { compileCondition, Failure, Steps, types } from '../../../src/core/condition/condition.ts';
import { parseJson } from '../../../src/core/wire/json.ts';
import { parseStrictly } from '../../../src/core/wire/json-parser.ts';

const DECLARATIONS = { args: types.mapOf(types.STRING, types.DYN) };

function run(source: string, args: unknown, steps = new Steps()): unknown {
  const result = compileCondition(source, DECLARATIONS, 'bool').evaluate({ args }, steps);
  return result instanceof Failure ? result.why : result;
}

const ABSENT = 'It reads a field or a key that is absent.';
const WRONG_TYPE = 'A value has a type that the operation does not take.';
const TOO_MUCH = 'It needs more steps than a check may use.';

describe('forged arguments', () => {
  // Both parsers: the runtime's, whose objects have a prototype, and ours, whose objects have none.
  const parsers: [string, (text: string) => unknown][] = [
    ['ordinary objects', text => JSON.parse(text)],
    ['objects without a prototype', parseStrictly],
  ];
  describe.each(parsers)('%s', (_, parse) => {
    test.each<[string, string, unknown]>([
      ['args.x == "x"', '{"x": {"$typeName": "google.protobuf.StringValue", "value": "x"}}', false],
      ['args.x.value == "x" && type(args.x) == map', '{"x": {"$typeName": "a.B", "value": "x"}}', true],
      ['args.x > 5', '{"x": {"$typeName": "google.protobuf.Int64Value", "value": 6}}', WRONG_TYPE],
      ['args.constructor == 1', '{"constructor": 1}', true],
      ['has(args.constructor)', '{}', false],
      ['args.constructor == 1', '{}', ABSENT],
      ['args["toString"] == null', '{}', ABSENT],
      ['"toString" in args', '{}', false],
      ['"__proto__" in args', '{}', false],
      ['args.__proto__.admin', '{"__proto__": {"admin": true}}', true],
      ['has(args.admin)', '{"__proto__": {"admin": true}}', false],
      ['args.x.admin', '{"x": {"__proto__": {"admin": true}}}', ABSENT],
      ['args.x.exists(k, k == "__proto__")', '{"x": {"__proto__": 1}}', true],
      ['args.x == args.y', '{"x": {"__proto__": 1}, "y": {"__proto__": 2}}', false],
      ['args.x == args.y', '{"x": {"hasOwnProperty": 1}, "y": {"hasOwnProperty": 1.0}}', true],
      ['args.x.length == 1', '{"x": [1]}', WRONG_TYPE],
      ['args.x.length == 1', '{"x": "a"}', WRONG_TYPE],
      ['args.x[0] == "a"', '{"x": "a"}', WRONG_TYPE],
      ['args.x["0"] == "a"', '{"x": ["a"]}', WRONG_TYPE],
      ['args.x[-1] == 1', '{"x": [1]}', 'An index is out of range.'],
      ['args.x[0.5] == 1', '{"x": [1]}', WRONG_TYPE],
      ['args.x == 1 && args.y == args.x', '{"x": true, "y": "1"}', false],
      ['args.x == "1" || args.x == true', '{"x": 1}', false],
      ['args.x', '{"x": "true"}', 'Its result is neither true nor false.'],
      [
        'args.x.value == 1 && args.x.why == "" && args.x.name == ""',
        '{"x": {"value": 1, "why": "", "name": ""}}',
        true,
      ],
      ['args.x.text == "5" && args.x != 5', '{"x": {"text": "5"}}', true],
      ['args.x.size() == 1 && args.x.get == 1', '{"x": {"get": 1}}', true],
      ['args.x < true', '{"x": 0}', WRONG_TYPE],
      ['args.x.contains("a")', '{"x": ["a"]}', WRONG_TYPE],
      ['args.x.contains(args.y)', '{"x": "\\ud83d\\ude00", "y": "\\ud83d"}', 'A text is not valid Unicode.'],
    ])('%s with %s', (source, args, wanted) => {
      expect(run(source, parse(args))).toBe(wanted);
    });
  });
});

describe('numbers', () => {
  const OVERFLOW = 'A whole number is beyond 64 bits.';
  test.each<[string, string, unknown]>([
    ['args.x <= 50', `1${'0'.repeat(100_000)}`, OVERFLOW],
    ['args.x <= 50', '1e999999999', OVERFLOW],
    ['args.x <= 50', '-1e999999999999999999999999', OVERFLOW],
    ['args.x <= 50', '1e-999999999', true],
    ['args.x <= 50', `${'9'.repeat(400)}.5`, 'A number is too large.'],
    ['args.x == 9223372036854775807', '9223372036854775807', true],
    ['args.x == 9223372036854775807', '9223372036854775808', OVERFLOW],
    ['args.x == -9223372036854775807 - 1', '-9223372036854775808', true],
    ['args.x < 0', '-9223372036854775809', OVERFLOW],
    ['args.x > 9007199254740992', '9007199254740993', true],
    ['args.x == 9007199254740992.0', '9007199254740993', false],
    ['args.x == 9007199254740992.0', '9007199254740992', true],
    ['args.x in [1.0, 2.0] && args.x in {1: true}', '1', true],
    ['args.x == 0 && args.x == -0.0 && string(args.x) == "0" && 1.0 / double(args.x) > 0.0', '-0', true],
    ['type(args.x) == int && args.x == 100', '1.00e2', true],
    ['type(args.x) == double', '1.0000000000000000000000001', true],
    ['args.x * args.x > 0', '4294967296', OVERFLOW],
    ['args.x * args.x == 9223372030926249001', '3037000499', true],
    ['-args.x < 0', '-9223372036854775808', OVERFLOW],
    ['args.x / -1 > 0', '-9223372036854775808', OVERFLOW],
    ['args.x % -1 == 0', '-9223372036854775808', true],
    ['[args.x] == [1]', '1e30', OVERFLOW],
    ['args.x == "a" || true', '1e30', true],
  ])('%s with %s', (source, number, wanted) => {
    expect(run(source, parseJson(`{"x": ${number}}`))).toBe(wanted);
  });
});

describe('arguments that would take long', () => {
  const MEGABYTE = 1 << 20;
  const keys = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]));
  const ARGS = {
    text: 'a'.repeat(MEGABYTE),
    needle: `${'a'.repeat(MEGABYTE / 2)}b`,
    commas: ','.repeat(MEGABYTE),
    pairs: 'ab'.repeat(2_040),
    fewer: ','.repeat(60_000),
    short: 'a'.repeat(200),
    list: Array.from({ length: 100_000 }, (_, at) => at),
    some: Array.from({ length: 4_000 }, (_, at) => at),
    texts: new Array(100_000).fill('abc'),
    keys,
    same: { ...keys },
    number: parseJson(`${'9'.repeat(300)}.${'5'.repeat(100_000)}`),
    command: `ls ${'a '.repeat(30_000)}`,
  };
  test.each([
    'args.list.all(x, args.list.all(y, x + y >= 0))',
    'args.list.exists(x, x == -1) || true',
    'true || args.list.all(x, true)',
    'args.list.map(x, [x, x]).size() > 0',
    '-1 in args.list',
    'args.list == args.list',
    'args.keys == args.same',
    'args.keys.all(k, args.keys.all(j, true))',
    'args.some.map(x, args.list + args.list).size() > 0',
    'args.text.contains(args.needle)',
    'args.text.indexOf(args.needle) >= 0',
    'args.some.all(x, args.text.size() > 0)',
    'args.some.all(x, args.text + "x" != "")',
    'args.some.all(x, args.text == args.needle + "c" || args.text < args.needle)',
    'args.some.all(x, args.text <= args.text)',
    'args.text.split("").size() > 0',
    'args.commas.split(",").size() > 0',
    'args.commas.replace(",", args.text).size() > 0',
    'args.commas.replace("", args.text).size() > 0',
    'args.fewer.replace(",", args.short) != ""',
    'args.fewer.split(",").join(args.short) != ""',
    'args.texts.join(args.text).size() > 0',
    'args.some.all(x, args.text.lowerAscii() != "")',
    'args.some.all(x, args.pairs.matches("^(a|b)+c$") == false)',
    'args.some.all(x, args.pairs.matches("(.*a){20}.*(.*b){20}[^ab]$") == false)',
    'args.some.all(x, shell.commands(args.command).size() == 1)',
    'args.some.all(x, {args.text: x}.size() == 1)',
    'args.some.all(x, args.some.all(y, args.number > 1.0 || true))',
  ])('%s', source => {
    const steps = new Steps();
    const result = run(source, ARGS, steps);
    // Where nothing has to be evaluated, nothing is paid.
    if (source.startsWith('true ||')) expect([result, steps.left]).toEqual([true, 4_999]);
    else expect([result, steps.left < 0]).toEqual([TOO_MUCH, true]);
  });

  // A policy may have 2,000 conditions: they took seconds of one check when each cost a single step.
  test.each([
    ['terms', Array.from({ length: 170 }, (_, at) => `args.short == "${at}"`).join(' || ')],
    ['letters outside ASCII', new Array(110).fill('args.mixed.lowerAscii() == "a"').join(' || ')],
  ])('many long conditions: %s', (_, source) => {
    const condition = compileCondition(source, DECLARATIONS, 'bool');
    const steps = new Steps();
    let evaluated = 0;
    while (condition.evaluate({ args: { ...ARGS, mixed: `é${'aA'.repeat(30)}` } }, steps) === false)
      evaluated++;
    expect(evaluated).toBeGreaterThan(5);
    expect(evaluated).toBeLessThan(200);
  });

  test('the end of a text is paid for where a pattern asks for it', () => {
    const source = 'args.empty.all(x, !x.matches("(?:^a?){0,150}q"))';
    const spent = [1, 100].map(length => {
      const steps = new Steps();
      expect(run(source, { empty: new Array(length).fill('') }, steps)).toBe(true);
      return 4_999 - steps.left - length;
    });
    // Once in a check, as every other step of a pattern.
    expect(spent[0]).toBeGreaterThan(9);
    expect(spent[1]).toBe(spent[0]!);
  });

  test('a text of more than 4 KiB is not matched', () => {
    const why = 'A text given to matches() is longer than 4 KiB.';
    expect(run('args.x.matches("^a*$")', { x: 'a'.repeat(4_096) })).toBe(true);
    expect(run('args.x.matches("^a*$")', { x: 'a'.repeat(4_097) })).toBe(why);
    expect(run('args.x.matches("^é*$")', { x: 'é'.repeat(2_048) })).toBe(true);
    expect(run('args.x.matches("^é*$")', { x: 'é'.repeat(2_049) })).toBe(why);
    expect(run('args.x.matches("^.*$")', { x: '😀'.repeat(1_024) })).toBe(true);
    expect(run('args.x.matches("^.*$")', { x: '😀'.repeat(1_025) })).toBe(why);
  });

  test('the conditions of one check share their steps, and all fail once there are none', () => {
    const steps = new Steps();
    expect(run('args.some.all(x, x >= 0)', ARGS, steps)).toBe(true);
    expect(steps.left).toBe(999);
    expect(run('args.some.all(x, x >= 0)', ARGS, steps)).toBe(TOO_MUCH);
    expect(run('true', ARGS, steps)).toBe(TOO_MUCH);
  });

  test('what a pattern costs does not depend on earlier checks', () => {
    const condition = compileCondition('args.x.matches("(a|b)*a(a|b){8}$")', DECLARATIONS, 'bool');
    const costs = [1, 2, 3].map(() => {
      const steps = new Steps();
      condition.evaluate({ args: { x: 'abbabaab'.repeat(60) } }, steps);
      return steps.left;
    });
    expect(new Set(costs).size).toBe(1);
  });
});
