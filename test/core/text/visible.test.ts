import { expect, test } from 'bun:test';
import { visible, visibleLines } from '../../../src/core/text/visible.ts';

test('letters of another script are written out where they stand in a word', () => {
  expect(visible('аdmin@еxample.com')).toBe('\\u{0430}dmin@\\u{0435}xample.com');
  expect(visible('pay раypal now')).toBe('pay \\u{0440}\\u{0430}ypal now');
  // The word is Cyrillic but for one letter.
  expect(visible('перeвод')).toBe('пер\\u{0065}вод');
  expect(visible('gοοgle')).toBe('g\\u{03BF}\\u{03BF}gle');
  expect(visibleLines('a\nаb')).toBe('a\n\\u{0430}b');
});

test('a word of look-alikes is written out where it stands with Latin ones in an address, a path or a name', () => {
  expect(visible('аррӏе.com')).toBe('\\u{0430}\\u{0440}\\u{0440}\\u{04CF}\\u{0435}.com');
  expect(visible('а@example.com')).toBe('\\u{0430}@example.com');
  expect(visible('rm /srv/с/x')).toBe('rm /srv/\\u{0441}/x');
  expect(visible('ΑΒ_test')).toBe('\\u{0391}\\u{0392}_test');
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
    '3\u03BCs',
    '10kΩ',
    'Δt',
    '2πr',
    'α-helix',
    'сахар',
    'сахар, sugar',
    'name="сахар"',
    '{"name":"сахар"}',
    'USB-кабель',
    'e\u0301',
    '한글abc',
  ])
    expect(visible(text)).toBe(text);
});
