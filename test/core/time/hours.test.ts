// The hours of a rule: how they are written, and when they are open, also while clocks are changed.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Hours, isWithin, localTime, parseHours } from '../../../src/core/time/hours.ts';
import { CHANGES, clockOf } from '../zones.ts';

const MINUTE = 60_000;

function hours(text: string): Hours {
  const read = parseHours(text);
  if (typeof read === 'string') throw new Error(`${text}: ${read}`);
  return read;
}

/** Whether each time is within the hours. */
const open = (text: string, ...times: string[]) => times.map(time => isWithin(hours(text), Date.parse(time)));

test('the first millisecond is inside, and the one at which they end is not', () => {
  const office = 'mon-fri 08:00-18:00 Europe/Berlin';
  // 16 November 2026 is a Monday; Berlin is one hour ahead.
  const ends = ['T06:59:59.999Z', 'T07:00Z', 'T16:59:59.999Z', 'T17:00Z'].map(time => `2026-11-16${time}`);
  expect(open(office, ...ends)).toEqual([false, true, true, false]);
  expect(open(office, '2026-11-20T12:00Z', '2026-11-21T12:00Z', '2026-11-22T12:00Z')).toEqual([
    true,
    false,
    false,
  ]);
  expect(open(office, '2026-07-13T06:00Z', '2026-07-13T05:59Z')).toEqual([true, false]);
});

test('hours over midnight belong to the day they begin on', () => {
  const night = 'fri 22:00-06:00';
  expect(open(night, '2026-11-20T21:59Z', '2026-11-20T22:00Z', '2026-11-21T05:59Z')).toEqual([
    false,
    true,
    true,
  ]);
  expect(open(night, '2026-11-21T06:00Z', '2026-11-20T05:59Z', '2026-11-21T22:00Z')).toEqual([
    false,
    false,
    false,
  ]);
  expect(open('sun 22:00-06:00', '2026-11-23T05:59Z', '2026-11-22T05:59Z')).toEqual([true, false]);
});

test('what is left out is every day, the whole day, and UTC', () => {
  expect(open('sat,sun', '2026-11-21T00:00Z', '2026-11-22T23:59:59.999Z', '2026-11-23T00:00Z')).toEqual([
    true,
    true,
    false,
  ]);
  expect(open('22:00-24:00', '2026-11-18T23:59:59.999Z', '2026-11-19T00:00Z')).toEqual([true, false]);
  expect(open('22:00-00:00', '2026-11-18T23:59:59.999Z', '2026-11-19T00:00Z')).toEqual([true, false]);
  expect(open('mon Europe/Berlin', '2026-11-15T23:00Z', '2026-11-16T23:00Z')).toEqual([true, false]);
  expect(open('mon', '2026-11-16T00:00Z', '2026-11-17T00:00Z')).toEqual([true, false]);
});

test('days are listed, and a span of days may go around the end of the week', () => {
  const days = (text: string) => hours(text).days.map(Number).join('');
  expect(days('mon-fri')).toBe('1111100');
  expect(days('mon-wed,fri')).toBe('1110100');
  expect(days('sat-mon')).toBe('1000011');
  expect(days('tue-mon')).toBe('1111111');
  expect(days('Wed-WED')).toBe('0010000');
  expect(days('8:00-9:00')).toBe('1111111');
  expect(days(`fri${' '.repeat(97)}`)).toBe('0000100');
});

test('an hour that the clock skips is not open, and one that it shows twice is open twice', () => {
  const early = 'sun 02:00-03:00 Europe/Berlin';
  const inMinutes = (day: string) =>
    Array.from({ length: 1440 }, (_, at) => at).filter(at =>
      isWithin(hours(early), Date.parse(day) + at * MINUTE),
    ).length;
  expect([inMinutes('2026-03-29'), inMinutes('2026-04-05'), inMinutes('2026-10-25')]).toEqual([0, 60, 120]);
});

const FORM = 'must be days, hours and a zone, such as mon-fri 08:00-18:00 Europe/Berlin';
const TIMES = 'must have times from 00:00 to 23:59; the end may be 24:00';
test.each([
  ['', FORM],
  ['Europe/Berlin', FORM],
  ['always', FORM],
  ['mon-wed-fri', FORM],
  ['mon-fri 08:00-18:00 Europe/Berlin now', FORM],
  [`fri${' '.repeat(98)}`, FORM],
  ['mon-fry', 'names an unknown day, "fry"; days are mon, tue, wed, thu, fri, sat, sun'],
  ['mon 08:60-18:00', TIMES],
  ['mon 08:00-18:60', TIMES],
  ['24:00-06:00', TIMES],
  ['08:00-24:01', TIMES],
  ['08:00-08:00', 'must end at another time than it begins; leave the times out for the whole day'],
  ...['Europe/Berln', '+02:00', 'mon-fri', '08:00', '.'].map(zone => [
    `08:00-18:00 ${zone}`,
    `names an unknown time zone, "${zone}"; it ${FORM}`,
  ]),
])('%p is refused', (text, fault) => {
  expect(parseHours(text as string)).toBe(fault as string);
});

test('they are open exactly when a clock on the wall says so', () => {
  const minute = fc.integer({ min: 0, max: 1439 });
  const days = fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 });
  const NAMES = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
  const clock = (at: number) => `${Math.floor(at / 60)}:${String(at % 60).padStart(2, '0')}`;
  for (const [zone, near] of CHANGES) {
    const shown = clockOf(zone, Date.parse(near) - 30 * 60 * MINUTE, 60 * 60);
    const property = fc.property(days, minute, minute, (list, begin, end) => {
      fc.pre(begin !== end);
      const read = hours(`${list.map(day => NAMES[day]).join(',')} ${clock(begin)}-${clock(end)} ${zone}`);
      const wrong = shown.filter(({ now, weekday, minutes }) => {
        const inDay = begin < end ? minutes >= begin && minutes < end : minutes >= begin;
        const fromDayBefore = begin > end && minutes < end && list.includes((weekday + 6) % 7);
        const wanted = (inDay && list.includes(weekday)) || fromDayBefore;
        return isWithin(read, now) !== wanted || isWithin(read, now + MINUTE - 1) !== wanted;
      });
      expect(wrong.map(({ now }) => new Date(now).toISOString())).toEqual([]);
    });
    fc.assert(property, { numRuns: 4, seed: 14 });
  }
});

test('the time that a clock on the wall shows in their zone', () => {
  const shown = (text: string, now: string) => localTime(hours(text), Date.parse(now));
  expect(shown('mon-fri Europe/Berlin', '2026-11-16T07:06:45.900Z')).toBe('mon 08:06 in Europe/Berlin');
  expect(shown('mon-fri europe/berlin', '2026-06-14T22:00:00Z')).toBe('mon 00:00 in europe/berlin');
  expect(shown('08:00-18:00', '1969-12-31T23:59:59Z')).toBe('wed 23:59 in UTC');
  expect(shown('mon Europe/Berlin', '9999-12-31T23:30:00Z')).toBe('sat 00:30 in Europe/Berlin');
});
