// Where a sign-in may lead to: a path of this service, as a browser would resolve it.

import { expect, test } from 'bun:test';
import { isOwnPath } from '../../../src/guard/people/return-targets.ts';

test.each([
  '/dashboard',
  '/dashboard/approvals/01890000-0000-7000-8000-000000000000?tab=1',
  '/v1/approve/tg_apr_x?action=approve',
  '/oauth/authorize?redirect_uri=https%3A%2F%2Fother.example%2F&x=//other.example',
  '/%2Fother.example',
  '/%5Cother.example',
  '/dashboard/..//other.example',
])('%p stays here', path => {
  expect(isOwnPath(path)).toBe(true);
});

test.each([
  '//other.example',
  '///other.example',
  '/\\other.example',
  '\\\\other.example',
  '/\t/other.example',
  '/\n/other.example',
  '/\r\\other.example',
  '\t//other.example',
  'http://toolgate.invalid/',
  'https://other.example/',
  'https:/dashboard',
  'javascript:alert(1)',
  'dashboard',
  '//[',
  '',
])('%p leads away, or nowhere', path => {
  expect(isOwnPath(path)).toBe(false);
});
