// Stretches of time in which the clocks of a zone do something odd, and a slow reading of a wall clock to compare with.

const MINUTE = 60_000;

/** A zone, a moment at which its clock was changed, and what happened. */
export const CHANGES: readonly [zone: string, near: string][] = [
  ['UTC', '2026-03-01T00:00Z'],
  // An hour forward and an hour back.
  ['Europe/Berlin', '2026-03-29T01:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00Z'],
  ['America/New_York', '2026-03-08T07:00Z'],
  ['America/New_York', '2026-11-01T06:00Z'],
  // Never changed, 5:45 ahead.
  ['Asia/Kathmandu', '2026-02-28T18:15Z'],
  // Half an hour forward and half an hour back.
  ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
  // Midnight does not exist; then an hour from midnight is shown twice.
  ['America/Havana', '2026-03-08T05:00Z'],
  ['America/Havana', '2026-11-01T05:00Z'],
  // The last hour of a Saturday is shown twice.
  ['America/Sao_Paulo', '2018-02-18T02:00Z'],
  // Back from one minute past midnight: Saturday, Sunday, Saturday, Sunday.
  ['America/St_Johns', '2010-11-07T02:31Z'],
  // 30 December 2011 never was.
  ['Pacific/Apia', '2011-12-30T10:00Z'],
];

export interface Shown {
  now: number;
  /** Days since 1970, by the date that the clock shows. */
  date: number;
  /** From Monday, which is 0. */
  weekday: number;
  month: string;
  minutes: number;
}

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** What the clock of a zone shows at every step from `from` on. */
export function clockOf(zone: string, from: number, steps: number, step = MINUTE): Shown[] {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return Array.from({ length: steps }, (_, index) => {
    const now = from + index * step;
    const text = format.format(now);
    const found = /^(\w{3}), (\d\d)\/(\d\d)\/(\d{4}), (\d\d):(\d\d)$/.exec(text);
    if (found === null) throw new Error(`The clock shows ${text}.`);
    const [, weekday = '', day, month, year, hour, minute] = found;
    const date = Date.parse(`${year}-${month}-${day}T00:00Z`) / 86_400_000;
    const minutes = Number(hour) * 60 + Number(minute);
    return { now, date, weekday: WEEKDAYS.indexOf(weekday), month: `${year}-${month}`, minutes };
  });
}
