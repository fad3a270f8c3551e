// Canonical JSON: one text for one value, and never the same text for two. It binds approvals to calls.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { canonicalJson } from '../../../src/core/wire/canonical.ts';
import { parseJson } from '../../../src/core/wire/json.ts';
import { Vault } from '../../../src/guard/secrets.ts';

const canonical = (text: string) => canonicalJson(parseJson(text));

test('keys are sorted by UTF-16 code units, at every level, and space goes', () => {
  expect(canonical('{ "b" : { "z":1, "a":[ {"d":1,"c":2} ] }, "a" : null }')).toBe(
    '{"a":null,"b":{"a":[{"c":2,"d":1}],"z":1}}',
  );
  // The order of RFC 8785, section 3.2.3.
  const keys = ['\u20ac', '\r', '\ufb33', '1', '😀', '\u0080', '\u00f6'];
  const text = `{${keys.map(key => `${JSON.stringify(key)}:0`).join(',')}}`;
  const sorted = Object.keys(JSON.parse(canonical(text)) as object);
  expect(sorted).toEqual(['1', '\r', '\u0080', '\u00f6', '\u20ac', '😀', '\ufb33']);
});

test('one number has one text', () => {
  for (const text of ['1', '1.0', '1e0', '10e-1', '0.1e1', '1.000']) expect(canonical(text)).toBe('1');
  for (const text of ['0', '-0', '0.0', '0e9', '-0e-9']) expect(canonical(text)).toBe('0');
  expect(canonical('1e21')).toBe('1e+21');
  expect(canonical('100000000000000000000')).toBe('100000000000000000000');
  expect(canonical('0.000001')).toBe('0.000001');
  expect(canonical('1E-7')).toBe('1e-7');
});

test('one string has one text', () => {
  expect(canonical('"\\u0041\\/\\u000a"')).toBe('"A/\\n"');
});

test('order in lists, types and nesting tell values apart', () => {
  const texts = [
    '[1,2]',
    '[2,1]',
    '["1",2]',
    '[[1],2]',
    '[1,[2]]',
    '{"a":null}',
    '{}',
    '{"a":[]}',
    '{"a":{}}',
    '[]',
  ];
  expect(new Set(texts.map(canonical)).size).toBe(texts.length);
});

test('the order of keys never matters', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), fc.nat(), (object, turn) => {
      const entries = Object.entries(object);
      const at = entries.length === 0 ? 0 : turn % entries.length;
      const turned = [...entries.slice(at), ...entries.slice(0, at)].reverse();
      const text = (list: [string, unknown][]) =>
        `{${list.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`;
      expect(canonical(text(turned))).toBe(canonical(text(entries)));
    }),
    { numRuns: 2000, seed: 7 },
  );
});

/** A decimal text as an exact fraction of powers of ten. */
function exactly(text: string): { digits: bigint; exponent: number } {
  const found = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) as RegExpExecArray;
  const fraction = found[3] ?? '';
  let digits = BigInt(`${found[1]}${found[2]}${fraction}`);
  let exponent = Number(found[4] ?? 0) - fraction.length;
  if (digits === 0n) return { digits, exponent: 0 };
  while (digits % 10n === 0n) {
    digits /= 10n;
    exponent++;
  }
  return { digits, exponent };
}

const digits = (max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: max });
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits(20),
    fc.option(digits(20)),
    fc.option(fc.integer({ min: -350, max: 350 })),
  )
  .map(([sign, whole, fraction, exponent]) => {
    const head = sign + whole.replace(/^0+(?=.)/, '');
    return head + (fraction === null ? '' : `.${fraction}`) + (exponent === null ? '' : `e${exponent}`);
  });

test('no two different numbers ever share a text', () => {
  fc.assert(
    fc.property(number, text => {
      expect(exactly(canonical(text))).toEqual(exactly(text));
    }),
    { numRuns: 20_000, seed: 8 },
  );
  for (const text of [
    '4503599627370497.3',
    '9007199254740991.4',
    '2251799813685249.55',
    '4e-324',
    '1.2345e-320',
  ]) {
    expect(exactly(canonical(text))).toEqual(exactly(text));
  }
});

test('the digest of arguments: absent and {} are the same call, and null, [] and {"a":null} are others', () => {
  const vault = new Vault(new Uint8Array(32).fill(7));
  const other = new Vault(new Uint8Array(32).fill(8));
  const digest = (text: string) => vault.callDigest({ args: parseJson(text) });
  expect(vault.callDigest({ args: undefined })).toBe(digest('{}'));
  expect(digest('{"b":1,"a":{"d":1,"c":2}}')).toBe(digest('{"a":{"c":2,"d":1.0},"b":1e0}'));
  const texts = [
    '{}',
    '{"a":null}',
    '{"a":9007199254740993}',
    '{"a":9007199254740992}',
    '{"a":"1"}',
    '{"a":1}',
  ];
  expect(new Set(texts.map(digest)).size).toBe(texts.length);
  expect(other.callDigest({ args: undefined })).not.toBe(vault.callDigest({ args: undefined }));
  expect(vault.callDigest({ args: undefined })).toMatch(/^[0-9a-f]{64}$/);
  // A call of a coding agent in another folder is another call.
  const folders = [null, '/home/ann/shop', '/home/ann/other'];
  const digests = folders.map(folder => vault.callDigest({ args: undefined, agent: { folder } }));
  expect(new Set(digests).size).toBe(3);
  expect(digests[0]).toBe(vault.callDigest({ args: undefined }));
});

test('the digest of a call with a continuation: of that one, and never of arguments alone', () => {
  const vault = new Vault(new Uint8Array(32).fill(7));
  const given = (args: string, continuation?: string) =>
    vault.callDigest({
      args: parseJson(args),
      ...(continuation !== undefined && { continuation: parseJson(continuation) }),
    });
  // As it was before there were any: what was approved then can be spent.
  expect(given('{"a":1}')).toBe('770a834e72a808e2a34e5df40ecad3aaf88c76cd63b7ab6d08bc3a35309c5d6f');
  expect(given('{"a":1}', '{"x":1,"y":2}')).toBe(given('{"a":1}', '{"y":2,"x":1}'));
  const calls = [
    given('{"a":1}'),
    given('{}'),
    given('{"a":1}', '{}'),
    given('{"a":1}', '{"requestState":"s"}'),
    given('{"a":1}', '{"inputResponses":{}}'),
    given('{"a":1}', '{"inputResponses":{"q":1}}'),
    given('{"a":1}', '{"inputResponses":{"q":1},"requestState":"s"}'),
    given('{"a":1,"inputResponses":{"q":1},"requestState":"s"}'),
    given('{"inputResponses":{"q":1},"requestState":"s"}', '{"a":1}'),
  ];
  expect(new Set(calls).size).toBe(calls.length);
});
