// Durations: their lengths in milliseconds, and how people write them (`90s`, `60m`, `24h`, `7d`).

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const UNITS = { s: 1000, m: MINUTE, h: HOUR, d: DAY } as const;
const GRANT_MAX = 7 * DAY;

/** The milliseconds of a text like `90s`, `60m`, `24h` or `7d`, or null when the text is not a duration. */
export function parseDuration(text: string): number | null {
  const found = /^([1-9][0-9]{0,8})([smhd])$/.exec(text);
  if (found === null) return null;
  return Number(found[1]) * UNITS[found[2] as keyof typeof UNITS];
}

/** The shortest text that `parseDuration` reads as `ms` milliseconds, which must be a whole number of seconds. */
export function durationText(ms: number): string {
  const unit = (['d', 'h', 'm'] as const).find(each => ms % UNITS[each] === 0) ?? 's';
  return `${ms / UNITS[unit]}${unit}`;
}

/** The milliseconds of a text like `15m`, `1h` or `7d`, from one minute to `most` milliseconds, or null. */
export function parseSpan(text: string, most: number): number | null {
  const ms = text.endsWith('s') ? null : parseDuration(text);
  return ms !== null && ms <= most ? ms : null;
}

/** The milliseconds of a grant's duration (`<n>m`, `<n>h` or `<n>d`, 1 minute to 7 days), or null. */
export function parseGrantDuration(text: string): number | null {
  return parseSpan(text, GRANT_MAX);
}
