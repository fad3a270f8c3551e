// Why a named approval cannot be spent, at the very moment at which it changes.

import { expect, test } from 'bun:test';
import { whyUnusable } from '../../../src/guard/check/unusable.ts';

const NOW = 1000;
const APPROVED_AFTER = 500;
const usable = {
  status: 'approved' as const,
  expiresAt: NOW - 1,
  resolvedAt: APPROVED_AFTER + 1,
  grantExpiresAt: null,
  spentAt: null,
  withdrawnAt: null,
};
const why = (more: Partial<Parameters<typeof whyUnusable>[0]>) =>
  whyUnusable({ ...usable, ...more }, NOW, APPROVED_AFTER);

test('one that was approved lately and still has its use is usable, also past the time for answers', () => {
  expect(why({})).toBeNull();
});

test('every other is not, and why', () => {
  expect(why({ status: 'pending', resolvedAt: null, expiresAt: NOW + 1 })).toBe('unanswered');
  expect(why({ status: 'pending', resolvedAt: null, expiresAt: NOW })).toBe('timed_out');
  expect(why({ status: 'timed_out' })).toBe('timed_out');
  expect(why({ status: 'denied' })).toBe('denied');
  expect(why({ grantExpiresAt: NOW + 1 })).toBe('opened_grant');
  expect(why({ spentAt: NOW })).toBe('used');
  expect(why({ withdrawnAt: NOW })).toBe('withdrawn');
  expect(why({ resolvedAt: APPROVED_AFTER })).toBe('too_old');
});
