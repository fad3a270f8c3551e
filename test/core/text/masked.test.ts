// Addresses that are shown to people who must not learn them.

import { expect, test } from 'bun:test';
import { maskedEmail, maskedUrl } from '../../../src/core/text/masked.ts';

test('an e-mail keeps its first character and its domain', () => {
  expect(maskedEmail('ann@example.com')).toBe('a…@example.com');
  expect(maskedEmail('𝒜nn@example.com')).toBe('𝒜…@example.com');
  expect(maskedEmail('"a@b"@example.com')).toBe('"…@example.com');
  expect(maskedEmail('@example.com')).toBe('…');
  expect(maskedEmail('nobody')).toBe('…');
});

test('a URL keeps its host: no user, path or query', () => {
  expect(maskedUrl('https://user:secret@hooks.example.com:8443/T0/secret?key=secret#x')).toBe(
    'hooks.example.com:8443',
  );
  expect(maskedUrl('secret')).toBe('…');
});
