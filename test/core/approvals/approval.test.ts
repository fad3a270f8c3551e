// Durations as people write them, the states of an approval, and the waits between attempts of a delivery.

import { describe, expect, test } from 'bun:test';
import {
  earlierCounts,
  GRANT_DURATIONS,
  isReference,
  statusAfter,
} from '../../../src/core/approvals/approval.ts';
import { ATTEMPT_WAITS, waitAfter } from '../../../src/core/approvals/event.ts';
import { durationText, parseDuration, parseGrantDuration } from '../../../src/core/time/duration.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WRONG = [
  '',
  '5',
  'm',
  '0m',
  '-5m',
  '+5m',
  '1.5h',
  '5 m',
  ' 5m',
  '5m ',
  '5M',
  '5w',
  '5ms',
  '1h30m',
  '05m',
  '٥m',
  '1e3s',
  '9999999999s',
  '5m\n',
];

describe('durations', () => {
  test('are a whole number and one of s, m, h, d', () => {
    expect(parseDuration('90s')).toBe(90_000);
    expect(parseDuration('60m')).toBe(HOUR);
    expect(parseDuration('24h')).toBe(DAY);
    expect(parseDuration('7d')).toBe(7 * DAY);
    for (const text of WRONG) expect(parseDuration(text)).toBeNull();
  });

  test('are written as short as they can be', () => {
    const texts = ['90s', '1m', '90m', '1h', '25h', '1d', '7d', '61s'];
    expect(texts.map(text => durationText(parseDuration(text) as number))).toEqual(texts);
    expect(['60s', '60m', '24h', '3600s'].map(text => durationText(parseDuration(text) as number))).toEqual([
      '1m',
      '1h',
      '1d',
      '1h',
    ]);
  });

  test('that people are offered are ones that a grant can have, the shortest first', () => {
    const lengths = GRANT_DURATIONS.map(([text]) => parseGrantDuration(text) ?? -1);
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
    expect(lengths).not.toContain(-1);
  });

  test('of grants go from 1 minute to 7 days and have no seconds', () => {
    expect(parseGrantDuration('1m')).toBe(MINUTE);
    expect(parseGrantDuration('2h')).toBe(2 * HOUR);
    expect(parseGrantDuration('7d')).toBe(7 * DAY);
    expect(parseGrantDuration('168h')).toBe(7 * DAY);
    expect(parseGrantDuration('10080m')).toBe(7 * DAY);
    for (const text of [...WRONG, '60s', '120s', '8d', '169h', '10081m'])
      expect(parseGrantDuration(text)).toBeNull();
  });
});

test('approve and deny lead to approved and denied', () => {
  expect(statusAfter('approve')).toBe('approved');
  expect(statusAfter('deny')).toBe('denied');
});

test('a reference is a UUID, in small or capital letters, and a text', () => {
  const id = '019b76da-a800-7000-8000-00000000000a';
  expect([id, id.toUpperCase(), crypto.randomUUID()].map(isReference)).toEqual([true, true, true]);
  const wrong = ['', 'x', `${id}0`, ` ${id}`, id.replaceAll('-', ''), id.replace('-7', '-9'), id.slice(1)];
  // A list with one text in it reads as that text wherever it is made one.
  for (const value of [...wrong, [id], { id }, 5, null, undefined]) expect(isReference(value)).toBe(false);
});

describe('the schedule of deliveries', () => {
  test('is the one decided', () => {
    const seconds = [0, 1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
    expect(ATTEMPT_WAITS).toEqual(seconds.map(each => each * 1000));
    expect(seconds.map((_, made) => waitAfter(made, 0.5))).toEqual(seconds.map(each => each * 1000));
  });

  test('spreads each wait by 20 % both ways', () => {
    for (const [made, wait] of ATTEMPT_WAITS.entries()) {
      expect(waitAfter(made, 0)).toBe(Math.round(wait * 0.8));
      expect(waitAfter(made, 0.999999)).toBeLessThanOrEqual(Math.round(wait * 1.2));
      expect(waitAfter(made, 0.999999)).toBeGreaterThanOrEqual(Math.round(wait * 1.19));
    }
  });

  test('ends after the last attempt', () => {
    expect(waitAfter(14, 0.5)).toBe(DAY);
    expect(waitAfter(15, 0.5)).toBeNull();
    expect(waitAfter(1000, 0.5)).toBeNull();
  });
});

test('the counts of earlier questions add up to those that were asked, and leave out what there is none of', () => {
  expect(earlierCounts({ asked: 7, approved: 3, denied: 1, timedOut: 1 })).toBe(
    '3 approved, 1 denied, 1 timed out, 2 waiting',
  );
  expect(earlierCounts({ asked: 2, approved: 0, denied: 2, timedOut: 0 })).toBe('2 denied');
});
