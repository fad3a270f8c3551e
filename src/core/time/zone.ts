// The wall clock of a time zone, by the time zone data of the runtime (Intl). hours.ts and limit.ts say what is open or
// counted by it. A wall clock's time is kept in milliseconds, as if the zone were UTC.

import { HOUR, MINUTE } from './duration.ts';

/** More than any zone is away from UTC. */
const FARTHEST = 16 * HOUR;

/** IANA names only. An offset such as +02:00 does not follow summer time, and not every browser knows it. */
const NAME = /^[A-Za-z][\w+-]*(?:\/[\w+-]+)*$/;

const known = new Map<string, Zone>();

/** The zone with an IANA name, whatever the case of its letters, or null. */
export function findZone(name: string): Zone | null {
  if (!NAME.test(name)) return null;
  // There are some 600 zones, so as many are remembered at most.
  const key = name.toLowerCase();
  const found = known.get(key);
  if (found !== undefined) return found;
  try {
    const zone = new Zone(name);
    known.set(key, zone);
    return zone;
  } catch {
    return null;
  }
}

export class Zone {
  readonly #format: Intl.DateTimeFormat;
  #minute = Number.NaN;
  #offset = 0;

  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /**
   * What the wall clock shows at a time. The offset is read once a minute, because that takes 2.4 µs; zones have changed
   * their offsets only between two whole minutes since 1972.
   */
  wallClock(now: number): number {
    const minute = Math.floor(now / MINUTE);
    if (minute !== this.#minute) {
      this.#offset = this.#offsetAt(now);
      this.#minute = minute;
    }
    return now + this.#offset;
  }

  /** The time from which on the wall clock never shows less than `shown`; it may skip `shown` itself. */
  passes(shown: number): number {
    const before = this.#offsetAt(shown - FARTHEST);
    const after = this.#offsetAt(shown + FARTHEST);
    if (before === after) return shown - before;
    const change = this.#changeBetween(shown - FARTHEST, shown + FARTHEST);
    return shown - after > change ? shown - after : Math.min(shown - before, change);
  }

  /** When the wall clock next shows a full hour, or is changed. */
  hourEnds(now: number): number {
    const shown = this.wallClock(now);
    const end = now + (Math.floor(shown / HOUR) + 1) * HOUR - shown;
    return this.#offsetAt(end) === this.#offsetAt(now) ? end : this.#changeBetween(now, end);
  }

  /** The first time of the later offset, between two times of which the offsets differ. */
  #changeBetween(from: number, until: number): number {
    const first = this.#offsetAt(from);
    let [early, late] = [from, until];
    while (late - early > 1) {
      const middle = Math.floor((early + late) / 2);
      if (this.#offsetAt(middle) === first) early = middle;
      else late = middle;
    }
    return late;
  }

  #offsetAt(now: number): number {
    const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of this.#format.formatToParts(now)) parts[type] = Number(value);
    const { year = 0, month = 0, day, hour, minute, second } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(now / 1000) * 1000;
  }
}
