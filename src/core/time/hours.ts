// The hours of a rule: `mon-fri 08:00-18:00 Europe/Berlin`. They are read by the wall clock of their zone, so an hour
// that a change of the clock skips is open on no such day, and one that it repeats is open twice.

import { DAY, MINUTE } from './duration.ts';
import { findZone, type Zone } from './zone.ts';

export interface Hours {
  /** Whether each weekday is open, from Monday on. */
  days: readonly boolean[];
  /** In milliseconds of the day. Hours that end before they begin go on into the next day. */
  begin: number;
  end: number;
  zone: Zone;
  /** As it is written. */
  zoneName: string;
}

const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
/** 1 January 1970 was a Thursday. */
const FIRST_WEEKDAY = 3;

const MAX_TEXT = 100;
export const HOURS_FORM = 'days, hours and a zone, such as mon-fri 08:00-18:00 Europe/Berlin';
const FORM = `must be ${HOURS_FORM}`;
const DAYS = /^[a-z]{3}(?:[-,][a-z]{3})*$/i;
const TIMES = /^(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)$/;

/**
 * Days or times may be left out, and mean every day or the whole day then; without a zone they are in UTC. Returns a
 * text that follows the name of the field when something is wrong.
 */
export function parseHours(text: string): Hours | string {
  if (text.length > MAX_TEXT) return FORM;
  const parts = text.trim().split(/ +/);
  const days = DAYS.test(parts[0] ?? '') ? readDays(parts[0] as string) : null;
  if (days !== null) parts.shift();
  const times = TIMES.exec(parts[0] ?? '');
  if (times !== null) parts.shift();
  if (typeof days === 'string') return days;
  if ((days === null && times === null) || parts.length > 1) return FORM;
  const span = readTimes(times);
  if (typeof span === 'string') return span;
  const [name = 'UTC'] = parts;
  const zone = findZone(name);
  if (zone === null) return `names an unknown time zone, "${name}"; it ${FORM}`;
  return { days: days ?? WEEKDAYS.map(() => true), ...span, zone, zoneName: name };
}

/** Whether the hours are open at a time. The first millisecond is inside, the one at which they end is not. */
export function isWithin({ days, begin, end, zone }: Hours, now: number): boolean {
  const shown = zone.wallClock(now);
  const day = Math.floor(shown / DAY);
  const time = shown - day * DAY;
  if (begin < end) return begin <= time && time < end && isOn(days, day);
  return (begin <= time && isOn(days, day)) || (time < end && isOn(days, day - 1));
}

export function isAlwaysOpen({ days, begin, end }: Hours): boolean {
  return days.every(Boolean) && begin === 0 && end === DAY;
}

function isOn(days: readonly boolean[], day: number): boolean {
  return days[weekdayOf(day)] === true;
}

function weekdayOf(day: number): number {
  return (((day + FIRST_WEEKDAY) % 7) + 7) % 7;
}

/** What a clock on the wall shows in the zone of the hours: `mon 08:06 in Europe/Berlin`. */
export function localTime({ zone, zoneName }: Hours, now: number): string {
  const shown = zone.wallClock(now);
  const day = Math.floor(shown / DAY);
  const minutes = Math.floor((shown - day * DAY) / MINUTE);
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map(each => String(each).padStart(2, '0'));
  return `${WEEKDAYS[weekdayOf(day)]} ${hour}:${minute} in ${zoneName}`;
}

/** `mon-wed,fri`; a span may go around the end of the week, as `sat-mon`. */
function readDays(text: string): boolean[] | string {
  const open = WEEKDAYS.map(() => false);
  for (const span of text.toLowerCase().split(',')) {
    const names = span.split('-');
    const wrong = names.find(name => !WEEKDAYS.includes(name));
    if (wrong !== undefined) return `names an unknown day, "${wrong}"; days are ${WEEKDAYS.join(', ')}`;
    if (names.length > 2) return FORM;
    const [first, last] = [WEEKDAYS.indexOf(names[0] ?? ''), WEEKDAYS.indexOf(names.at(-1) ?? '')];
    for (let at = first; ; at = (at + 1) % 7) {
      open[at] = true;
      if (at === last) break;
    }
  }
  return open;
}

function readTimes(found: RegExpExecArray | null): { begin: number; end: number } | string {
  if (found === null) return { begin: 0, end: DAY };
  const [beginHour = 0, beginMinute = 0, endHour = 0, endMinute = 0] = found.slice(1).map(Number);
  const begin = (beginHour * 60 + beginMinute) * MINUTE;
  const end = (endHour * 60 + endMinute) * MINUTE;
  if (beginMinute > 59 || endMinute > 59 || begin >= DAY || end > DAY)
    return 'must have times from 00:00 to 23:59; the end may be 24:00';
  if (begin === end) return 'must end at another time than it begins; leave the times out for the whole day';
  return { begin, end };
}
