// Limits as data: their faults, the ends of their windows in zones with odd clocks, and amounts in units.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  amountOf,
  countsUntil,
  identityOf,
  type Limit,
  limitFault,
  unitsAllowed,
  unitsOf,
  windowText,
} from '../../../src/core/policy/limit.ts';
import { LIMIT, MAX_UNITS } from '../../../src/core/policy/limit-fields.ts';
import { CHANGES, clockOf, type Shown } from '../zones.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const CALLS: Limit = { calls: 20, within: '1h' };
const REFUNDS: Limit = {
  sum: 'args.amount',
  unit: 0.01,
  atMost: 500,
  each: 'day',
  zone: 'Europe/Berlin',
  per: 'key',
};

test.each<[object, string | null]>([
  [CALLS, null],
  [REFUNDS, null],
  [{ calls: 1, each: 'month' }, null],
  [{ calls: MAX_UNITS, within: '31d', per: 'person', beyond: 'require_approval' }, null],
  [{ calls: 1, within: '44640m' }, null],
  [{ sum: 'args.n', atMost: MAX_UNITS, each: 'hour', zone: 'utc' }, null],
  [{ within: '1h' }, 'a limit has either "calls" or "sum"'],
  [{ ...REFUNDS, calls: 1 }, 'a limit has either "calls" or "sum"'],
  [{ ...CALLS, atMost: 1 }, '"atMost" goes with "sum", not with "calls"'],
  [{ ...CALLS, unit: 1 }, '"unit" goes with "sum", not with "calls"'],
  ...[0, -1, 1.5, MAX_UNITS + 1, '20', null].map(calls => [
    { ...CALLS, calls },
    '"calls" must be a whole number from 1 to 1125899906842624',
  ]),
  ...['', ' ', 5, null].map(sum => [{ ...REFUNDS, sum }, '"sum" must be a condition that gives a number']),
  [{ ...REFUNDS, atMost: undefined }, 'a limit with "sum" needs "atMost"'],
  ...[0, -0.01, '1', Number.NaN, Number.POSITIVE_INFINITY].map(unit => [
    { ...REFUNDS, unit },
    '"unit" must be a number greater than 0',
  ]),
  ...[0, -1, '500', Number.NaN].map(atMost => [
    { ...REFUNDS, atMost },
    '"atMost" must be a number greater than 0',
  ]),
  [{ ...REFUNDS, atMost: 500.005 }, '"atMost" must be a multiple of "unit", which is 0.01'],
  [{ ...REFUNDS, unit: undefined, atMost: 0.5 }, '"atMost" must be a multiple of "unit", which is 1'],
  [{ ...REFUNDS, unit: 0.1, atMost: 2 ** 50 }, '"atMost" must be at most 1125899906842624 times "unit"'],
  [{ calls: 1 }, 'a limit has either "within" or "each"'],
  [{ ...CALLS, each: 'day' }, 'a limit has either "within" or "each"'],
  [{ ...CALLS, zone: 'UTC' }, '"zone" goes with "each", not with "within"'],
  ...['0m', '1s', '32d', '745h', '44641m', '01h', '1.5h', '1 h', '99999d', '100000m', '', 60].map(within => [
    { ...CALLS, within },
    '"within" must be 1m to 31d: a number of minutes (m), hours (h) or days (d)',
  ]),
  ...['year', 'Day', 1].map(each => [{ calls: 1, each }, '"each" must be one of hour, day, week, month']),
  ...['Mars', '+01:00', 1].map(zone => [
    { ...REFUNDS, zone },
    '"zone" must be the IANA name of a time zone, such as Europe/Berlin',
  ]),
  [{ ...CALLS, per: 'tool' }, '"per" must be one of key, session, person, policy'],
  [{ ...CALLS, beyond: 'allow' }, '"beyond" must be one of deny, require_approval'],
] as [object, string | null][])('%j: %p', (limit, fault) => {
  expect(limitFault(limit)?.message ?? null).toBe(fault);
});

test('a fault names the field that is wrong, if the limit has it', () => {
  const wrong = { calls: 0, sum: 5, atMost: 500.005, unit: 0, within: '1s', each: 'year', zone: 'Mars' };
  const field = (limit: object) => limitFault(limit)?.field;
  for (const name of ['calls', 'atMost', 'unit', 'within', 'zone', 'each'] as const)
    expect(field({ ...CALLS, [name]: wrong[name] })).toBe(name === 'each' ? 'within' : name);
  for (const name of ['calls', 'sum', 'atMost', 'unit', 'within', 'each', 'zone'] as const)
    expect(field({ ...REFUNDS, [name]: wrong[name] })).toBe(name);
  for (const name of ['per', 'beyond']) expect(field({ ...CALLS, [name]: 'x' })).toBe(name as 'per');
  expect(field({ ...REFUNDS, atMost: undefined })).toBe('sum');
  expect([field({ within: '1h' }), field({ calls: 1 }), field(CALLS)]).toEqual([null, null, undefined]);
});

test('a reason names the window, and the allowance is counted in units', () => {
  expect([windowText(CALLS), windowText(REFUNDS)]).toEqual(['within 1h', 'each day']);
  expect([unitsAllowed(CALLS), unitsAllowed(REFUNDS)]).toEqual([20, 50_000]);
  expect(unitsAllowed({ sum: 'args.n', atMost: 7, each: 'day' })).toBe(7);
});

test('another window, unit, sum or subject starts anew, and another allowance does not', () => {
  const same = (a: Limit, b: Limit) => identityOf(a) === identityOf(b);
  expect(same(CALLS, { ...CALLS, calls: 30, beyond: 'require_approval', per: 'key', within: '60m' })).toBe(
    true,
  );
  expect(same(REFUNDS, { ...REFUNDS, atMost: 1000, beyond: 'require_approval', per: undefined })).toBe(true);
  expect(same(REFUNDS, { ...REFUNDS, zone: 'europe/berlin' })).toBe(true);
  expect(same({ calls: 1, each: 'day' }, { calls: 1, each: 'day', zone: 'UTC' })).toBe(true);
  const others: Limit[] = [
    { ...REFUNDS, unit: 0.1 },
    { ...REFUNDS, sum: 'args.total' },
    { ...REFUNDS, each: 'week' },
    { ...REFUNDS, zone: 'Europe/Paris' },
    { ...REFUNDS, per: 'session' },
    { ...REFUNDS, each: undefined, zone: undefined, within: '1d' },
    { ...REFUNDS, sum: undefined, unit: undefined, atMost: undefined, calls: 5 },
    { ...CALLS, within: '2h' },
    CALLS,
    REFUNDS,
  ];
  expect(new Set(others.map(identityOf)).size).toBe(others.length);
});

test('a rolling window counts a call for the whole window, and at most a twelfth longer', () => {
  const start = Date.parse('2026-11-16T10:00Z');
  expect(countsUntil(CALLS, start) - start).toBe(65 * MINUTE);
  expect(countsUntil(CALLS, start + 5 * MINUTE - 1) - start).toBe(65 * MINUTE);
  expect(countsUntil(CALLS, start + 5 * MINUTE) - start).toBe(70 * MINUTE);
  const window = fc.constantFrom<[string, number]>(
    ['1m', MINUTE],
    ['7m', 7 * MINUTE],
    ['5h', 5 * HOUR],
    ['31d', 31 * DAY],
  );
  fc.assert(
    fc.property(window, fc.integer({ min: 0, max: 2 ** 42 }), ([within, length], now) => {
      const longer = countsUntil({ calls: 1, within }, now) - now - length;
      expect(longer).toBeGreaterThan(0);
      expect(longer).toBeLessThanOrEqual(length / 12);
    }),
    { numRuns: 1000, seed: 14 },
  );
});

// What is counted at a time stops counting at another, both in UTC.
test.each<[string, Limit['each'], string, string]>([
  ['UTC', 'hour', '2026-11-16T10:00Z', '2026-11-16T11:00Z'],
  ['UTC', 'day', '2026-11-16T00:00Z', '2026-11-17T00:00Z'],
  ['UTC', 'day', '2026-11-16T23:59:59.999Z', '2026-11-17T00:00Z'],
  ['UTC', 'week', '2026-11-15T23:59:59.999Z', '2026-11-16T00:00Z'],
  ['UTC', 'week', '2026-11-16T00:00Z', '2026-11-23T00:00Z'],
  ['UTC', 'month', '2026-12-31T12:00Z', '2027-01-01T00:00Z'],
  ['UTC', 'month', '2028-02-01T00:00Z', '2028-03-01T00:00Z'],
  // A day of 23 hours, a day of 25, and the weeks and months around them.
  ['Europe/Berlin', 'day', '2026-03-28T23:00Z', '2026-03-29T22:00Z'],
  ['Europe/Berlin', 'day', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
  ['Europe/Berlin', 'week', '2026-03-22T23:00Z', '2026-03-29T22:00Z'],
  ['Europe/Berlin', 'month', '2026-02-28T23:00Z', '2026-03-31T22:00Z'],
  ['Europe/Berlin', 'hour', '2026-03-29T00:30Z', '2026-03-29T01:00Z'],
  // Two o'clock is shown twice, and is two hours.
  ['Europe/Berlin', 'hour', '2026-10-25T00:30Z', '2026-10-25T01:00Z'],
  ['Europe/Berlin', 'hour', '2026-10-25T01:30Z', '2026-10-25T02:00Z'],
  ['America/New_York', 'day', '2026-11-01T04:00Z', '2026-11-02T05:00Z'],
  ['Asia/Kathmandu', 'hour', '2026-11-16T10:14Z', '2026-11-16T10:15Z'],
  ['Asia/Kathmandu', 'day', '2026-11-16T18:15Z', '2026-11-17T18:15Z'],
  // Half an hour is skipped, and half an hour is shown twice.
  ['Australia/Lord_Howe', 'hour', '2026-10-03T15:30Z', '2026-10-03T16:00Z'],
  ['Australia/Lord_Howe', 'hour', '2026-04-04T14:30Z', '2026-04-04T15:00Z'],
  ['Australia/Lord_Howe', 'hour', '2026-04-04T15:00Z', '2026-04-04T15:30Z'],
  ['Australia/Lord_Howe', 'day', '2026-04-04T13:00Z', '2026-04-05T13:30Z'],
  // A day that begins at one o'clock, and a day that begins with its first hour twice.
  ['America/Havana', 'day', '2026-03-08T04:59Z', '2026-03-08T05:00Z'],
  ['America/Havana', 'day', '2026-11-01T03:59Z', '2026-11-01T04:00Z'],
  ['America/Havana', 'day', '2026-11-01T04:00Z', '2026-11-02T05:00Z'],
  ['America/Sao_Paulo', 'day', '2018-02-18T01:30Z', '2018-02-18T03:00Z'],
  ['America/Sao_Paulo', 'day', '2018-02-18T02:30Z', '2018-02-18T03:00Z'],
  // Saturday is shown again after a minute of Sunday, and ends only then.
  ['America/St_Johns', 'day', '2010-11-07T02:00Z', '2010-11-07T03:30Z'],
  ['America/St_Johns', 'day', '2010-11-07T02:30Z', '2010-11-08T03:30Z'],
  ['America/St_Johns', 'day', '2010-11-07T02:31Z', '2010-11-07T03:30Z'],
  // A Friday that never was.
  ['Pacific/Apia', 'day', '2011-12-30T09:59Z', '2011-12-30T10:00Z'],
  ['Pacific/Apia', 'day', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
  ['Pacific/Apia', 'week', '2011-12-26T10:00Z', '2012-01-01T10:00Z'],
])('in %s the %s of %s ends at %s', (zone, each, now, end) => {
  const limit: Limit = { calls: 1, each, zone };
  expect(new Date(countsUntil(limit, Date.parse(now)))).toEqual(new Date(end));
});

test('the end of a calendar window is when a clock on the wall last shows it', () => {
  /** What tells one window from the next. */
  const windowOf: Record<'day' | 'week' | 'month', (shown: Shown) => number | string> = {
    day: ({ date }) => date,
    week: ({ date, weekday }) => date - weekday,
    month: ({ month }) => month,
  };
  for (const [zone, near] of CHANGES) {
    for (const [each, step, steps] of [
      ['day', 1, 4320],
      ['week', 15, 1440],
      ['month', 15, 5760],
    ] as const) {
      const shown = clockOf(zone, Date.parse(near) - 36 * HOUR, steps, step * MINUTE);
      const last = new Map(shown.map(each_ => [windowOf[each](each_), each_.now + step * MINUTE]));
      // The last window of the stretch goes on after it.
      const whole = shown.filter(at => windowOf[each](at) !== windowOf[each](shown.at(-1) as Shown));
      const limit: Limit = { calls: 1, each, zone };
      for (const at of whole.filter((_, index) => index % 7 === 0 || index > whole.length - 10)) {
        const wanted = last.get(windowOf[each](at)) ?? 0;
        // In St. John's clocks changed at one minute past, between two steps.
        if (zone === 'America/St_Johns' && step > 1) continue;
        expect([zone, each, at.now, countsUntil(limit, at.now)]).toEqual([zone, each, at.now, wanted]);
      }
    }
  }
});

test('an hour ends when the clock shows the next one, or is changed', () => {
  for (const [zone, near] of CHANGES) {
    const shown = clockOf(zone, Date.parse(near) - 5 * HOUR, 600);
    const limit: Limit = { calls: 1, each: 'hour', zone };
    let end = 0;
    for (let at = shown.length - 1; at > 0; at--) {
      const [{ now, minutes, date }, before] = [shown[at] as Shown, shown[at - 1] as Shown];
      const changed = date * 1440 + minutes - (before.date * 1440 + before.minutes) !== 1;
      if (end > 0) expect([zone, now, countsUntil(limit, now)]).toEqual([zone, now, end]);
      if (minutes % 60 === 0 || changed) end = now;
    }
  }
});

test('a window is found whatever was asked before', () => {
  const limits = LIMIT.each.type.offers.map((each): Limit => ({ calls: 1, each, zone: 'Europe/Berlin' }));
  const times = fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2027-01-01') });
  fc.assert(
    fc.property(fc.array(times, { minLength: 2, maxLength: 6 }), list => {
      for (const limit of limits) {
        const asked = list.flatMap(now => [now, now + MINUTE, now]).map(now => countsUntil(limit, now));
        const fresh = list
          .flatMap(now => [now, now + MINUTE, now])
          .map(now => countsUntil({ ...limit }, now));
        expect(asked).toEqual(fresh);
        expect(asked.every((end, at) => end > (list[Math.floor(at / 3)] ?? 0))).toBe(true);
      }
    }),
    { numRuns: 50, seed: 14 },
  );
});

test.each<[number, string, number | null]>([
  [0.01, '12.30', 1230],
  [0.01, '12.3', 1230],
  [0.01, '0.005', null],
  [0.01, '12.301', null],
  [0.01, '-1', null],
  [0.01, '-0', 0],
  [0.01, '-0.00', 0],
  [0.01, '0e999999999', 0],
  [1, '1e-7', null],
  [1e-7, '1e-7', 1],
  [1e-7, '3E-6', 30],
  [5, '15', 3],
  [5, '12', null],
  [50, '100', 2],
  [50, '25', null],
  [3, '1e30', null],
  [3, '3e30', 2 ** 53],
  [1, '1e999999999', 2 ** 53],
  [1, `1e${'9'.repeat(500)}`, 2 ** 53],
  [1, `1e-${'9'.repeat(500)}`, null],
  [1, '9007199254740992', 2 ** 53],
  [1, '9007199254740991', 2 ** 53 - 1],
  [1, '9007199254740993', 2 ** 53],
  [1, `1${'0'.repeat(999)}`, 2 ** 53],
  [1, `1${'0'.repeat(1000)}`, null],
  [1, '1'.repeat(5000), null],
  ...['', 'x', 'NaN', 'Infinity', '1e', '.5', '1.', '+1', ' 1', '1\n', '0x10', '1n'].map(text => [
    1,
    text,
    null,
  ]),
] as [number, string, number | null][])('in units of %p, %j is %p', (unit, amount, units) => {
  const found = unitsOf({ sum: 'args.n', atMost: unit, unit, each: 'day' }, amount);
  expect(found).toBe(units);
});

test('units are shown as the calls or the amount that they are', () => {
  expect([amountOf(CALLS, 7), amountOf(REFUNDS, 12_345), amountOf(REFUNDS, 0)]).toEqual([7, 123.45, 0]);
  // A product of doubles would be 0.30000000000000004.
  expect(amountOf({ ...REFUNDS, unit: 0.1 }, 3)).toBe(0.3);
  expect(amountOf({ ...REFUNDS, unit: 1e-7 }, 11)).toBe(0.0000011);
  expect(amountOf({ ...REFUNDS, unit: 250 }, 2)).toBe(500);
  expect(amountOf(REFUNDS, 2 ** 50)).toBe(11258999068426.24);
});

test('amounts are counted exactly', () => {
  const power = fc.integer({ min: -30, max: 30 });
  const digits = fc.oneof(fc.bigInt(0n, 10n ** 20n), fc.bigInt(0n, 1000n));
  const unit = fc.record({
    digits: fc.integer({ min: 1, max: 10_000 }),
    power: fc.integer({ min: -12, max: 12 }),
  });
  const either = fc.record({ digits, power, multiple: fc.boolean() });
  fc.assert(
    fc.property(unit, either, (one, { digits: count, power: exponent, multiple }) => {
      const size = Number(`${one.digits}e${one.power}`);
      const amount = multiple ? [count * BigInt(one.digits), one.power] : [count, exponent];
      const [left, right] = [
        scaled(amount[0] as bigint, Number(amount[1])),
        scaled(BigInt(one.digits), one.power),
      ];
      const exact = left % right === 0n ? left / right : null;
      const wanted = exact === null ? null : exact > 2n ** 53n ? 2 ** 53 : Number(exact);
      const limit: Limit = { sum: 'args.n', atMost: size, unit: size, each: 'day' };
      expect(unitsOf(limit, `${amount[0]}e${amount[1]}`)).toBe(wanted);
      expect(unitsOf(limit, written(amount[0] as bigint, Number(amount[1])))).toBe(wanted);
    }),
    { numRuns: 5000, seed: 14 },
  );
});

/** A number in units of 10^-40. */
const scaled = (digits: bigint, power: number) => digits * 10n ** BigInt(power + 40);

/** A number without an exponent. */
function written(digits: bigint, power: number): string {
  if (power >= 0) return `${digits}${'0'.repeat(power)}`;
  const text = String(digits).padStart(1 - power, '0');
  return `${text.slice(0, power)}.${text.slice(power)}`;
}
