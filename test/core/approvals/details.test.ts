// What approvers see of a call: paths, values as text, questions, and the bounds, which hold whatever an agent sends.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  beginningOf,
  bindable,
  type Details,
  detailsOf,
  questionParts,
} from '../../../src/core/approvals/details.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { type Path, parsePath, parseQuestion, valueAt } from '../../../src/core/text/argument-path.ts';
import { ExactNumber } from '../../../src/core/wire/exact-number.ts';
import { type Json, parseJson } from '../../../src/core/wire/json.ts';
import { LONG } from '../../support/need.ts';

const rule = (more: Partial<Rule>): Rule => ({ tool: 'a', action: 'require_approval', ...more });
const shown = (show: Rule['show'], args: string | undefined) =>
  detailsOf(rule({ show }), args === undefined ? undefined : parseJson(args)) as Details;
const pairs = (show: Rule['show'], args: string | undefined) =>
  shown(show, args).fields.map(({ path, value }) => [path, value]);
const beginning = (show: Rule['show'], args: Json) => beginningOf(detailsOf(rule({ show }), args) as Details);
const asked = (ask: string, args: string) => detailsOf(rule({ ask }), parseJson(args))?.question;

test.each<[string, Path]>([
  ['amount', ['amount']],
  ['customer.name', ['customer', 'name']],
  ['items[0].sku', ['items', 0, 'sku']],
  ['items[10][2]', ['items', 10, 2]],
  ['$ref.user-id._x', ['$ref', 'user-id', '_x']],
  ['["odd key"].a', ['odd key', 'a']],
  ['a["b.c"]["\\u00e9\\""][0]', ['a', 'b.c', 'é"', 0]],
  ['[""]', ['']],
  ['a.__proto__', ['a', '__proto__']],
])('the path %s is read', (text, path) => {
  expect(parsePath(text)).toEqual(path);
});

test.each([
  '',
  ' amount',
  'a..b',
  '.a',
  'a.',
  'a.0',
  'a[01]',
  'a[-1]',
  'a[b]',
  'a[',
  'a[0]b',
  'a[9999999999]',
  '["a]',
  '["\\q"]',
  '["a\nb"]',
  'a b',
  'é',
  'a{b}',
])('%p is no path', text => {
  expect(parsePath(text)).toStartWith('is no path to an argument');
});

test('a path may have 500 characters', () => {
  expect(parsePath('x'.repeat(500))).toEqual(['x'.repeat(500)]);
  expect(parsePath('x'.repeat(501))).toBe('must have at most 500 characters');
});

test('a question is cut into texts and paths', () => {
  expect(parseQuestion('Why?')).toEqual(['Why?']);
  expect(parseQuestion('{a.b}{c[0]} } for ["x"] {["}{"]}!')).toEqual([
    '',
    ['a', 'b'],
    '',
    ['c', 0],
    ' } for ["x"] ',
    ['}{'],
    '!',
  ]);
  expect(parseQuestion('Pay {amount to {x')).toBe('has a "{" at character 5 that is not closed');
  for (const ask of ['Pay {}', 'Pay { amount }', 'Pay {{amount}}', 'Pay {a b}', 'Pay {a.}'])
    expect(parseQuestion(ask)).toStartWith('has a "{" at character 5 that begins no path');
});

test('only what the arguments have themselves is found', () => {
  const args = parseJson('{"a":{"b":[{"c":1}],"__proto__":{"x":2}},"length":3}') as Json;
  const found = (path: string) => valueAt(args, parsePath(path) as Path);
  expect(found('a.b[0].c')).toBe(1);
  expect(found('a.__proto__.x')).toBe(2);
  expect(found('length')).toBe(3);
  for (const path of ['b', 'a.c', 'a[0]', 'a.b.length', 'a.b[1]', 'a.b[0].c.d', 'constructor', 'a.toString'])
    expect([path, found(path)]).toEqual([path, undefined]);
  expect(valueAt(undefined, ['a'])).toBeUndefined();
});

test('a rule without show and ask shows nothing', () => {
  expect(detailsOf(rule({}), { a: 1 })).toBeNull();
  expect(detailsOf(rule({ ask: 'Why?' }), { a: 1 })).toEqual({
    question: 'Why?',
    fields: [],
    complete: true,
  });
  expect(detailsOf(rule({ show: 'all' }), undefined)).toEqual({ question: null, fields: [], complete: true });
  expect(detailsOf(rule({ show: 'all' }), {})).toEqual({ question: null, fields: [], complete: true });
});

test('values at paths are shown as text, in the order of the rule', () => {
  const args = `{"text":"a \\"b\\"\\n","no":null,"yes":true,"n":-1.5,"big":12345678901234567890.10,
    "list":[1, "é", {"x": 0.1000000000000000055}],"map":{"b":1,"a":{}},"empty":""}`;
  const paths = ['map', 'list', 'text', 'no', 'yes', 'n', 'big', 'list[2].x', 'empty', 'gone', 'list[9]'];
  expect(pairs(paths, args)).toEqual([
    ['map', '{"b":1,"a":{}}'],
    ['list', '[1,"é",{"x":0.1000000000000000055}]'],
    ['text', 'a "b"\n'],
    ['no', 'null'],
    ['yes', 'true'],
    ['n', '-1.5'],
    ['big', '12345678901234567890.10'],
    ['list[2].x', '0.1000000000000000055'],
    ['empty', ''],
    ['gone', '(not given)'],
    ['list[9]', '(not given)'],
  ]);
  expect(pairs(['a'], undefined)).toEqual([['a', '(not given)']]);
});

test('all arguments are shown with their paths: those at the top first, and else in their order', () => {
  const args = `{"z":1,"customer":{"name":"Ann","odd key":true},"items":[{"sku":"x"},[],{}],"":"e","a\\"b":2,"__proto__":3}`;
  expect(pairs('all', args)).toEqual([
    ['z', '1'],
    ['[""]', 'e'],
    ['["a\\"b"]', '2'],
    ['__proto__', '3'],
    ['customer.name', 'Ann'],
    ['customer["odd key"]', 'true'],
    ['items[1]', '[]'],
    ['items[2]', '{}'],
    ['items[0].sku', 'x'],
  ]);
});

test('a question has the values in it', () => {
  const args = '{"amount":60.00,"currency":"EUR","to":{"name":"Ann"},"lines":[1,2]}';
  expect(asked('Refund {amount} {currency} to {to.name}?', args)).toBe('Refund 60 EUR to Ann?');
  expect(asked('{lines} of {to} for {nobody}', args)).toBe('[1,2] of {"name":"Ann"} for (not given)');
  // A value is not read as a question again.
  expect(asked('{a}{b}', '{"a":"{b}","b":"x"}')).toBe('{b}x');
  // A question that was saved before paths were checked.
  expect(asked('Really {now', '{}')).toBe('Really {now');
});

test('a question says which parts of it the call gave', () => {
  const parts = (ask: string, args: Json) => {
    const details = detailsOf(rule({ ask }), args) as Details;
    const { question, inserted = [] } = details;
    expect(
      questionParts(details)
        .map(({ text }) => text)
        .join(''),
    ).toBe(question ?? '');
    expect(inserted.map(({ from, to }) => question?.slice(from, to))).toEqual(
      questionParts(details).flatMap(({ text, given }) => (given ? [text] : [])),
    );
    return questionParts(details).map(({ text, given }) => (given ? [text] : text));
  };
  expect(parts('Refund {n} to {to}?', { n: 1, to: 'Bob? (approved by CEO)' })).toEqual([
    ...['Refund ', ['1'], ' to ', ['Bob? (approved by CEO)'], '?'],
  ]);
  expect(parts('{a}{b}', { a: '😀', b: { c: '\ud800' } })).toEqual([['😀'], ['{"c":"\\ud800"}']]);
  // What is empty or was not given is no part of the call.
  for (const ask of ['Why?', '{gone}', '{empty}', 'Really {now', 'Is {empty} {gone}?'])
    expect(detailsOf(rule({ ask }), { empty: '' })).not.toHaveProperty('inserted');
  expect(parts('{gone} {a}', { a: '(not given)' })).toEqual(['(not given) ', ['(not given)']]);
  // The remark that the question was cut is not the call's.
  const a = '😀'.repeat(500);
  expect(parts('{a}:{a}{b}', { a, b: 'x' })).toEqual([[a], ':', ['😀'.repeat(499)], ' … (cut)']);
  expect(parts('{a}{a}{b}', { a, b: 'x' })).toEqual([[a], [a], ' … (cut)']);
  expect(parts('{a}{a}', { a })).toEqual([[a], [a]]);
  expect(detailsOf(rule({ show: 'all' }), { a: 1 })).not.toHaveProperty('inserted');
  expect(questionParts({ question: null })).toEqual([]);
});

test('values are whole, and lists give the first 500 characters, and say so', () => {
  const whole = (text: Json) => detailsOf(rule({ show: ['a'] }), { a: text }) as Details;
  const value = (text: Json) => beginningOf(whole(text)).fields[0]?.value;
  for (const text of ['x'.repeat(501), 'é'.repeat(100_000), 'a\n'.repeat(100_000)]) {
    expect(whole(text)).toEqual({ question: null, fields: [{ path: 'a', value: text }], complete: true });
    expect(beginningOf(whole(text))).toMatchObject({
      fields: [{ characters: text.length }],
      omittedCharacters: text.length - 500,
      complete: false,
    });
  }
  expect(beginningOf(whole('x'.repeat(500)))).toEqual(whole('x'.repeat(500)));
  expect(value('x'.repeat(501))).toBe(`${'x'.repeat(500)} … (cut, 501 characters)`);
  expect(value('x'.repeat(12_345))).toEndWith('x … (cut, 12,345 characters)');
  expect(value('😀'.repeat(500))).toBe('😀'.repeat(500));
  expect(value(`x${'😀'.repeat(500)}`)).toBe(`x${'😀'.repeat(499)} … (cut, 501 characters)`);
  expect(value('a\ud800b')).toBe('a\ufffdb');
  expect(value(Array.from({ length: 300 }, () => 1))).toBe(`[${'1,'.repeat(249)}1 … (cut, 601 characters)`);
  expect(value({ ['k'.repeat(600)]: 1 })).toBe(`{"${'k'.repeat(498)} … (cut, 606 characters)`);
  const digits = '9'.repeat(600);
  expect(pairs(['a'], `{"a":${digits}}`)).toEqual([['a', digits]]);
});

test('a value that a question cannot hold is a field besides, and comes first', () => {
  const long = 'x'.repeat(501);
  const ask = 'Run {a} in {b}?';
  const details = detailsOf(rule({ ask }), { a: long, b: '/' }) as Details;
  expect(details.question).toBe(`Run ${'x'.repeat(500)} … (cut, 501 characters) in /?`);
  expect(details).toMatchObject({ fields: [{ path: 'a', value: long }], complete: true });
  expect(beginningOf(details).complete).toBe(false);
  const all = detailsOf(rule({ ask, show: 'all' }), { c: '1', b: '/', a: long }) as Details;
  expect(all.fields.map(({ path }) => path)).toEqual(['a', 'c', 'b']);
  // The question as a whole is cut, so what stands behind it is a field, too.
  const many = detailsOf(rule({ ask: '{a}{b}{c}' }), {
    a: 'a'.repeat(500),
    b: 'b'.repeat(500),
    c: 'c',
  }) as Details;
  expect(many.question).toEndWith('b … (cut)');
  expect(many.fields).toEqual([{ path: 'c', value: 'c' }]);
});

test('long values do not hide a short one in a list', () => {
  const padding = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`note${at}`, 'x'.repeat(480)]));
  const command = 'rm -rf / --no-preserve-root';
  const { fields, omitted, complete } = beginning('all', { ...padding, command });
  expect(fields.at(-1)).toEqual({ path: 'command', value: command });
  expect([fields.length, omitted, complete]).toEqual([21, undefined, false]);
  expect(fields[0]?.value).toBe(`${'x'.repeat(250)} … (cut, 480 characters)`);
  // Nor does an object before it, whatever it holds.
  const within = { settings: Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, at])) };
  const nested = beginning('all', { ...within, command });
  expect(nested.fields[0]).toEqual({ path: 'command', value: command });
  expect(nested.fields.length + (nested.omitted ?? 0)).toBe(5001);
});

test('a list has 8 KiB, and what has no room is counted', () => {
  const args = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`k${at}`, 'é'.repeat(250)]));
  const all = beginning('all', args);
  const bytes = all.fields.map(({ path, value }) => Buffer.byteLength(path + value));
  expect(bytes.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(8192);
  expect([all.fields.length, all.omitted, all.complete]).toEqual([53, 147, false]);
  // A path is counted with its value: 100 of those that are left out have four characters, and 47 have three.
  expect(all.omittedCharacters).toBe(147 * 250 + 100 * 4 + 47 * 3 + 53 * (250 - 62));
  // The last byte is used.
  const filled = (last: number) => {
    const values = [...Array.from({ length: 16 }, () => 500), last].map(length => 'x'.repeat(length));
    return beginning('all', Object.fromEntries(values.map((value, at) => [`k${10 + at}`, value])));
  };
  expect([filled(141).complete, filled(142).complete]).toEqual([true, false]);
  // A path that is too long for a list is cut, too, and reads as none.
  const key = 'k'.repeat(20_000);
  const [field] = beginning('all', { [key]: 1 }).fields;
  expect(field?.path).toBe(`${'k'.repeat(500)} … (cut)`);
  expect(parsePath(field?.path ?? '')).toBeString();
  expect(shown('all', JSON.stringify({ [key]: 1 })).fields[0]?.path).toBe(key);
});

test('the beginning of what is not complete is not complete either', () => {
  const fields = [{ path: 'a', value: 'x' }];
  expect(beginningOf({ question: null, fields, complete: true }).complete).toBe(true);
  expect(beginningOf({ question: null, fields, complete: false }).complete).toBe(false);
});

test('256 KiB of a call are held, and beyond that the details are not complete', () => {
  const room = 262_144 - 1;
  expect(detailsOf(rule({ show: ['a'] }), { a: 'x'.repeat(room) })?.complete).toBe(true);
  const large = detailsOf(rule({ show: 'all' }), { a: 'x'.repeat(room + 1), command: 'rm' }) as Details;
  expect(large.complete).toBe(false);
  expect(large.fields[0]).toMatchObject({ characters: room + 1 });
  expect(large.fields[0]?.value).toEndWith(' … (cut, 262,144 characters)');
  expect(large.fields[1]).toEqual({ path: 'command', value: 'rm' });
  // What is cut in memory is cut once more in a list, with its true length.
  expect(beginningOf(large).fields[0]?.value).toBe(`${'x'.repeat(500)} … (cut, 262,144 characters)`);
  const json = detailsOf(rule({ show: ['a'] }), { a: Array.from({ length: 300_000 }, () => 1) }) as Details;
  expect(json.fields[0]).toMatchObject({ characters: null });
  expect([json.complete, beginningOf(json).complete]).toEqual([false, false]);
  expect(beginningOf(json).fields[0]?.value).toBe(`[${'1,'.repeat(249)}1 … (cut)`);
  // Of many values no more than twice as much is looked at, and the rest is counted.
  const many = Array.from({ length: 2000 }, () => 'x'.repeat(1000));
  const { fields, omitted } = detailsOf(rule({ show: 'all' }), { many }) as Details;
  expect(fields.length).toBeLessThan(1000);
  expect(fields.length + (omitted ?? 0)).toBe(2000);
});

test('the folder of an agent is apart from the fields', () => {
  const details = detailsOf(rule({ show: 'all' }), { folder: '/tmp' }, '/home/ann/project') as Details;
  expect(details).toEqual({
    question: null,
    folder: '/home/ann/project',
    fields: [{ path: 'folder', value: '/tmp' }],
    complete: true,
  });
  expect(detailsOf(rule({ show: 'all' }), {}, `/${'x'.repeat(5000)}`)?.complete).toBe(false);
});

test('of a large value, no more is read than is held', () => {
  const unread = {
    get: () => {
      throw new Error('it was read');
    },
    enumerable: true,
  };
  const list = Array.from({ length: 300_000 }, (_, at) => at);
  Object.defineProperty(list, list.length, unread);
  const within: Json = { a: { list } };
  for (const path of ['a', 'a.list'])
    expect(detailsOf(rule({ show: [path], ask: `{${path}}` }), within)?.fields[0]?.value).toEndWith(
      ' … (cut)',
    );
});

test('the largest arguments are looked at once', () => {
  const wide = detailsOf(rule({ show: 'all', ask: '{a} {b}' }), {
    a: Array.from({ length: 250_000 }, () => 0),
    b: 'x'.repeat(4_000_000),
    ['k'.repeat(1_000_000)]: Array.from({ length: 10_000 }, () => null),
  }) as Details;
  expect(wide.fields.length + (wide.omitted ?? 0)).toBe(260_002);
  const deep = parseJson(`${'{"a":['.repeat(31)}1${']}'.repeat(31)}`);
  expect(detailsOf(rule({ show: 'all' }), deep)?.fields).toEqual([
    { path: `a${'[0].a'.repeat(30)}[0]`, value: '1' },
  ]);
});

test('whatever an agent sends: bounded, well-formed, and every path leads to its value', () => {
  const key = fc.oneof(
    fc.constantFrom('a', 'b', 'customer', '__proto__', '', '0', 'x-y', 'a b', 'é', '"', ']', '\ud800'),
    fc.string({ unit: 'binary', maxLength: 5 }),
    fc.nat({ max: 700 }).map(length => 'k'.repeat(length)),
  );
  const leaf = fc.oneof(
    fc.constantFrom('1', '-0.5', '1e400', 'null', 'true', '[]', '{}', '12345678901234567890'),
    fc.string({ unit: 'binary', maxLength: 10 }).map(each => JSON.stringify(each)),
    fc.nat({ max: 3000 }).map(length => JSON.stringify('😀x'.repeat(length))),
  );
  const { tree } = fc.letrec<{ tree: string }>(tie => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('tree'), { maxLength: 6 }).map(items => `[${items}]`),
      fc.dictionary(key, tie('tree'), { maxKeys: 6 }).map(objectText),
    ),
  }));
  const args = fc.dictionary(key, tree, { maxKeys: 12 }).map(objectText);
  const path = fc.constantFrom(
    'a',
    'b.a',
    'customer',
    'a[0]',
    '["0"]',
    '[""]',
    'a.b.customer',
    '["__proto__"].a',
  );
  const show = fc.oneof(fc.constant('all' as const), fc.uniqueArray(path, { minLength: 1 }));
  const ask = fc.array(path, { maxLength: 20 }).map(paths => paths.map(each => `{${each}} `).join(''));
  fc.assert(
    fc.property(args, show, ask, (text, show, ask) => {
      const args = parseJson(text);
      const details = detailsOf(rule({ show, ask }), args) as Details;
      const { question, fields, omitted = 0, complete } = details;
      const texts = [question ?? '', ...fields.flatMap(({ path, value }) => [path, value])];
      expect(texts.every(each => each.isWellFormed())).toBe(true);
      expect(Buffer.byteLength(texts.join(''))).toBeLessThanOrEqual(262_144);
      for (const { path, value } of fields)
        if (complete && Array.from(path).length <= 500)
          expect(textOf(valueAt(args, parsePath(path) as Path))).toBe(value);
      const list = beginningOf(details);
      const listed = [list.question ?? '', ...list.fields.flatMap(({ path, value }) => [path, value])];
      expect(listed.every(each => each.isWellFormed())).toBe(true);
      expect(Buffer.byteLength(listed.join(''))).toBeLessThanOrEqual(8192);
      expect(list.fields.every(({ value }) => Array.from(value).length <= 540)).toBe(true);
      expect(list.fields.length + (list.omitted ?? 0)).toBe(fields.length + omitted);
      if (list.complete) expect(list).toEqual(details);
      const selected = new Set(show === 'all' ? [] : show).size;
      expect(fields.length + omitted).toBeGreaterThanOrEqual(
        show !== 'all' ? selected : text === '{}' ? 0 : leavesOf(args),
      );
    }),
    { numRuns: LONG ? 10_000 : 30 },
  );
});

function objectText(members: Record<string, string>): string {
  return `{${Object.entries(members).map(([key, value]) => `${JSON.stringify(key)}:${value}`)}}`;
}

function textOf(value: Json | undefined): string {
  if (value === undefined) return '(not given)';
  return typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value);
}

function leavesOf(value: Json): number {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return 1;
  const parts: Json[] = Object.values(value);
  return parts.length === 0 ? 1 : parts.reduce<number>((sum, part) => sum + leavesOf(part), 0);
}

test('a grant can be bound to what the call has, at a path that is whole', () => {
  const { fields } = shown(['amount', 'currency'], '{"amount": 5}');
  expect(bindable(fields).map(({ path }) => path)).toEqual(['amount']);
  const long = shown('all', JSON.stringify({ ['a'.repeat(600)]: 1, b: 2 }));
  expect(bindable(long.fields).map(({ path }) => path)).toEqual(['b']);
});

test('of a long path its beginning is given, and that it is cut', () => {
  const { fields, complete } = beginning('all', { ['x'.repeat(501)]: 1 });
  expect([fields, complete]).toEqual([[{ path: `${'x'.repeat(500)} … (cut)`, value: '1' }], false]);
});

test('of each value is said whether it is known, where that is asked, and it stays with values that are cut', () => {
  const is = (value: Json | undefined) =>
    typeof value === 'string' ? value.startsWith('Ann') : value === undefined ? undefined : false;
  const args = { to: 'Ann', cc: 'Eve', text: `Ann ${'x'.repeat(600)}` };
  const details = detailsOf(rule({ show: ['to', 'cc', 'text', 'bcc'] }), args, null, is) as Details;
  expect(details.fields.map(({ path, known }) => [path, known])).toEqual([
    ['to', true],
    ['cc', false],
    ['text', true],
    ['bcc', undefined],
  ]);
  expect(beginningOf(details).fields[2]).toMatchObject({ characters: 604, known: true });
  expect(detailsOf(rule({ show: ['to'] }), args)?.fields).toEqual([{ path: 'to', value: 'Ann' }]);
});

test('a value in the question that is not known is a field too, which says so', () => {
  const is = (value: Json | undefined) => value === 'Ann';
  const fieldsOf = (ask: string, show?: Rule['show']) =>
    detailsOf(rule({ ask, ...(show && { show }) }), { to: 'Ann', cc: 'Eve' }, null, is)?.fields;
  expect(fieldsOf('Send to {to}?')).toEqual([]);
  expect(fieldsOf('Send to {to} and {cc}?')).toEqual([{ path: 'cc', value: 'Eve', known: false }]);
  expect(fieldsOf('Send to {cc}?', ['to', 'cc'])).toEqual([
    { path: 'cc', value: 'Eve', known: false },
    { path: 'to', value: 'Ann', known: true },
  ]);
});
