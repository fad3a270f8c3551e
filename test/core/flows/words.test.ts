// What a text makes known: a table of cases, then random texts against models that share no code with what they test, and
// texts that are made to take long.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { comparable, comparableNumber, formOf, namedIn as yieldedBy } from '../../../src/core/flows/words.ts';
import { ExactNumber } from '../../../src/core/wire/exact-number.ts';
import type { Json } from '../../../src/core/wire/json.ts';
import { type Random, randomText, seeded } from '../oracle.ts';

/** What is yielded and is a value. */
const namedIn = (value: Json) => [...yieldedBy(value)].filter(each => each !== '');

function isKnown(text: string, value: string | number | bigint): boolean {
  const form = typeof value === 'string' ? comparable(value) : comparableNumber(value);
  return form !== null && new Set(namedIn(text)).has(form);
}

const IBAN = 'GB29NWBK60161331926819';
const NFC = 'Zoë Müller';
const NFD = NFC.normalize('NFD');
const EIGHT = 'one two three four five six seven eight';
const LONG = 'w'.repeat(512);

type Case = [text: string, value: string | number | bigint, known: boolean];

const CASES: Record<string, Case[]> = {
  'words and stretches of words': [
    ['send it to Bob Smith today', 'bob', true],
    ['send it to Bob Smith today', 'Bob Smith', true],
    ['send it to Bob Smith today', 'BOB\n SMITH', true],
    ['send it to Bob Smith today', 'Smith Bob', false],
    ['send it to Bob Smith today', 'Bob today', false],
    ['send it to Bob Smith today', 'BobSmith', false],
    ['send it to Bob Smith today', 'mit', false],
    ['send it to Bob Smith today', 'Bobby', false],
    ['Bob', 'Bob Smith', false],
    [EIGHT, EIGHT, true],
    [`${EIGHT} nine`, 'two three four five six seven eight nine', true],
    [`${EIGHT} nine`, `${EIGHT} nine`, false],
    ['', 'bob', false],
    ['bob', '', false],
    ['bob', ' \n', false],
    ['bob ... smith', '...', false],
  ],
  'blanks of all kinds': [
    ['Bob\u00a0Smith', 'Bob Smith', true],
    ['Bob\u3000Smith', 'bob smith', true],
    ['Bob\r\n\tSmith', 'Bob Smith', true],
    ['Bob\u2028Smith\u0085Jones', 'Smith Jones', true],
    ['Bob\u202fSmith', 'bob', true],
  ],
  'punctuation around words, which is dropped, and inside, which stays': [
    ['Write to bob@x.org.', 'bob@x.org', true],
    ['Write to bob@x.org.', 'Bob@X.org', true],
    ['Write to <bob@x.org>, please', 'bob@x.org', true],
    ['Write to bob@x.org.', 'x.org', false],
    ['Write to bob@x.org.', 'bob', false],
    ['Write to bob@x.org.', 'bob@x.org.evil.com', false],
    ['Write to bob@x.org, ann@y.org', 'bob@x.org ann@y.org', true],
    ['Write to bob@x.org,ann@y.org', 'ann@y.org', false],
    ['the file "Annual Report" of „Bob“', 'Annual Report', true],
    ['the file "Annual Report" of „Bob“', '"annual report"', true],
    ['the file "Annual Report" of „Bob“', 'Bob', true],
    ['the file «Annual Report»', 'annual report', true],
    ["Bob's house, O'Neill's", "Bob's", true],
    ["Bob's house, O'Neill's", 'bob', false],
    ['Tom & Jerry', 'tom jerry', true],
    ['Tom & Jerry', 'Tom & Jerry', true],
    ['well-known, that is', 'well-known', true],
    ['well-known, that is', 'known', false],
    ['**bold** `code` ~tilde~', 'bold code tilde', true],
    ['a ≠bob', 'bob', true],
    ['a ≠bob'.normalize('NFD'), 'bob', true],
    ['´bob´ ', 'bob', true],
    ['bob≠'.normalize('NFD'), 'bob', true],
    ['-\u0301bob-\u0301', 'bob', true],
    ['bob⒈', 'bob1', true],
    ['bob\u{10100}', 'bob', true],
  ],
  'what stands before an address or a path': [
    ['Write to bob@x.org', '_bob@x.org', false],
    ['Write to bob@x.org', '-bob@x.org', false],
    ['Write to bob@x.org', '.bob@x.org', false],
    ['Write to bob@x.org', '"bob@x.org"', true],
    ['Write to _bob@x.org_ please', 'bob@x.org', true],
    ['Write to _bob@x.org please', '_bob@x.org please', true],
    ['Write to bob@x.org please', '_bob@x.org please', false],
    ['read secrets', '../secrets', false],
    ['read secrets', '/secrets', false],
    ['read ~/secrets', '/secrets', false],
    ['read "../secrets".', '../secrets', true],
    ['read ../secrets', 'secrets', true],
    ['- secrets', '-secrets', true],
    ['open x.org', '.x.org', false],
    ['open x.org', '*@x.org', false],
    ['open x.org', '%@x.org', false],
    ['Write to bob@x.org', '%bob@x.org', false],
    ['Write to bob@x.org', '*bob@x.org', false],
    ['Write to bob@x.org', '*"bob@x.org', false],
    ['Write to bob@x.org', '_\u200bbob@x.org', false],
    ['Write to *bob@x.org*', 'bob@x.org', true],
    ['Write to %bob@x.org', '%bob@x.org', true],
    ['read **/srv/notes**', '/srv/notes', true],
    ['read @/srv/notes/a.md, please', '/srv/notes/a.md', true],
    ['read /srv/notes', `${'"'.repeat(100)}/srv/notes`, false],
  ],
  'what stands behind an address or a path': [
    ['Write to bob@example.com.', 'bob@example.com', true],
    ['Look at /srv/notes.', '/srv/notes', true],
    ['Look at /srv/notes/.', '/srv/notes', true],
    ['see /srv/notes... and /srv/other…', '/srv/notes', true],
    ['see /srv/notes... and /srv/other…', '/srv/other', true],
    ['see /srv/notes/, (/srv/other/)', '/srv/notes', true],
    ['see /srv/notes/, (/srv/other/)', '/srv/other/', true],
    ['see /srv/notes', '/srv/notes/', true],
    ['see /srv/notes', '/srv/notes.', true],
    ['do you mean /srv/notes?!', '/srv/notes', true],
    ['do you mean /srv/notes?!', '/srv/notes?', true],
    ['Clean up /home/me/project', '/home/me/project/.', false],
    ['Clean up /home/me/project', '/home/me/project/..', false],
    ['Clean up /home/me/project', '/home/me/project/../..', false],
    ['Clean up /home/me/project', '/home/me/project/../../.', false],
    ['Clean up /home/me/project', '/home/me/project/../', false],
    ['Clean up /home/me/project', '/home/me/project//..', false],
    ['Clean up /home/me/project', '/home/me/project/\u200b..', false],
    ['Clean up /home/me/project', '/home/me/project\u200b/..', false],
    ['Clean up /home/me/project', '/home/me/project／．．', false],
    ['Clean up /home/me/project', '/home/me/project/‥', false],
    ['Clean up /home/me/project', '/home/me/project"/..', false],
    ['Clean up /home/me/project', `/home/me/project${'"'.repeat(100)}/..`, false],
    ['Clean up /home/me/project', '/home/me/project/*', false],
    ['Clean up /home/me/project', '/home/me/project/..".', false],
    ['Clean up C:\\work\\x', 'C:\\work\\x\\..', false],
    ['Clean up C:\\work\\x', 'C:\\work\\x\\', true],
    ['Clean up project', 'project/..', false],
    ['Clean up project', 'project/*', false],
    ['Clean up ../project', '../project/..', false],
    ['Clean up /home/me/project/..', '/home/me/project/..', true],
    ['Clean up /home/me/project/..', '/home/me/project', true],
    ['Clean up "/home/me/project/*".', '/home/me/project/*', true],
    ['Clean up /home/me/project/* now', '/home/me/project/* now', true],
    ['Clean up /home/me/project now', '/home/me/project/* now', false],
    ['read /home/me/notes', '/home/me/notes~', false],
    ['read /home/me/notes', '/home/me/notes-', false],
    ['read /home/me/notes', '/home/me/notes*', false],
    ['read /notes', '/notes~', false],
    ['read /home/me/notes~.', '/home/me/notes~', true],
    ['read */home/me/notes*', '/home/me/notes', true],
    ['Write to bob@x.org', 'bob@x.org%', false],
    ['Write to bob@x.org', 'bob@x.org@', false],
    ['Write to bob@x.org', 'bob@x.org_', false],
    ['Write to _bob@x.org_', '_bob@x.org_', true],
    ['open https://x.org/a', 'https://x.org/a#', false],
    ['open https://x.org/a', 'https://x.org/a&', false],
    ['open https://x.org/a', 'https://x.org/a$', false],
    ['open https://x.org/a', 'https://x.org/a+', false],
    ['open https://x.org/a?b', 'https://x.org/a?b=', false],
    ['open https://x.org/a', 'https://x.org/a/?', true],
    ['call Bob*', 'bob', true],
    ['call Bob', 'Bob*', true],
    [`read ${'/w'.repeat(256)}`, `../${'w/'.repeat(255)}w`, false],
  ],
  paths: [
    ['read /etc/passwd, then ~/notes.txt', '/etc/passwd', true],
    ['read /etc/passwd, then ~/notes.txt', '~/notes.txt', true],
    ['read /etc/passwd, then ~/notes.txt', '/etc', false],
    ['read /etc/passwd, then ~/notes.txt', 'passwd', false],
    ['read C:\\Users\\ann\\a.txt', 'c:\\users\\ann\\a.txt', true],
  ],
  'an IBAN with blanks and without': [
    ['Pay GB29 NWBK 6016 1331 9268 19.', IBAN, true],
    [`Pay ${IBAN}.`, 'GB29 NWBK 6016 1331 9268 19', true],
    ['Pay GB29 NWBK 6016 1331 9268 19 today', 'gb29 nwbk60161331926819', true],
    ['Pay GB29 NWBK 6016 1331 9268 19', 'GB29 NWBK 6016 1331 9268 18', false],
    ['Pay GB29 NWBK 6016 1331 9268', IBAN, false],
    // Malta's has 31 characters, the longest that the shape allows 34, in nine words.
    ['MT84 MALT 0110 0001 2345 MTLC AST0 01S', 'MT84MALT011000012345MTLCAST001S', true],
    ['XX08 3456 7890 1234 5678 9012 3456 7890 12', 'XX0834567890123456789012345678901 2', true],
    ['XX08 3456 7890 1234 5678 9012 3456 7890 12', 'XX08 3456 7890 1234 5678 9012 3456 7890 12', true],
    ['XX09 3456 7890 1234 5678 9012 3456 7890 12', 'XX09345678901234567890123456789012', false],
    ['XX09 3456 7890 1234 5678 9012 3456 7890 12', 'XX09 3456 7890 1234 5678 9012 3456 7890 12', false],
    ['XX12 345 678 9012', 'XX123456789012', false],
    ['XX67 345 678 90123', 'XX6734567890123', true],
    ['XX68 345 678 90123', 'XX6834567890123', false],
    // The check digits have to hold, and of a country that has IBANs, the length.
    ['Send it to 10 people from accounting', 'to10peoplefromaccounting', false],
    ['at 24 hours notice', 'at24hoursnotice', false],
    ['Pay GB29 NWBK 6016 1331 9268 19 20 EUR', 'GB29NWBK6016133192681920', false],
    ['Pay GB29 NWBK 6016 1331 9268 19 20 EUR', IBAN, true],
    ['Pay GB29 NWBK 6016 1331 9268 19 08 EUR', 'GB29NWBK6016133192681908', false],
    ['Pay GB29 NWBK 6016 1331 9268 18', 'GB29NWBK60161331926818', false],
    ['Pay GB29 NWBK 6016 1331 9268 18', 'GB29 NWBK 6016 1331 9268 18', true],
    ['Pay GB29NWBK60161331926818', 'GB29NWBK60161331926818', true],
    [IBAN, `${IBAN} \ud800`, false],
    ['1234 5678 9012 3456', '1234567890123456', false],
  ],
  'numbers, as numbers and as words': [
    ['it costs 98.70 in all', 98.7, true],
    ['it costs 98.7.', 98.7, true],
    ['it costs 98.70 in all', '98.70', true],
    ['it costs 98.70 in all', '98.7', false],
    ['it costs 98.70 in all', 98.71, false],
    ['it costs 98.70 in all', 98, false],
    ['it costs 1.000,50', 1000.5, false],
    ['it costs 1.000,50', 1, false],
    ['it costs 1.000,50', '1.000,50', true],
    ['it costs $1,200', '1,200', true],
    ['it costs $1,200', 1200, false],
    ['it costs $1200, or €5', 1200, true],
    ['it costs $1200, or €5', 5, true],
    ['take 1e3', 1000, true],
    ['take 1E3', 1000, true],
    ['take 1000', '1e3', false],
    ['take -5', -5, true],
    ['take -5', 5, false],
    ['take (-5.0)', -5, true],
    ['take 5', -5, false],
    ['take 0.0', 0, true],
    ['take -0', 0, true],
    ['take .5 or ,5 or \u22125', 5, false],
    ['take 05', 5, false],
    ['take 5', 5, true],
    ['take 10²', 102, false],
    ['take 9007199254740993', 9007199254740993n, true],
    ['take 9007199254740993', 9007199254740992, false],
    ['take 12345678901234567890', 12345678901234567890n, true],
    ['number 5', 'number 5', true],
  ],
  'the host of a URL': [
    ['open https://Example.com/a?b.', 'example.com', true],
    ['open https://Example.com/a?b.', 'https://example.com/a?b', true],
    ['open https://Example.com/a?b.', 'com', false],
    ['open (http://example.com:8080)', 'example.com', true],
    ['open https://good.com@evil.com/', 'evil.com', true],
    ['open https://good.com@evil.com/', 'good.com', false],
    ['open https://bücher.example/', 'xn--bcher-kva.example', true],
    ['open example.com/a', 'example.com', false],
    ['open https://evil.com\\@good.com/', 'good.com', false],
    ['open https://[fe80::1]/a', '[fe80::1]', true],
    [`open https://example.com/${LONG}`, 'example.com', true],
  ],
  'scripts without blanks, emoji, combining characters': [
    ['東京都千代田区 に送る', '東京都千代田区', true],
    ['東京都千代田区に送る', '東京都千代田区', false],
    ['「東京都」、', '東京都', true],
    ['ＡＢＣ１２３ ｶﾞ', 'abc123 ガ', true],
    ['well done 👍🏽!', '👍🏽', true],
    ['well done 👍🏽!', '👍🏿', false],
    ['well done 👍👍!', '👍👍', true],
    ['well done👍', 'done', false],
    ['family 👨‍👩‍👧', '👨‍👩‍👧', true],
    ['family 👨‍👩‍👧', '👨👩👧', false],
    ['🏴󠁧󠁢󠁥󠁮󠁧󠁿 won', '🏴󠁧󠁢󠁳󠁣󠁴󠁿', false],
    [NFC, NFD, true],
    [NFD, NFC, true],
    [NFD, 'Zoe Muller', false],
    ['\u0301bob', 'bob', false],
  ],
  'capital and small letters': [
    ['STRASSE', 'Straße', true],
    ['Straße STRAẞE', 'strasse strasse', true],
    ['ΟΔΥΣΣΕΥΣ', 'Οδυσσευς', true],
    ['ὈΔΥΣΣΕΎΣ'.normalize('NFD'), 'ὀδυσσεύς', true],
    ['ﬁle ŉ', 'FILE ʼN', true],
    ['𝐁𝐎𝐁 ΐα', 'bob Ϊ́Α', true],
    ['İstanbul', 'i\u0307stanbul', true],
    ['İstanbul', 'istanbul', false],
    ['lidl.com', 'lıdl.com', false],
    ['LIDL', 'lıdl', false],
    // These are different hosts.
    ['ann@fass.de', 'ann@faß.de', false],
    ['ann@FAẞ.DE', 'ann@faß.de', true],
    ['βόλος.example', 'βόλοσ.example', false],
    ['ΒΌΛΟΣ.example', 'βόλοσ.example', true],
    ['ann@βόλος', 'ann@βόλοσ', false],
  ],
  'letters that only look alike': [
    ['ann@paypal.com', 'ann@pаypаl.com', false],
    ['аnn', 'ann', false],
    ['Αnn', 'ann', false],
    ['ann', 'аnn', false],
    ['rn1', 'm1', false],
    ['l1', 'I1', false],
    ['O0', '00', false],
  ],
  'characters that show nothing': [
    ['\ufeffbob\u200b is', 'bob', true],
    ['\u202abob@x.org\u202c', 'bob@x.org', true],
    ['bob@x.org', 'bob@x.org\u200b', true],
    ['pay\u200bpal', 'paypal', false],
    ['pay\u200bpal', 'pay', false],
    ['pay\u200bpal', 'pay pal', false],
    ['paypal', 'pay\u200bpal', false],
    ['paypal.com', 'pay\u00adpal.com', false],
    ['paypal.com', 'paypal\u200d.com', false],
    ['paypal.com', 'paypal.com\u200d', false],
    ['bob', '\u{e0062}bob', false],
    ['bob\ud800', 'bob\ud800', false],
  ],
  'short and long': [
    ['ab in x y', 'ab', true],
    ['ab in x y', 'x y', true],
    ['ab in x y', 'x', false],
    ['ab in x y', '"x"', false],
    ['a 👍 b', '👍', false],
    [`so ${LONG} it`, LONG, true],
    [`so ${LONG}w it`, `${LONG}w`, false],
    [`so ${LONG}w it`, 'so it', false],
    [`so ${LONG} it`, `so ${LONG}`, false],
    [`so ${'=-'.repeat(5000)}it${'"'.repeat(5000)} is`, 'so it is', true],
    [`é${'\u0301'.repeat(29)}`.normalize('NFD'), `é${'\u0301'.repeat(29)}`, true],
    [`é${'\u0301'.repeat(31)}`, `é${'\u0301'.repeat(31)}`, false],
    [`か${'ﾞ'.repeat(31)}`, `か${'ﾞ'.repeat(31)}`, false],
  ],
  'texts that are JSON': [
    ['{"to": "Bob Smith", "amount": 98.70}', 'bob smith', true],
    ['{"to": "Bob Smith", "amount": 98.70}', 98.7, true],
    ['{"to": "Bob Smith", "amount": 98.70}', '98.70', false],
    ['{"to": "Bob Smith", "amount": 98.70}', 'to', false],
    ['{"to": "Bob Smith", "amount": 98.70}', 'amount', false],
    [' [["Bob"], [{"a": "Smith"}], 12345678901234567890]', 'bob', true],
    [' [["Bob"], [{"a": "Smith"}], 12345678901234567890]', 'Bob Smith', false],
    [' [["Bob"], [{"a": "Smith"}], 12345678901234567890]', 12345678901234567890n, true],
    ['["bob@x.org\\nann"]', 'bob@x.org', true],
    ['["98.70", true, null]', 98.7, true],
    ['["98.70", true, null]', 'true', false],
    ['["{\\"to\\":\\"bob@x.org\\"}"]', 'bob@x.org', true],
    ['["{\\"to\\":\\"bob@x.org\\"}"]', 'to', false],
    ['"bob"', 'bob', true],
    ['[see] the note of Bob', 'see the note', true],
    ['{"to": "Bob Smith"', 'bob smith', true],
    ['{"to": "Bob", "to": "Ann"}', 'to', true],
  ],
};

for (const [name, cases] of Object.entries(CASES)) {
  test.each(cases)(`${name}: %j, %p: %p`, (text, value, known) => {
    expect(isKnown(text, value)).toBe(known);
  });
}

test('a JSON value makes its texts and numbers known, single words before stretches of them', () => {
  const value = {
    a: ['one two', 7],
    b: { c: 'three four' },
    d: new ExactNumber('1.10000000000000000001'),
    e: null,
  };
  expect([...namedIn(value)]).toEqual([
    'one',
    'two',
    comparableNumber(7),
    'three',
    'four',
    comparableNumber('1.10000000000000000001'),
    'one two',
    'three four',
  ]);
  expect([...namedIn(true)]).toEqual([]);
});

test('what nobody can ask about is not yielded', () => {
  expect([...namedIn(`a 👍 ${LONG}w bc`)]).toEqual(['bc', 'a 👍']);
});

test('numbers have one form however they are written, which no text has', () => {
  expect(comparableNumber('98.70')).toBe(comparableNumber(98.7));
  expect(comparableNumber('1e21')).toBe(comparableNumber(1e21));
  expect(comparableNumber(10n ** 30n)).toBe(comparableNumber('1E+30'));
  expect(comparableNumber('0e5')).toBe(comparableNumber(-0));
  expect(comparableNumber('0.1')).not.toBe(comparableNumber('0.10000000000000000555'));
  expect(comparableNumber(Number.NaN)).not.toBe(comparableNumber(Number.POSITIVE_INFINITY));
  expect(comparableNumber('1e99999999999999999998')).not.toBe(comparableNumber('1e99999999999999999999'));
  for (const form of [comparableNumber(5), comparableNumber('1e99999999999999999999')])
    expect(comparable(form)).not.toBe(form);
});

describe('random texts', () => {
  const pick = <Item>(random: Random, items: readonly Item[]): Item => items[random(items.length)] as Item;

  // Each word in several ways to write it, which have to be equal; words of different lines have to be different.
  const WORDS: readonly (readonly string[])[] = [
    ['bob', 'Bob', 'BOB', '\u200bbob', 'ｂｏｂ'],
    ['bоb', 'BОB'],
    ['bob@x.org', 'BOB@X.ORG'],
    ['x.org'],
    ['org'],
    ['/etc/passwd', '/ETC/passwd'],
    ['zoë', 'ZOË', 'zoe\u0308'],
    ['zoe'],
    ['straße', 'STRASSE', 'Strasse'],
    ['東京'],
    ['東京都'],
    ['👍🏽'],
    ['👍'],
    ['98.70'],
    ['98.7'],
    ['n'],
    ['gb29', 'GB29'],
    ['nwbk', 'NWBK'],
    ['60161331926819'],
    ['60161331926818'],
  ];
  const AROUND = ['', '', '', '"', '(', ')', '.', ',', '...', '«', '—', '*', '$', '>', '。', '\u200e'];
  const BLANKS = [' ', ' ', '\n', '\t', '\u00a0', '\u3000', '\r\n', '  ', ' - ', ' & '];

  const sequence = (random: Random, most: number) =>
    Array.from({ length: 1 + random(most) }, () => random(WORDS.length));
  // Some of it makes an address or a path another value, a dot only before it.
  const BEHIND = AROUND.filter(each => !['*', '$'].includes(each));
  const BEFORE = BEHIND.filter(each => !each.includes('.'));
  const written = (random: Random, words: readonly number[]) =>
    words
      .map(word => pick(random, BEFORE) + pick(random, WORDS[word] as string[]) + pick(random, BEHIND))
      .map((word, at) => (at === 0 ? word : pick(random, BLANKS) + word))
      .join('');
  const plain = (words: readonly number[]) => words.map(word => WORDS[word]?.[0]).join('');
  const isIban = (text: string) =>
    /^gb29[a-z0-9]{18}$/.test(text) &&
    BigInt(Array.from(text.slice(4) + text.slice(0, 4), each => parseInt(each, 36)).join('')) % 97n === 1n;

  function modelKnows(text: readonly number[], value: readonly number[]): boolean {
    const asked = plain(value);
    for (let from = 0; from < text.length; from++) {
      for (let to = from + 1; to <= Math.min(from + 9, text.length); to++) {
        const stretch = text.slice(from, to);
        if (isIban(asked) && asked === plain(stretch)) return true;
        if (to - from <= 8 && [...asked].length > 1 && String(stretch) === String(value)) return true;
      }
    }
    return false;
  }

  test('what stands in a text by itself is known, and nothing else', () => {
    const random = seeded(35);
    const seen = { known: 0, unknown: 0 };
    for (let round = 0; round < 6000; round++) {
      const text = sequence(random, 14);
      const from = random(text.length);
      // Some values are taken from the text, some with one word changed, some are any.
      const value = random(3) === 0 ? sequence(random, 3) : text.slice(from, from + 1 + random(10));
      if (random(3) === 0) value[random(value.length)] = random(WORDS.length);
      const [textWritten, valueWritten] = [written(random, text), written(random, value)];
      const known = modelKnows(text, value);
      seen[known ? 'known' : 'unknown']++;
      if (isKnown(textWritten, valueWritten) !== known)
        expect({ text: textWritten, value: valueWritten, known: !known }).toEqual({
          text: textWritten,
          value: valueWritten,
          known,
        });
    }
    expect(seen.known).toBeGreaterThan(1500);
    expect(seen.unknown).toBeGreaterThan(1500);
  });

  /** How many of the marks around its addresses a reading of a text keeps. */
  type Kept = 'none' | 'led' | 'all';

  /** The words of a short text, by another way than ours. */
  function modelWords(text: string, kept: Kept): string {
    const words = text.normalize('NFKC').toLowerCase().split(/\s+/);
    return words
      .map(word => modelWord(word, kept))
      .filter(word => word !== '')
      .join(' ');
  }

  function modelWord(word: string, kept: Kept): string {
    const characters = [...word];
    const isInner = (each: string) => !'.,"@-/*'.includes(each);
    const [first, last] = [characters.findIndex(isInner), characters.findLastIndex(isInner)];
    if (first < 0) return '';
    const [before, inner, behind] = [word.slice(0, first), word.slice(first, last + 1), word.slice(last + 1)];
    const begins = Array.from(before).findIndex(each => '.@-/*'.includes(each));
    const ends = Math.max(
      ...Array.from('@-*', each => behind.lastIndexOf(each)),
      behind.search(/\/\.+[^.]*$/),
    );
    const dots =
      ends >= 0 && behind[ends] === '/' ? (/^\.+/.exec(behind.slice(ends + 1))?.[0].length ?? 0) : 0;
    const lead = begins < 0 ? '' : before.slice(begins);
    const trail = ends < 0 ? '' : behind.slice(0, ends + 1 + dots);
    const isPlace = /[.@/]/.test(inner) || lead.includes('/') || trail.includes('/');
    if (!isPlace || kept === 'none') return inner;
    if (kept === 'all') return lead + inner + trail;
    const near = /[^",@*]*$/.exec(before)?.[0] ?? '';
    return /[.@/]/.test(inner) || near.includes('/') ? near + inner : inner;
  }

  test('any short text: a value is known exactly if its words stand there side by side', () => {
    const random = seeded(36);
    const seen = { known: 0, unknown: 0 };
    for (let round = 0; round < 20_000; round++) {
      const text = randomText(random, 'abbB@.-/*," \u00a0\në', 14);
      const [start, parts] = [random(text.length + 1), text.split(/(?= )/)];
      const value = [
        randomText(random, 'abB@./ ', 4, 2),
        text.slice(start, start + 2 + random(5)),
        parts.slice(random(parts.length)).join(''),
      ][random(3)] as string;
      const asked = modelWords(value, 'all');
      const stands = (kept: Kept) => ` ${modelWords(text, kept)} `.includes(` ${asked} `);
      const known = asked.length > 1 && (stands('none') || stands('led') || stands('all'));
      seen[known ? 'known' : 'unknown']++;
      if (isKnown(text, value) !== known)
        expect({ text, value, known: !known }).toEqual({ text, value, known });
    }
    expect(seen.known).toBeGreaterThan(3000);
    expect(seen.unknown).toBeGreaterThan(3000);
  });

  test('numbers are equal exactly if they are', () => {
    const random = seeded(37);
    const digits = () => randomText(random, '0012', 3, 1);
    const number = () => {
      const [whole, fraction, exponent] = [String(random(13)), digits(), random(7) - 3];
      const sign = random(4) === 0 ? '-' : '';
      return {
        text: `${sign}${whole}.${fraction}${exponent === 0 ? '' : `e${exponent}`}`,
        scaled: BigInt(sign + whole + fraction) * 10n ** BigInt(10 + exponent - fraction.length),
      };
    };
    for (let round = 0; round < 20_000; round++) {
      const [one, other] = [number(), number()];
      const equal = new Set(namedIn(`take ${one.text}, please`)).has(comparableNumber(other.text));
      if (equal !== (one.scaled === other.scaled)) expect([one.text, other.text, equal]).toEqual([]);
    }
  });
});

describe('64 KiB', () => {
  const SIZE = 65_536;
  const filled = (text: string) => text.repeat(Math.ceil(SIZE / text.length)).slice(0, SIZE);

  test('of a prompt: the first words and the last are known, and single words come first', () => {
    const words = Array.from({ length: 9000 }, (_, at) => `word${at}`);
    const named = [...namedIn(words.join(' '))];
    expect(named.slice(0, 9000)).toEqual(words);
    // At the beginning there are fewer stretches that end with a word.
    expect(named.length).toBe(9000 * 8 - 28);
    expect(named.at(-1)).toBe(words.slice(-8).join(' '));
  });

  // Every one of them would take many seconds if its time grew with the square of its length.
  test.each([
    ['words of one character', 'a '],
    ['no blank', 'x'],
    ['nothing but punctuation', '-'],
    ['punctuation with blanks', '- '],
    ['punctuation with marks', '-\u0301'],
    ['marks', '\u0301\u0316'],
    ['marks, some of which are letters before NFKC', '\u0316\uff9e'],
    ['words with many marks', `a${'\u0301\u0316'.repeat(15)} `],
    ['characters of which NFKC makes eighteen', '\ufdfa'],
    ['the same as words', '\ufdfa '],
    ['URLs', 'http://a@b:1/ '],
    ['one long URL', 'http://a@a.'],
    ['zeros', '0'],
    ['numbers', '1e9 '],
    ['open brackets', '['],
    ['what begins like JSON', '[n'],
    ['emoji', '👍🏽'],
    ['halves of characters', '\ud83d '],
    ['words as long as can be', `${LONG} `],
    ['paths with much around them', `${'*/'.repeat(30)}a.b${'/..'.repeat(20)} `],
    ['one path with much around it', '*/'],
    ['what looks like IBANs', 'xx12 3456 7890 1234 5678 '],
  ])('of %s are read in linear time', (_, part) => {
    let count = 0;
    let characters = 0;
    for (const form of namedIn(filled(part))) {
      count++;
      characters += form.length;
    }
    // A word stands in 44 stretches of up to 9 words, by itself included, and may grow by NFKC.
    expect(count).toBeLessThan(5 * SIZE);
    expect(characters).toBeLessThan(18 * 45 * SIZE);
  });
});

test('a plain value has the form that the rules for any value give it', () => {
  const word = fc.stringMatching(/^[!-~]{1,6}$/);
  const plain = fc.array(word, { minLength: 1, maxLength: 9 }).map(words => words.join(' '));
  const iban = fc.stringMatching(/^[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,8}$/);
  const texts = fc.oneof(plain, iban, fc.string({ maxLength: 40 }), fc.stringMatching(/^[a-z ]{0,2}$/));
  fc.assert(
    fc.property(texts, text => {
      expect([text, comparable(text)]).toEqual([text, formOf(text)]);
    }),
    { numRuns: 3000 },
  );
  for (const text of ['a'.repeat(512), 'a'.repeat(513), `${'a b '.repeat(4)}c`, 'a b c d e f g h', 'a'])
    expect([text, comparable(text)]).toEqual([text, formOf(text)]);
});

test.each(['a ', '! ', `${'!'.repeat(9_000)} `, `${'\u0301'.repeat(9_000)} `])(
  'whoever reads a text in slices can stop between words that name nothing',
  part => {
    const text = part.repeat(Math.ceil(100_000 / part.length));
    // The text is read twice: for words, and for stretches of words.
    expect([...yieldedBy(text)].length).toBeGreaterThan((2 * text.length) / 64);
  },
);
