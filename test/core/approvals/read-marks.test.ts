// What a run has read, in words.

import { expect, test } from 'bun:test';
import { clockUtc, readLines } from '../../../src/core/approvals/read-marks.ts';

const ASKED = '2026-11-18T10:40:00.000Z';
const mark = { name: 'untrusted', since: '2026-11-18T10:02:59.999Z', serverName: 'mail', toolName: 'search' };
const words = (...marks: (typeof mark)[]) => readLines(marks, since => clockUtc(since, ASKED));

test('each mark with the call that gave it', () => {
  expect(words()).toEqual([]);
  expect(words(mark)).toEqual(['This run has read: untrusted (mail__search, 10:02 UTC)']);
  const before = {
    ...mark,
    name: 'private',
    since: '2026-11-17T23:59:00.000Z',
    serverName: 'crm',
    toolName: 'get',
  };
  expect(words(mark, before)).toEqual([
    'This run has read: untrusted (mail__search, 10:02 UTC), private (crm__get, 2026-11-17 23:59 UTC)',
  ]);
});

test('the name of a tool neither hides nor reorders anything, nor pushes other marks out of sight', () => {
  const [hostile] = words({ ...mark, toolName: `\u202e\n${'x'.repeat(200)}` }, mark) as [string];
  expect(hostile).toStartWith('This run has read: untrusted (mail__\\u{202E}\\u{000A}xxx');
  expect(hostile).toEndWith('x…, 10:02 UTC), untrusted (mail__search, 10:02 UTC)');
  expect(hostile.length).toBeLessThan(250);
});
