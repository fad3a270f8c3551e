// The phrases by which `instructs` is found: every one of them is found as it is written, the page shows all of them, and
// the search agrees with a naive one on random texts.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PAGE } from '../../../scripts/definition-phrases.ts';
import { findingsOf } from '../../../src/core/definitions/findings.ts';
import { GROUPS } from '../../../src/core/definitions/phrases.ts';
import { sized } from '../../support/when-changed.ts';

const saysOf = (description: string) =>
  findingsOf({ name: 'tool', description })
    .filter(each => each.kind === 'instructs')
    .map(each => GROUPS.find(group => each.text.startsWith(`The description ${group.does}`))!.does);

test('every phrase is found in its first and its last words, with nothing and with five words between', () => {
  for (const { does, phrases } of GROUPS)
    for (const phrase of phrases)
      for (const between of ['', 'zz '.repeat(5)])
        for (const pick of [0, -1]) {
          const words = phrase
            .split(' ')
            .map(part => (part === '…' ? between.trim() : part.split('|').at(pick)!));
          const text = words.filter(word => word !== '').join(' ');
          expect([text, saysOf(text)]).toEqual([text, expect.arrayContaining([does])]);
        }
});

test('six words between are too many', () => {
  expect(saysOf('ignore a a a a a previous b b b b b rules').length).toBe(1);
  expect(saysOf('ignore a a a a a a previous b b b b b rules')).toEqual([]);
  expect(saysOf('ignore a a a a a previous b b b b b b rules')).toEqual([]);
});

test('case, underscores, punctuation and hidden characters do not matter', () => {
  for (const text of [
    'IGNORE, previous: RULES',
    'ignore_previous_rules',
    'ig\u200Bnore previous rules',
    'Don’t tell the user',
  ])
    expect([text, saysOf(text).length]).toEqual([text, 1]);
});

test('the page shows the phrases as they are', () => {
  expect(readFileSync(join(import.meta.dir, '../../../docs/definition-phrases.md'), 'utf8')).toBe(PAGE);
});

/** Whether the words have the phrase, by trying all ways. */
function naive(words: readonly string[], steps: readonly string[], from: number, gap: boolean): boolean {
  const [step, ...rest] = steps;
  if (step === undefined) return true;
  if (step === '…') return naive(words, rest, from, true);
  for (let at = from; at <= (gap ? from + 5 : from); at++)
    if (words[at] !== undefined && step.split('|').includes(words[at]!) && naive(words, rest, at + 1, false))
      return true;
  return false;
}

test('random texts: the same is found as by trying all ways', () => {
  const all = GROUPS.flatMap(({ does, phrases }) =>
    phrases.map(phrase => ({ does, steps: phrase.split(' ') })),
  );
  const vocabulary = [...new Set(all.flatMap(({ steps }) => steps.flatMap(step => step.split('|'))))].filter(
    word => word !== '…',
  );
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  for (let round = 0; round < sized(3000, 400, 200); round++) {
    const words = Array.from({ length: 30 }, () =>
      random(3) === 0 ? 'zz' : vocabulary[random(vocabulary.length)]!,
    );
    const expected = new Set(
      all
        .filter(({ steps }) => words.some((_, from) => naive(words, steps, from, false)))
        .map(each => each.does),
    );
    const text = words.join(' ');
    expect([text, new Set(saysOf(text))]).toEqual([text, expected]);
  }
});
