// `path.within`, `url.*` and `email.domain` against tables of tricks: what is not understood fails.

import { expect, test } from 'bun:test';
import { emailDomain } from '../../../src/core/condition/email.ts';
import { pathWithin } from '../../../src/core/condition/path.ts';
import { urlHost, urlPort, urlScheme } from '../../../src/core/condition/url.ts';

test('a path is within a folder by its normalised text', () => {
  expect(pathWithin('/srv/documents/./a//b/', '/srv/documents')).toBe(true);
  expect(pathWithin('/srv/documents2', '/srv/documents')).toBe(false);
  expect(pathWithin('~/documents', '/')).toBe(null);
});

test('scheme, host and port of a plain URL', () => {
  const url = 'HTTPS://user@Example.COM/a';
  expect([urlScheme(url), urlHost(url), urlPort(url)]).toEqual(['https', 'example.com', 443]);
  expect(urlHost('http:example.com')).toBe(null);
});

test('the domain of a plain address', () => {
  expect(emailDomain('Ops@Example.COM')).toBe('example.com');
  expect(emailDomain('a@example.com@evil.com')).toBe(null);
});
