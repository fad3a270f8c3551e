// A long text is looked at in stretches, so that others have a turn in between. What is found is the same as at once.

import { expect, test } from 'bun:test';
import { DETECTORS, type DetectorName } from '../../../src/core/detectors/detectors.ts';
import { joined } from '../../../src/core/detectors/find.ts';
import { findIn, findInTurns } from '../../../src/core/results/search.ts';
import { atOnce } from '../../../src/core/results/turns.ts';
import { DRAWN } from '../detectors/drawn.ts';
import { made, marked, type Random, seeded, VECTORS } from '../detectors/made.ts';

const BETWEEN = ['', ' ', '\n', '.', ',', '"', '%20', '\\n', ' +', '@', '-', ':', '1', 'a', 'eyJ'];
const ROUNDS = 4000;

function drawn(random: Random): string {
  let text = '';
  for (let parts = 1 + random(5); parts > 0; parts--) {
    const vector = VECTORS[random(VECTORS.length)]!;
    const kinds = Object.values(DRAWN);
    text += random(2) === 0 ? kinds[random(kinds.length)]!(random) : secretOf(vector, random);
    text += BETWEEN[random(BETWEEN.length)];
  }
  return text;
}

function secretOf({ found: forms }: (typeof VECTORS)[number], random: Random): string {
  return marked(made(forms[random(forms.length)]!, random)).text;
}

test.each(Object.keys(DETECTORS) as DetectorName[])('%s: in stretches as at once', name => {
  const random = seeded(7);
  const find = DETECTORS[name];
  let finds = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const text = drawn(random);
    const atOnceFound = joined(find(text));
    finds += atOnceFound.length;
    const size = 1 + random(60);
    expect([text, size, atOnce(findInTurns(find, text, size))]).toEqual([text, size, atOnceFound]);
  }
  expect(finds).toBeGreaterThan(ROUNDS / 20);
});

test('others have a turn within a long text, and between many short ones', () => {
  const finders = [{ name: 'secrets', findIn: DETECTORS.secrets }];
  const part = (text: string) => ({ text, kind: 'text', spoken: true }) as const;
  for (const parts of [[part('a'.repeat(1024 * 1024))], Array.from({ length: 20_000 }, () => part('a'))]) {
    let turns = 0;
    for (const _ of findIn(parts, finders)) turns++;
    expect(turns).toBeGreaterThan(5);
  }
});
