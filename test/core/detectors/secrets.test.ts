// Secrets are found in all their forms and in what surrounds them, and what only looks like one is not found.

import { describe, expect, test } from 'bun:test';
import { SECRET_FORMATS } from '../../../src/core/detectors/secret-formats.ts';
import { findSecrets } from '../../../src/core/detectors/secrets.ts';
import { sized } from '../../support/when-changed.ts';
import { made, marked, realKey, seeded, VECTORS } from './made.ts';

/** Ways in which a secret stands in a text; its line ends are those of the way. */
const AROUND: readonly ((secret: string) => [string, string, string])[] = [
  secret => ['', secret, ''],
  secret => ['The value is ', secret, '. Keep it.'],
  secret => ['TOKEN="', secret, '"\n'],
  secret => ['{"text":"first\\n', secret.replaceAll('\n', '\\n'), '\\nlast"}'],
  secret => ['{\\"text\\":\\"first\\\\n', secret.replaceAll('\n', '\\\\n'), '\\\\nlast\\"}'],
  secret => ['{"text":"\\u003e', secret.replaceAll('\n', '\\n'), '\\u003c"}'],
  secret => ['https://example.com/?a=b%26token%3D', secret.replaceAll('\n', '%0A'), '%26c'],
  secret => ['\u001b[32m', secret, '\u001b[0m'],
  secret => ['-', secret, '\n+other\n'],
  secret => ['| `', secret, '` |'],
  secret => ['<b>', secret, '</b>'],
  secret => ['(', secret, ')'],
];

const foundIn = (text: string) => findSecrets(text).map(({ from, to }) => text.slice(from, to));

test('every format has vectors, and every vector a format', () => {
  const known = [...SECRET_FORMATS.map(({ name }) => name), 'private key', 'password in an address'];
  expect(VECTORS.map(({ name }) => name).sort()).toEqual(known.sort());
  for (const { found, not } of VECTORS) expect([found.length > 0, not.length > 0]).toEqual([true, true]);
});

const rounds = sized(200, 40, 20);

describe.each(VECTORS.map(vector => [vector.name, vector] as const))('%s', (name, { found, not }) => {
  const random = seeded(name.length * 7919);

  test('98 of 100 are found as a whole, whatever stands around them', () => {
    let wanted = 0;
    let seen = 0;
    for (let round = 0; round < rounds; round++)
      for (const form of found) {
        const { text, finds } = marked(made(form, random));
        const around = AROUND[round % AROUND.length] as (typeof AROUND)[number];
        const [before, middle, after] = around(text);
        const expected = finds.map(({ from, to }) => around(text.slice(from, to))[1]);
        const got = foundIn(before + middle + after);
        wanted += expected.length;
        seen += expected.filter(each => got.includes(each)).length;
      }
    expect(seen / wanted).toBeGreaterThanOrEqual(0.98);
  });

  test('what only looks like one is not found', () => {
    for (let round = 0; round < rounds; round++)
      for (const form of not) {
        const { text } = marked(made(form, random));
        expect([text, foundIn(` ${text} `)]).toEqual([text, []]);
      }
  });
});

test('a private key is found whole: as it is, in JSON, in an address, quoted, numbered, and without its end', () => {
  const key = realKey().trim();
  const lines = key.split('\n');
  expect(foundIn(`a\n${key}\nb`)).toEqual([key]);
  const json = JSON.stringify({ private_key: `${key}\n` });
  expect(foundIn(json)).toEqual([JSON.stringify(key).slice(1, -1)]);
  expect(foundIn(JSON.stringify(json))).toHaveLength(1);
  expect(foundIn(`key=${encodeURIComponent(key)}&b=1`)).toEqual([encodeURIComponent(key)]);
  const quoted = lines.map(line => `> ${line}`).join('\n');
  expect(foundIn(quoted)).toEqual([quoted.slice(2)]);
  const numbered = lines.map((line, at) => `${at + 1}\t${line}`).join('\n');
  expect(foundIn(numbered)).toEqual([numbered.slice(2)]);
  const [begin, body] = lines as [string, string];
  expect(foundIn(`${begin}\n${body}`)).toEqual([`${begin}\n${body}`]);
  expect(foundIn(`"${begin}\\n${body}", and more`)).toEqual([`${begin}\\n${body}`]);
});

test('of the tokens that GitHub published as an example, the checksum holds', () => {
  const token = `ghp_${'zQWBuTSOoRi4A9spHcVY'}${'5ncnsDkxkJ0mLq17'}`;
  expect(foundIn(token)).toEqual([token]);
  for (let at = 4; at < token.length; at++)
    expect(foundIn(token.slice(0, at) + (token[at] === 'a' ? 'b' : 'a') + token.slice(at + 1))).toEqual([]);
});

test('texts without secrets', () => {
  for (const text of [
    '',
    'a',
    '\u0000',
    '😀'.repeat(50),
    'é'.repeat(300),
    '\ud800',
    'constructor',
    '__proto__',
  ])
    expect(foundIn(text)).toEqual([]);
});
