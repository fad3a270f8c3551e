// Conditions from outside: what is refused and where, what they read, what they come to, and what they fail with.

import { describe, expect, test } from 'bun:test';
import {
  type Condition,
  ConditionFault,
  compileCondition,
  type Declarations,
  decimalOf,
  Failure,
  Steps,
  types,
} from '../../../src/core/condition/condition.ts';
import { parseJson } from '../../../src/core/wire/json.ts';

const { DYN, STRING, listOf, mapOf, structOf } = types;

const DECLARATIONS: Declarations = {
  args: mapOf(STRING, DYN),
  tool: structOf({
    server: { type: STRING },
    name: { type: STRING },
    annotations: { type: mapOf(STRING, DYN), optional: true },
  }),
  session: structOf({ label: { type: STRING, optional: true } }),
  person: structOf({ groups: { type: listOf(STRING), optional: true } }),
  surface: STRING,
};

const bool = (source: string): Condition<boolean> => compileCondition(source, DECLARATIONS, 'bool');

/** What a condition comes to; a failure as its sentence. */
function outcome(source: string, args = '{}', rest: object = {}): unknown {
  const scope = {
    args: parseJson(args),
    tool: { server: 'stripe', name: 'refund' },
    session: {},
    person: {},
    ...rest,
  };
  const result = bool(source).evaluate({ surface: 'check', ...scope }, new Steps());
  return result instanceof Failure ? result.why : result;
}

function faultOf(source: string, wanted: 'bool' | 'number' = 'bool'): string {
  try {
    compileCondition(source, DECLARATIONS, wanted as 'bool');
  } catch (error) {
    if (error instanceof ConditionFault) return `${error.offset}: ${error.message}`;
    throw error;
  }
  return 'none';
}

describe('what a condition comes to', () => {
  const ABSENT = 'It reads a field or a key that is absent.';
  const WRONG_TYPE = 'A value has a type that the operation does not take.';
  test.each<[string, string, unknown]>([
    ['args.amount > 0 && args.amount <= 50', '{"amount": 50}', true],
    ['args.amount > 0 && args.amount <= 50', '{"amount": 50.01}', false],
    ['args.list[args.gone] == 1', '{"list": [1]}', ABSENT],
    ['args.amount > 0 && args.amount <= 50', '{"amount": "50"}', WRONG_TYPE],
    ['args.amount > 0 && args.amount <= 50', '{}', ABSENT],
    ['args.amount > 0 || true', '{}', true],
    ['args.amount > 0 && false', '{}', false],
    ['args.a.b.c == 1', '{"a": {"b": {"c": 1}}}', true],
    ['args["a-b"] == args["a"]["b"]', '{"a-b": 1.5, "a": {"b": 1.5}}', true],
    ['has(args.a) && !has(args.b)', '{"a": null}', true],
    ['has(args.a.b)', '{}', ABSENT],
    ['has(args.a.b)', '{"a": 1}', WRONG_TYPE],
    ['args.list[1] == 2 && args.list[2] == 3', '{"list": [1, 2]}', 'An index is out of range.'],
    ['args.a', '{"a": true}', true],
    ['args.a', '{"a": 1}', 'Its result is neither true nor false.'],
    ['args.a + 1 > 0', '{"a": 9223372036854775807}', 'A whole number is beyond 64 bits.'],
    ['args.a > 0', '{"a": 1e20}', 'A whole number is beyond 64 bits.'],
    ['args.a > 0', '{"a": 18446744073709551616}', 'A whole number is beyond 64 bits.'],
    ['args.a == 9223372036854775807', '{"a": 9223372036854775807}', true],
    ['args.a > 9007199254740992.0', '{"a": 9007199254740993}', true],
    [
      'type(args.a) == int && type(args.b) == int && type(args.c) == double',
      '{"a": 1.0, "b": 1e3, "c": 0.5}',
      true,
    ],
    ['1 / args.a == 0', '{"a": 0}', 'It divides by zero.'],
    ['args.to.all(a, email.domain(a) == "example.com")', '{"to": ["a@example.com", "b@example.com"]}', true],
    ['args.to.all(a, email.domain(a) == "example.com")', '{"to": ["a@example.com", "b@evil.com"]}', false],
    [
      'args.to.all(a, email.domain(a) == "example.com")',
      '{"to": ["a@example.com", "b"]}',
      'email.domain() does not understand what it was given.',
    ],
    ['has(args.path) && !path.within(args.path, "/srv/documents")', '{"path": "/srv/documents/../x"}', true],
    ['shell.commands(args.command).all(c, c.name in ["ls", "cat"])', '{"command": "ls -l | cat"}', true],
    ['shell.commands(args.command).exists(c, c.args.size() > 1)', '{"command": "ls -l | cat"}', false],
    ['url.host(args.u) == "example.com" && url.port(args.u) == 443', '{"u": "https://example.com/"}', true],
    ['tool.server == "stripe" && surface == "check"', '{}', true],
    ['has(session.label)', '{}', false],
    ['session.label == "x"', '{}', ABSENT],
    ['"admins" in person.groups', '{}', ABSENT],
    ['"😀".size() == 1 && "a😀b".substring(1, 2) == "😀" && "a😀b".indexOf("b") == 2', '{}', true],
    ['"\\uFF61" < "😀"', '{}', true],
    ['"\\U0010FFFF".size() == 1', '{}', true],
    ['args.a < args.b', '{"a": "\\uFF61", "b": "\\uD83D\\uDE00"}', true],
  ])('%s with %s', (source, args, wanted) => {
    expect(outcome(source, args)).toBe(wanted);
  });

  test('all fields of an absent group are absent', () => {
    expect(outcome('has(session.label)', '{}', { session: undefined })).toBe(false);
    expect(outcome('session.label == ""', '{}', { session: undefined })).toBe(ABSENT);
  });

  test('an absent field that is there', () => {
    const rest = { session: { label: 'x' }, person: { groups: ['admins'] } };
    expect(outcome('session.label == "x" && "admins" in person.groups', '{}', rest)).toBe(true);
  });
});

describe('what is refused, and where', () => {
  test.each([
    ['', '0: the condition is empty'],
    ['  ', '0: the condition is empty'],
    [
      'arg.x == 1',
      '0: unknown variable "arg"; known: args, tool, session, person, surface. Did you mean "args"?',
    ],
    ['1 == lenght(args.x)', '5: unknown function "lenght".'],
    ['args.x.startswith("a")', '7: unknown function "startswith". Did you mean "startsWith"?'],
    ...Object.entries({
      len: 'size',
      length: 'size',
      lower: 'lowerAscii',
      toLowerCase: 'lowerAscii',
      upper: 'upperAscii',
      toUpperCase: 'upperAscii',
      includes: 'contains',
      every: 'all',
      some: 'exists',
    }).map(([other, ours]) => [
      `args.x.${other}("a") == 1`,
      `7: unknown function "${other}". Did you mean "${ours}"?`,
    ]),
    ['len(args.x) == 1', '0: unknown function "len". Did you mean "size"?'],
    ['args.user-id == 1', '10: unknown variable "id". Did you mean args["user-id"]?'],
    ['args.a.x-request-id == 1', '17: unknown variable "id". Did you mean args.a["x-request-id"]?'],
    ['1 < args.user-id.name', '14: unknown variable "id". Did you mean args["user-id"]?'],
    ['args.x.all(c, c.user-id[0] == 1)', '21: unknown variable "id". Did you mean c["user-id"]?'],
    ...['args.user - id == 1', 'args.user -id == 1', 'args.user- id == 1', 'args.user+id == 1'].map(text => [
      text,
      `${text.indexOf('id')}: unknown variable "id"; known: args, tool, session, person, surface. For an argument, write args.id.`,
    ]),
    [
      `[1].all(${'a'.repeat(65)}, ${'a'.repeat(66)} == 1)`,
      `75: unknown variable "${'a'.repeat(66)}"; known: args, tool, session, person, surface. For an argument, write args.${'a'.repeat(66)}.`,
    ],
    ['tool.nmae == "x"', '5: unknown field "nmae"; known: server, name, annotations. Did you mean "name"?'],
    ['tool == 1', '0: this is a group of fields; use one of them'],
    ['tool["name"] == "x"', '5: group of fields has no index of type string'],
    ['args[1] == 2', '5: map has no index of type int'],
    ['args.x = 1', '7: "=" is not an operator; equality is "=="'],
    ['args.x && 1', '10: "&&" takes bools, and this is int'],
    ['1 == "a"', '2: "==" cannot be applied to int and string'],
    ['1 + 1.0 > 1.0', '2: "+" cannot be applied to int and double'],
    ['1 - 1.0 > 1.0', '2: "-" cannot be applied to int and double'],
    ['"a" * "b" == "ab"', '4: "*" cannot be applied to string and string'],
    ['"a" / 2 == 1', '4: "/" cannot be applied to string and int'],
    ['"a" in [1, 2]', '4: "in" cannot be applied to string and list(int)'],
    ['args.x +', '8: unexpected end'],
    ['args.x > 1)', '10: unexpected ")"'],
    ['(args.x', '7: unexpected end, expected ")"'],
    ['"abc', '0: the string has no end'],
    ['"\\q" == args.x', '1: unknown escape in a string; in r"…", a backslash is a backslash'],
    ...['"\\x1g" == args.x', '"\\xg1" == args.x', '"\\x4', '"\\x', '"\\ud800" == args.x'].map(source => [
      source,
      '1: this escape names no character',
    ]),
    ['args.x == \u201cEUR\u201d', '10: unexpected character U+201C; strings have straight quotes, " or \''],
    ['args.x > 1 and args.y', '11: "and" is not an operator; use "&&"'],
    ['not args.x', '0: "not" is not an operator; use "!"'],
    ['!args.x not in [1]', '8: "not" is not an operator; use "!"'],
    ['args.x == 1 "or"', '12: unexpected "or"'],
    ['args.x in (1, 2)', '12: unexpected ",", expected ")"'],
    ['args.in == 1', '5: "in" is a reserved word; write ["in"]'],
    ['args. > 1', '6: unexpected ">", expected a field'],
    [
      'args.x == True',
      '10: unknown variable "True"; known: args, tool, session, person, surface. Did you mean "true"?',
    ],
    [
      'amount < 5',
      '0: unknown variable "amount"; known: args, tool, session, person, surface. For an argument, write args.amount.',
    ],
    ['url.domain(args.x) == ""', '4: unknown function "url.domain"; known: url.host, url.scheme, url.port.'],
    ['5u == args.x', '1: unsigned integers are not supported; leave out the "u"'],
    ["b'x' == args.x", '0: bytes are not supported'],
    ['args.x == 9223372036854775808', '10: the number 9223372036854775808 is beyond 64 bits'],
    ['has(args)', '4: has() takes one field, such as has(args.amount)'],
    ['args.x.all(1, true)', '11: the first argument of all() has to be a name'],
    ['args.x.all(a)', '7: "all" is written as list.all(x, …)'],
    ['args.x.matches(args.y)', '15: the pattern of "matches" has to be a literal string'],
    ['args.x.matches("(")', '15: the pattern is not valid: missing closing ): `(`'],
    ['args.x.matches("(?:abcdefgh){1000}")', '15: the pattern is too large'],
    [
      new Array(6).fill('args.x.matches("a{900}")').join(' || '),
      '155: the patterns of this condition are too large together',
    ],
    ['size(1) == 1', '5: "size" does not take int here'],
    ['size(args.x, 1) == 1', '0: wrong number of arguments for "size"'],
    ['contains("a", "b")', '0: "contains" is called as value.contains(…)'],
    ['path.witihn("a", "b")', '5: unknown function "path.witihn". Did you mean "path.within"?'],
    [
      'shell.commands("ls").all(c, c.nmae == "ls")',
      '30: unknown field "nmae"; known: name, args. Did you mean "name"?',
    ],
    ['args.size()', '0: the result has to be true or false, and this is int'],
    ['if == 1', '0: "if" is a reserved word'],
    ['Foo{a: 1} == 1', '0: messages are not supported'],
    ['args.`a-b` == 1', '5: fields in backticks are not supported; write ["name"]'],
    ['args.x == 1 # no', '12: unexpected character "#"'],
    ['{1.5: 1}.size() == 1', '1: a key must be a string, an int or a bool, and this is double'],
    [`${'('.repeat(2_000)}1`, '100: the condition is nested too deeply'],
    [`${'!'.repeat(4_000)}true`, '0: the condition is nested too deeply'],
    [`${'1+'.repeat(2_000)}1`, '0: the condition is nested too deeply'],
    [`args${'.a'.repeat(2_000)}`, '0: the condition is nested too deeply'],
    [`${'['.repeat(4_000)}`, '100: the condition is nested too deeply'],
    [`"${'a'.repeat(4_096)}" == ""`, '4096: a condition has at most 4096 characters'],
  ])('%s', (source, wanted) => {
    expect(faultOf(source)).toBe(wanted);
  });

  test('patterns of 5,000 instructions together are taken', () => {
    const patterns = new Array(5).fill('args.x.matches("a{998}")');
    expect(faultOf(patterns.join(' || '))).toBe('none');
    expect(faultOf([...patterns, 'args.x.matches("a")'].join(' || '))).toEndWith('are too large together');
  });

  test('a number is wanted for sums', () => {
    expect(faultOf('args.amount', 'number')).toBe('none');
    expect(faultOf('args.amount == 1', 'number')).toBe('0: the result has to be a number, and this is bool');
  });
});

test('numbers as exact decimals', () => {
  const decimal = (source: string, args = '{}') => {
    const condition = compileCondition(source, DECLARATIONS, 'number');
    const result = condition.evaluate({ args: parseJson(args) }, new Steps());
    return result instanceof Failure ? result.why : decimalOf(result);
  };
  expect(decimal('args.a', '{"a": 12.30}')).toBe('12.3');
  expect(decimal('args.a', '{"a": 9007199254740993}')).toBe('9007199254740993');
  expect(decimal('args.a', '{"a": 1e-7}')).toBe('1e-7');
  expect(decimal('args.a * 3', '{"a": 4}')).toBe('12');
  expect(decimal('double(args.a)', '{"a": 4}')).toBe('4');
  expect(decimal('double("inf")')).toBe(null);
  expect(decimal('args.a', '{"a": "4"}')).toBe('Its result is not a number.');
  expect(decimal('args.a', '{}')).toBe('It reads a field or a key that is absent.');
});

test('what it reads and tests is known, also inside of macros', () => {
  const { reads, tested } = bool(
    'has(args.a.b) && args.a["b"].c == tool.name && args.to.all(args, args.x == surface) && args.l[args.i] == 1',
  );
  expect(reads.map(each => `${each.offset} ${each.path.join('.')}`)).toEqual([
    '4 args.a',
    '17 args.a.b.c',
    '34 tool.name',
    '47 args.to',
    '75 surface',
    '87 args.l',
    '94 args.i',
  ]);
  expect(tested.map(each => each.path)).toEqual([['args', 'a', 'b']]);
});

test('readings show the values that are read', () => {
  const condition = bool(
    'has(args.a) && args["b c"] == 1 && args.l.exists(x, x == tool.name) && args.l[0] == ""',
  );
  const scope = { args: parseJson('{"b c": 12345.5, "l": ["x"]}'), tool: { name: 'refund' } };
  expect(JSON.parse(JSON.stringify(condition.readings(scope)))).toEqual([
    { text: 'args["b c"]', value: 12345.5 },
    { text: 'args.l', value: ['x'] },
    { text: 'tool.name', value: 'refund' },
    { text: 'args.a' },
  ]);
});

test('a condition that reads nothing is constant', () => {
  expect(bool('1 < 2').constant).toBe(true);
  expect(bool('[1, 2].all(x, x > 1)').constant).toBe(false);
  expect(bool('1 / 0 == 1').constant).toBe(null);
  expect(bool('args.x == 1').constant).toBe(null);
  expect(bool('has(session.label)').constant).toBe(null);
});
