// Random expressions of known types over random arguments, for comparisons with the reference implementation.

import fc from 'fast-check';

export type Kind = 'bool' | 'int' | 'double' | 'string' | 'list' | 'map' | 'dyn';

const INTS = [
  '0',
  '1',
  '-1',
  '2',
  '7',
  '50',
  '0x10',
  '4503599627370497',
  '9007199254740993',
  '9223372036854775807',
  '-9223372036854775808',
];
const DOUBLES = ['0.0', '-0.0', '0.5', '1.0', '-2.5', '1e3', '.25', '7.0', '1e300'];
const TEXTS = [
  '""',
  '"a"',
  '"abc"',
  "'b'",
  '"ab,ab"',
  '"é"',
  '"\\uff61"',
  'r"a\\b"',
  '"""x"""',
  '" a "',
  '"12"',
  '"-3"',
  '"1.5"',
  '"A"',
];
const PATTERNS = ['"a"', '"^a.*b$"', '"[a-c]+,"', '"(a|b){2}"', '"\\\\bab\\\\b"', '"é?"', '"^$"'];
const FIELDS = ['a', 'b', 'c', 'list', 'map', 'text'];

const pick = (texts: readonly string[]) => fc.constantFrom(...texts);

/** Joins arbitrary texts: strings stay as they are. */
function made(...parts: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> {
  const all = parts.map(part => (typeof part === 'string' ? fc.constant(part) : part));
  return fc.tuple(...all).map(texts => texts.join(''));
}

export const expressions = fc.letrec<Record<Kind, string>>(tie => {
  const { bool, int, double, string, list, map, dyn } = Object.fromEntries(
    ['bool', 'int', 'double', 'string', 'list', 'map', 'dyn'].map(kind => [kind, tie(kind as Kind)]),
  ) as Record<Kind, fc.Arbitrary<string>>;
  const any = fc.oneof(bool, int, double, string, list, map, dyn);
  const number = fc.oneof(int, double, dyn);
  const order = pick([' < ', ' <= ', ' > ', ' >= ']);
  const equality = pick([' == ', ' != ']);
  const choice = (of: fc.Arbitrary<string>) => made('(', bool, ' ? ', of, ' : ', of, ')');
  const range = fc.oneof(list, map, dyn);
  const inMacro = fc.oneof(
    bool,
    made('x', equality, any),
    made('x', order, number),
    made('x.contains(', string, ')'),
  );
  const dynamic = { maxDepth: 4, depthSize: 'small' as const };
  return {
    bool: fc.oneof(
      dynamic,
      pick(['true', 'false']),
      made('(', number, order, number, ')'),
      made('(', dyn, equality, any, ')'),
      made('(', int, equality, int, ')'),
      made('(', string, fc.oneof(order, equality), string, ')'),
      made('(', list, equality, list, ')'),
      made('(', map, equality, map, ')'),
      made('(', bool, pick([' && ', ' || ']), bool, pick([' && ', ' || ']), bool, ')'),
      made('!', bool),
      made('(', any, ' in ', fc.oneof(list, map, dyn), ')'),
      made('has(args.', pick(FIELDS), ')'),
      made('has(args.map.', pick(FIELDS), ')'),
      made(string, '.', pick(['contains', 'startsWith', 'endsWith']), '(', string, ')'),
      made(fc.oneof(string, dyn), '.matches(', pick(PATTERNS), ')'),
      made(range, '.', pick(['all', 'exists', 'exists_one']), '(x, ', inMacro, ')'),
      made(
        '(type(',
        any,
        ') == ',
        pick(['int', 'double', 'string', 'bool', 'list', 'map', 'null_type']),
        ')',
      ),
      choice(bool),
    ),
    int: fc.oneof(
      dynamic,
      pick(INTS),
      made('(', int, pick([' + ', ' - ', ' * ', ' / ', ' % ']), fc.oneof(int, dyn), ')'),
      made('size(', fc.oneof(string, list, map, dyn), ')'),
      made('int(', fc.oneof(int, double, pick(['"12"', '"-3"', '"+5"', '"1.5"', '"x"'])), ')'),
      made(string, '.indexOf(', string, ')'),
      choice(int),
    ),
    double: fc.oneof(
      dynamic,
      pick(DOUBLES),
      made('(', double, pick([' + ', ' - ', ' * ', ' / ']), fc.oneof(double, dyn), ')'),
      made('double(', pick(['"12"', '"-3.5"', '"1e3"']), ')'),
      made('double(', fc.oneof(int, double), ')'),
      choice(double),
    ),
    string: fc.oneof(
      dynamic,
      pick(TEXTS),
      made('(', string, ' + ', fc.oneof(string, dyn), ')'),
      made('string(', fc.oneof(int, bool, string), ')'),
      made(string, '.', pick(['lowerAscii', 'upperAscii', 'trim']), '()'),
      made(string, '.substring(', int, ')'),
      made(string, '.substring(', int, ', ', int, ')'),
      made(string, '.replace(', pick(['"a"', '"ab"', '","']), ', ', string, ')'),
      made(list, '.join(', pick(['', '","', '""']), ')'),
      choice(string),
    ),
    list: fc.oneof(
      dynamic,
      made(
        '[',
        fc.array(any, { maxLength: 3 }).map(each => each.join(', ')),
        ']',
      ),
      made('(', list, ' + ', list, ')'),
      made(string, '.split(', pick(['","', '"b"', '""']), ')'),
      made(range, '.filter(x, ', inMacro, ')'),
      made(range, '.map(x, ', fc.oneof(any, fc.constant('x'), made('x + ', fc.oneof(int, string))), ')'),
      made(range, '.map(x, ', inMacro, ', [x])'),
    ),
    // The reference takes a double such as 12.0 as a key, so no key is computed.
    map: fc.oneof(
      dynamic,
      fc.constant('args'),
      fc
        .array(made(fc.oneof(pick(INTS), pick(TEXTS), bool, made('args.', pick(FIELDS))), ': ', any), {
          maxLength: 3,
        })
        .map(each => `{${each.join(', ')}}`),
    ),
    dyn: fc.oneof(
      dynamic,
      made('args.', pick(FIELDS)),
      made('args["', pick(FIELDS), '"]'),
      made('args.map.', pick(FIELDS)),
      made('args.list[', int, ']'),
      made(map, '[', fc.oneof(string, int, dyn), ']'),
      made('[', any, ', null][0]'),
      made('-args.', pick(FIELDS)),
      made(list, '[', int, ']'),
    ),
  };
});

/** Arguments as JSON texts. */
const leaf = pick([
  'null',
  'true',
  'false',
  '0',
  '1',
  '-7',
  '50',
  '2.5',
  '-0.5',
  '9007199254740993',
  '""',
  '"a"',
  '"ab,b"',
  '"é"',
]);
const value = fc.oneof(
  { weight: 4, arbitrary: leaf },
  fc.array(leaf, { maxLength: 3 }).map(each => `[${each.join(',')}]`),
  fc.dictionary(pick(FIELDS), leaf, { maxKeys: 3 }).map(objectText),
);

function objectText(members: Record<string, string>): string {
  return `{${Object.entries(members)
    .map(([key, text]) => `"${key}":${text}`)
    .join(',')}}`;
}

export const argumentTexts: fc.Arbitrary<string> = fc
  .dictionary(pick(FIELDS), value, { maxKeys: 6 })
  .map(objectText);
