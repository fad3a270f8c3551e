// A limit of a policy as data: what can be wrong with it, when what it counted stops counting, and amounts in units of
// it. decide.ts says what a limit means for a call. Nothing here knows how much is used.

import { MINUTE, parseSpan } from '../time/duration.ts';
import { findZone, type Zone } from '../time/zone.ts';
import { type Decimal, numberOf, readDecimal, unitsIn } from '../wire/decimal.ts';
import type { Written } from './field-type.ts';
import { LIMIT, type LimitField, MAX_UNITS, MAX_WINDOW } from './limit-fields.ts';

/** A limit as it is written: with `calls` or with `sum` and `atMost`, and with `within` or `each`. */
export interface Limit extends Written<typeof LIMIT> {}

/** A rolling window is counted in this many parts, so a place is free again up to one part late. */
const PARTS = 12;

/** A limit of which nothing is known yet. */
type Unread = { readonly [field in keyof Limit]?: unknown };

export interface LimitFault {
  /** The field that is wrong; null if one is missing. */
  field: LimitField | null;
  message: string;
}

/** What is wrong with a limit, or null. Whether `sum` is a condition with a number as its result, the caller checks. */
export function limitFault(limit: Unread): LimitFault | null {
  return amountFault(limit) ?? windowFault(limit) ?? wrong('per', limit.per) ?? wrong('beyond', limit.beyond);
}

function amountFault({ calls, sum, atMost, unit }: Unread): LimitFault | null {
  if (calls === undefined && sum === undefined) return fault(null, EITHER_AMOUNT);
  if (calls !== undefined && sum !== undefined) return fault('calls', EITHER_AMOUNT);
  if (sum === undefined) {
    const stray = atMost !== undefined ? 'atMost' : unit !== undefined ? 'unit' : null;
    if (stray !== null) return fault(stray, `"${stray}" goes with "sum", not with "calls"`);
    return wrong('calls', calls);
  }
  const unread = wrong('sum', sum);
  if (unread !== null) return unread;
  if (atMost === undefined) return fault('sum', 'a limit with "sum" needs "atMost"');
  const unfit = wrong('unit', unit) ?? wrong('atMost', atMost);
  if (unfit !== null) return unfit;
  const units = unitsIn(readDecimal(String(atMost)), readDecimal(String(unit ?? 1)));
  if (units === null) return fault('atMost', `"atMost" must be a multiple of "unit", which is ${unit ?? 1}`);
  return units <= MAX_UNITS ? null : fault('atMost', `"atMost" must be at most ${MAX_UNITS} times "unit"`);
}
const EITHER_AMOUNT = 'a limit has either "calls" or "sum"';

function windowFault({ within, each, zone }: Unread): LimitFault | null {
  if (within === undefined && each === undefined) return fault(null, EITHER_WINDOW);
  if (within !== undefined && each !== undefined) return fault('within', EITHER_WINDOW);
  if (within !== undefined) {
    if (zone !== undefined) return fault('zone', '"zone" goes with "each", not with "within"');
    return wrong('within', within);
  }
  return wrong('each', each) ?? wrong('zone', zone);
}
const EITHER_WINDOW = 'a limit has either "within" or "each"';

/** What is wrong with a field by itself; one that is left out is right. */
function wrong(field: LimitField, value: unknown): LimitFault | null {
  const [first] = value === undefined ? [] : LIMIT[field].type.faults(value);
  return first === undefined ? null : fault(field, `"${field}" ${first.message}`);
}

function fault(field: LimitFault['field'], message: string): LimitFault {
  return { field, message };
}

/** The length of a rolling window in milliseconds, or null. */
const windowLength = (within: string): number | null => parseSpan(within, MAX_WINDOW);

/** The window as reasons name it. */
export function windowText({ within, each }: Limit): string {
  return within === undefined ? `each ${each}` : `within ${within}`;
}

/** How much a limit allows, in calls or units. */
export function unitsAllowed(limit: Limit): number {
  return limit.calls ?? unitsOf(limit, String(limit.atMost)) ?? 0;
}

/**
 * What starts counting anew when it changes. Fields that are left out are the same as their defaults, and `60m` is the
 * same as `1h`. The zone is compared by its name, because the zones that a name stands for differ between runtimes.
 */
export function identityOf({ sum, unit = 1, within, each, zone = 'UTC', per = 'key' }: Limit): string {
  const counted = sum === undefined ? ['calls'] : ['sum', sum, unit];
  const window = within === undefined ? ['each', each, zone.toLowerCase()] : ['within', windowLength(within)];
  return JSON.stringify([...counted, ...window, per]);
}

/** What is read from a limit once, and the last window that was asked for. */
interface Prepared {
  /** The length of a rolling window, else 0. */
  length: number;
  zone: Zone;
  unit: Decimal;
  minute: number;
  end: number;
}

const known = new WeakMap<Limit, Prepared>();

function prepared(limit: Limit): Prepared {
  let found = known.get(limit);
  if (found === undefined) {
    const { within, zone = 'UTC', unit = 1 } = limit;
    const read = { length: within === undefined ? 0 : (windowLength(within) ?? 0), zone: findZone(zone) };
    found = {
      ...read,
      zone: read.zone as Zone,
      unit: readDecimal(String(unit)) as Decimal,
      minute: Number.NaN,
      end: 0,
    };
    known.set(limit, found);
  }
  return found;
}

/**
 * When what is counted at `now` stops counting. In a rolling window that is a window after the end of the part in which
 * `now` lies, so it counts up to a twelfth too long and never too short.
 */
export function countsUntil(limit: Limit, now: number): number {
  const found = prepared(limit);
  if (limit.each === undefined) {
    const part = found.length / PARTS;
    return (Math.floor(now / part) + 1) * part + found.length;
  }
  const minute = Math.floor(now / MINUTE);
  if (found.minute !== minute) {
    found.end = periodEnds(limit.each, found.zone, now);
    found.minute = minute;
  }
  return found.end;
}

/**
 * An hour that the clock shows twice is two hours. Days are dates: where the clock goes back over midnight, a date goes
 * on until it is shown for the last time.
 */
function periodEnds(each: NonNullable<Limit['each']>, zone: Zone, now: number): number {
  if (each === 'hour') return zone.hourEnds(now);
  const date = new Date(zone.wallClock(now));
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (each === 'month') return zone.passes(Date.UTC(year, month + 1, 1));
  const daysLeft = each === 'day' ? 1 : 7 - ((date.getUTCDay() + 6) % 7);
  return zone.passes(Date.UTC(year, month, day + daysLeft));
}

/**
 * An amount in units of the limit, or null if it is negative, no multiple of the unit or no number. It is read from its
 * exact decimal text; an amount that exceeds every limit is returned as 2^53.
 */
export function unitsOf(limit: Limit, amount: string): number | null {
  return unitsIn(readDecimal(amount), prepared(limit).unit);
}

/** The calls or the amount that so many units of the limit are. */
export function amountOf(limit: Limit, units: number): number {
  return limit.calls === undefined ? numberOf(units, prepared(limit).unit) : units;
}
