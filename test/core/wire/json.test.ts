// Strict JSON: what it refuses, what it keeps exactly, and that what is read can be written back.

import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { GuardError } from '../../../src/core/errors.ts';
import { canonicalJson } from '../../../src/core/wire/canonical.ts';
import { ExactNumber } from '../../../src/core/wire/exact-number.ts';
import { type Json, MAX_VALUES, parseJson, parseJsonBytes, writeJson } from '../../../src/core/wire/json.ts';
import { MAX_DEPTH } from '../../../src/core/wire/json-parser.ts';
import { BUN, ROOT } from '../../support/service.ts';

function refusal(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof GuardError)) throw error;
    expect(error.code).toBe('invalid_json');
    return error.message;
  }
  throw new Error('it was accepted');
}

const LONG_NUMBER = '9007199254740993';

const REFUSED: Record<string, string> = {
  nothing: '',
  'only space': ' \n\t',
  'a BOM': '\ufeff{}',
  'a duplicate key': '{"a":1,"a":2}',
  'a duplicate key, once escaped': '{"a":1,"\\u0061":2}',
  'a duplicate key, nested': '[{"b":{"a":1,"a":1}}]',
  'a duplicate key behind strings that look like members': '{"x":":{\\":1","a":"\\\\","a":2}',
  'a duplicate __proto__': '{"__proto__":1,"__proto__":2}',
  'text after the value': '{} x',
  'a second value': '1 2',
  'a trailing comma in an object': '{"a":1,}',
  'a trailing comma in a list': '[1,]',
  'a missing value': '{"a":}',
  'a missing colon': '{"a" 1}',
  'an unquoted key': '{a:1}',
  'single quotes': "{'a':1}",
  'a comment': '{}//',
  'an open object': '{"a":1',
  'an open list': '[1',
  'an open string': '"abc',
  'an open escaped string': '"ab\\n',
  'a backslash at the end': '"\\',
  'a control character in a string': '"a\u0001b"',
  'a newline in a string': '"a\nb"',
  'a control character after an escape': '"\\n\u0000"',
  'an unknown escape': '"\\x41"',
  'a short \\u escape': '"\\u12"',
  'a \\u escape with a sign': '"\\u+123"',
  NaN: 'NaN',
  Infinity: '-Infinity',
  'a leading zero': '01',
  'a negative leading zero': '-01',
  'a plus sign': '+1',
  'a bare minus': '-',
  'a bare fraction': '.5',
  'an open fraction': '1.',
  'an open exponent': '1e',
  'a hexadecimal number': '0x10',
  'a wrong word': 'tru',
  'a word in capitals': 'True',
  undefined: 'undefined',
  'a no-break space': '\u00a0{}',
  'a form feed': '\f{}',
  'a mismatched end': '[1}',
};

describe('refused', () => {
  for (const [what, text] of Object.entries(REFUSED)) {
    test(what, () => {
      expect(refusal(() => parseJson(text))).toMatch(/^Not valid JSON: .+, at character \d+\.$/);
    });
  }

  test('bytes that are not UTF-8', () => {
    const sequences = [
      [0xff],
      [0xc3, 0x28],
      [0xc0, 0xaf],
      [0xed, 0xa0, 0x80],
      [0xf5, 0x80, 0x80, 0x80],
      [0xe2, 0x82],
    ];
    for (const bytes of sequences) {
      expect(refusal(() => parseJsonBytes(new Uint8Array([0x22, ...bytes, 0x22])))).toContain('UTF-8');
    }
  });

  test('a BOM in bytes, and UTF-16', () => {
    refusal(() => parseJsonBytes(new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d])));
    refusal(() => parseJsonBytes(new Uint8Array([0xff, 0xfe, 0x7b, 0, 0x7d, 0])));
    refusal(() => parseJsonBytes(new Uint8Array([0x7b, 0, 0x7d, 0])));
  });

  test('65 levels, while 64 pass, whatever they are made of', () => {
    const lists = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    const objects = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
    const spaced = (depth: number) => '[ '.repeat(depth) + ']'.repeat(depth);
    const among = (depth: number) => `${'[0,'.repeat(depth - 1)}[]${']'.repeat(depth - 1)}`;
    // A number that a double would change is for our own parser.
    const long = (depth: number) => '['.repeat(depth) + LONG_NUMBER + ']'.repeat(depth);
    for (const nested of [lists, objects, spaced, among, long]) {
      expect(writeJson(parseJson(nested(MAX_DEPTH)))).toBe(nested(MAX_DEPTH).replaceAll(' ', ''));
      expect(refusal(() => parseJson(nested(MAX_DEPTH + 1)))).toContain('64 levels');
    }
    expect(MAX_DEPTH).toBe(64);
    refusal(() => parseJson('['.repeat(MAX_VALUES - 1)));
    refusal(() => parseJson(lists(MAX_VALUES - 1)));
    // Brackets in strings are no levels, and neither are neighbours.
    expect(parseJson(`["${'['.repeat(100)}",${'[],'.repeat(100)}1]`)).toHaveLength(102);
  });

  test('the message names the place and no part of the text', () => {
    const secret = 'hunter2';
    for (const text of [`{"${secret}":1,"${secret}":2}`, `["${secret}" "${secret}"]`, `{"a":${secret}}`]) {
      expect(refusal(() => parseJson(text))).not.toContain(secret);
    }
    const places: Record<string, string> = {
      '{"a":1,"a":2}': 'duplicate key, at character 8.',
      '[1,': 'unexpected end, at character 4.',
      '[1,x]': 'unexpected character, at character 4.',
      '"abc': 'unterminated string, at character 2.',
      '"ab\\ncd': 'unterminated string, at character 7.',
    };
    for (const [text, place] of Object.entries(places)) {
      expect(refusal(() => parseJson(text))).toBe(`Not valid JSON: ${place}`);
    }
  });
});

describe('kept', () => {
  test('__proto__ and constructor are keys like any other', () => {
    const value = parseJson('{"__proto__":{"x":1},"constructor":2,"toString":3}') as Record<string, Json>;
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor', 'toString']);
    expect(Object.hasOwn(value, '__proto__')).toBe(true);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    expect(writeJson(value)).toBe('{"__proto__":{"x":1},"constructor":2,"toString":3}');
  });

  test('every escape', () => {
    const [text, read] = ['"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00"', '"\\/\b\f\n\r\té😀'];
    expect(parseJson(text)).toBe(read);
    expect(parseJson(`[${LONG_NUMBER},${text}]`)).toEqual([new ExactNumber(LONG_NUMBER), read]);
  });

  test('an escaped lone surrogate, and it is written back as an escape', () => {
    const value = parseJson('"\\ud800x"');
    expect(value).toBe('\ud800x');
    expect(writeJson(value)).toBe('"\\ud800x"');
    expect(canonicalJson(value)).toBe('"\\ud800x"');
  });

  test('numbers that a double would change, digit by digit', () => {
    const exact = [
      '9007199254740993',
      '12345678901234567890',
      '-98765432109876543210',
      '1e400',
      '-1e400',
      '1e-400',
      '1E400',
    ];
    for (const text of [...exact, '0.1234567890123456789', '4503599627370497.3', '9007199254740991.4']) {
      const value = parseJson(text);
      expect(value).toBeInstanceOf(ExactNumber);
      expect(writeJson(value)).toBe(text);
      expect(writeJson(parseJson(`{"n":[${text}]}`))).toBe(`{"n":[${text}]}`);
    }
  });

  test('ordinary numbers as numbers', () => {
    const numbers: Record<string, number> = { '0': 0, '-1.5e3': -1500, '9007199254740991': 9007199254740991 };
    for (const [text, value] of Object.entries(numbers)) expect(parseJson(text)).toBe(value);
    expect(parseJson('1000000000000000000000')).toBe(1e21);
    for (const text of ['0e5', '0.00000000000000000000', '0.0e-300']) expect(parseJson(text)).toBe(0);
    // Nobody writes an exponent of ten digits, and what it would take to read is not tried.
    expect(parseJson('1e000000005')).toBe(100_000);
    expect(parseJson('1e0000000005')).toBeInstanceOf(ExactNumber);
    expect(parseJson('0.1')).toBe(0.1);
  });

  test('space between all tokens, whichever parser it is', () => {
    for (const number of ['1', LONG_NUMBER]) {
      const text = ` {\t"a" :\r\n[ ${number} , true , false , null ] , "b" : { } , "c" : [ ] } `;
      expect(writeJson(parseJson(text))).toBe(`{"a":[${number},true,false,null],"b":{},"c":[]}`);
    }
  });
});

test('whatever JSON.stringify writes is read back the same and written the same', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), value => {
      const text = JSON.stringify(value);
      expect(JSON.parse(writeJson(parseJson(text)))).toEqual(JSON.parse(text));
      expect(writeJson(parseJson(writeJson(parseJson(text))))).toBe(writeJson(parseJson(text)));
      const beside = `[${LONG_NUMBER},${text}]`;
      expect(writeJson(parseJson(beside))).toBe(`[${LONG_NUMBER},${writeJson(parseJson(text))}]`);
    }),
    { numRuns: 3000, seed: 5 },
  );
});

test('numbers of a megabyte are read in linear time', () => {
  // In a process of its own, since nothing could interrupt a reader that is stuck.
  const script = `
    const { parseJson } = await import(${JSON.stringify(join(ROOT, 'src/core/wire/json.ts'))});
    const many = text => text.repeat(1_000_000 / text.length);
    for (const text of [
      '9' + many('9'), '1' + many('0'), '0.' + many('0') + '1', '0.1' + many('0') + '1', '1.' + many('0000000001'),
      '1' + many('0') + '1', '1e' + many('9'), '1e-' + many('9'), '1e' + many('0') + '1', '-0.' + many('0'),
    ]) parseJson('{"n":[' + text + ']}');
  `;
  const { exitCode } = Bun.spawnSync([BUN, '-e', script], { timeout: 20_000, stderr: 'inherit' });
  expect(exitCode).toBe(0);
});

test('agrees with JSON.parse on random texts, except where it is stricter', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"b"',
    '1',
    '-0.5e1',
    'true',
    'null',
    ' ',
    '"\\u',
  );
  const text = fc.array(piece, { maxLength: 9 }).map(pieces => pieces.join(''));
  fc.assert(
    fc.property(text, source => {
      const theirs = attempt(() => JSON.parse(source) as unknown);
      const ours = attempt(() => JSON.parse(writeJson(parseJson(source))) as unknown);
      if (ours !== undefined) expect(ours.value).toEqual(theirs?.value);
      else if (theirs !== undefined) expect(refusal(() => parseJson(source))).toContain('duplicate key');
    }),
    { numRuns: 20_000, seed: 6 },
  );
});

function attempt(work: () => unknown): { value: unknown } | undefined {
  try {
    return { value: work() };
  } catch {
    return undefined;
  }
}

describe('more values than anybody has time for', () => {
  const zeros = (count: number, first = '0') => `[${first}${',0'.repeat(count - 1)}]`;
  const tooMany = (text: string) =>
    expect(() => parseJson(text)).toThrow(
      new GuardError(
        'too_large',
        `The JSON has more than ${MAX_VALUES} values. A string is one value, however long it is: send fewer values.`,
      ),
    );

  test('are refused, whichever parser it would be and whatever they are', () => {
    tooMany(zeros(MAX_VALUES));
    tooMany(zeros(MAX_VALUES, '1e400'));
    tooMany(`[${'[],'.repeat(MAX_VALUES)}0]`);
    tooMany(`[${'{"a":1},'.repeat(MAX_VALUES / 2)}0]`);
    tooMany(`${'['.repeat(MAX_VALUES + 1)}`);
    tooMany(`${zeros(MAX_VALUES)} and no JSON`);
  });

  test('are not what stands in strings', () => {
    const text = JSON.stringify(['\\', '[,{"\\'.repeat(MAX_VALUES)]);
    expect(parseJson(text)).toEqual(JSON.parse(text));
    expect((parseJson(zeros(MAX_VALUES - 1)) as Json[]).length).toBe(MAX_VALUES - 1);
    expect(refusal(() => parseJson(`"${'x'.repeat(MAX_VALUES)}`))).toContain('unterminated string');
  });
});
