import { expect, test } from 'bun:test';
import { visible, visibleLines } from '../../src/core/visible.ts';

test('letters of another script are written out where they stand in a word', () => {
  expect(visible('аdmin@еxample.com')).toBe('\\u{0430}dmin@\\u{0435}xample.com');
  expect(visible('pay раypal now')).toBe('pay \\u{0440}\\u{0430}ypal now');
  // The word is Cyrillic but for one letter.
  expect(visible('перeвод')).toBe('пер\\u{0065}вод');
  expect(visible('gοοgle')).toBe('g\\u{03BF}\\u{03BF}gle');
  expect(visibleLines('a\nаb')).toBe('a\n\\u{0430}b');
});

test('an invisible character does not make two words of one', () => {
  expect(visible('а\u200Bdmin')).toBe('\\u{0430}\\u{200B}dmin');
});

test('words of one script are left as they are, and so are those that are usually mixed', () => {
  for (const text of [
    'перевод',
    'Ελλάδα',
    'user_имя',
    'admin почта',
    'naïve café',
    'Tシャツ',
    'KTV唱歌',
    '3µs',
    'e\u0301',
    '한글abc',
  ])
    expect(visible(text)).toBe(text);
});
