// No text takes more than linear work. Shapes of secrets are bounded, so that an attempt takes bounded work; what is not
// bounded begins nowhere within its own characters. Steps are counted by a model of the shapes: with a text twice as long
// there are twice as many.

import { expect, test } from 'bun:test';
import { DETECTORS } from '../../../src/core/detectors/detectors.ts';
import { opens } from '../../../src/core/detectors/edges.ts';
import { SECRET_FORMATS, type SecretFormat } from '../../../src/core/detectors/secret-formats.ts';
import { findSecrets, isInWord } from '../../../src/core/detectors/secrets.ts';
import { stepsOf } from './steps.ts';

/** Texts that are made to be expensive: beginnings of everything that is looked for, repeated, with what may follow. */
const HOSTILE: readonly string[] = [
  ...new Set(SECRET_FORMATS.flatMap(({ prefixes }) => prefixes)),
  ...[
    'eyJhbGci.',
    'eyJeyJ',
    'a.',
    'a_',
    'a-',
    '://',
    '://a:b',
    '://a:b@',
    '-----BEGIN',
    '-----BEGIN PRIVATE KEY-----',
  ],
  ...[
    '@',
    'a@',
    'a@b.',
    '%40',
    'a@a.aa',
    '+',
    '+1 2 3 ',
    '+4',
    '%2B',
    '1',
    '12 ',
    '4111 1111 ',
    '4111-',
    'DE12',
    'DE89 3704 ',
  ],
  ...[
    ':',
    '::',
    'a:',
    '2001:',
    '1.',
    '1.2.3.',
    '.',
    '%20',
    '\\n',
    '\\u0022',
    '\u001b[0m',
    '\u200b',
    '\ufeff',
    '\ud800',
  ],
];

/** Where the formats are tried in a text, and how many steps that takes. */
function steps(text: string, { prefixes, shape, named, apart, before }: SecretFormat): number {
  let count = 0;
  for (const prefix of prefixes)
    for (let at = text.indexOf(prefix); at >= 0; at = text.indexOf(prefix, at + 1)) {
      count += 1 + (before === undefined ? 0 : 76);
      if (!named && before === undefined && (!opens(text, at) || (apart && isInWord(text, at)))) continue;
      count += stepsOf(shape, text, at + prefix.length);
    }
  return count;
}

/** The last attempts of the shorter text end with it. */
const AT_THE_END = 100_000;

test('with twice as much of a hostile text there are twice as many steps, and never more than 250 for a character', () => {
  for (const part of HOSTILE)
    for (const fill of ['', 'a'.repeat(40), '-', '_-', '=']) {
      const short = (part + fill).repeat(Math.ceil(2_000 / (part + fill).length));
      const long = short + short;
      for (const format of SECRET_FORMATS) {
        const few = steps(short, format);
        const many = steps(long, format);
        if (many > 2 * few + AT_THE_END || many / long.length > 250)
          throw new Error(`${format.name}: ${few} and ${many} steps for ${JSON.stringify(part + fill)}`);
      }
    }
}, 60_000);

test('what is not bounded begins nowhere within its own characters', () => {
  const unbounded = SECRET_FORMATS.filter(({ shape, beside = '', before = '' }) =>
    /[*+](?![^[]*\])|\{\d+,\}/.test((shape + beside + before).replace(/\\./g, '')),
  );
  expect(unbounded.filter(({ apart }) => !apart).map(({ name }) => name)).toEqual([
    'GitHub token',
    'GitLab token',
  ]);
});

// With quadratic work, each of these would take hours.
test.each([
  ['keys in the headers of keys', '-----BEGIN PRIVATE KEY-----\na: '.repeat(160_000)],
  ['blanks in a key', `-----BEGIN PRIVATE KEY-----${`${' '.repeat(60_000)}${'A'.repeat(60)}`.repeat(80)}`],
  ['tokens in the tail of tokens', 'eyJ_-'.repeat(1_000_000)],
])('5 MiB of %s are looked at', (_, text) => {
  expect(findSecrets(text)).toBeArray();
});

test('a key whose end is missing is found, however much follows', () => {
  const lines = `${'Ab1+'.repeat(16)}\n`;
  const [find] = findSecrets(`-----BEGIN PRIVATE KEY-----\n${lines.repeat(80_000)}`);
  expect(find?.from).toBe(0);
  expect(find?.to).toBeGreaterThan(60_000);
});

test.each(Object.keys(DETECTORS))('%s: 5 MiB of hostile texts are looked at', name => {
  const find = DETECTORS[name as keyof typeof DETECTORS];
  const each = (5 * 1024 * 1024) / HOSTILE.length;
  expect(find(HOSTILE.map(part => part.repeat(each / part.length)).join('\n'))).not.toBeNull();
});
