// E-mails in one spelling: two that differ are two people.

import { expect, test } from 'bun:test';
import { hidesCharacters, isPlainEmail, normalEmail } from '../../../src/core/text/email.ts';

test('only A to Z are folded, and only blanks around are dropped', () => {
  const spelt: [string, string][] = [
    [' Ops@Example.COM\n', 'ops@example.com'],
    ['mi\u212Ae@example.com', 'mi\u212Ae@example.com'],
    ['\u0130@example.com', '\u0130@example.com'],
    ['ÄRZTE@example.com', 'Ärzte@example.com'],
    ['\u00A0a@example.com', '\u00A0a@example.com'],
    ['\uFEFFa@example.com', '\uFEFFa@example.com'],
  ];
  for (const [given, kept] of spelt) expect(normalEmail(given)).toBe(kept);
});

test('what nobody sees is found, and what only looks like ASCII is told apart from it', () => {
  for (const unseen of ['\u0000', '\u0007', '\u200B', '\u202E', '\u00AD', '\uFEFF', '\u00A0', '\u2800']) {
    expect([unseen, hidesCharacters(`mike${unseen}@example.com`)]).toEqual([unseen, true]);
  }
  expect(hidesCharacters('müller@example.com')).toBe(false);
  for (const odd of ['mi\u212Ae@example.com', 'müller@example.com', 'a b@example.com', '']) {
    expect([odd, isPlainEmail(odd)]).toEqual([odd, false]);
  }
  expect(isPlainEmail("o'brien+ops@example.com")).toBe(true);
});
