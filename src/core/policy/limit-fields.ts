// Every field of a limit, described once and in the order in which it is written, as rule-fields.ts does for rules.
// limit.ts says which of them go together.

import { DAY } from '../time/duration.ts';
import { findZone } from '../time/zone.ts';
import { choice, type Fields, positive, span, text, whole } from './field-type.ts';

/** The most that a limit may allow, in calls or units. It is far below where sums of counts would be rounded. */
export const MAX_UNITS = 2 ** 50;
export const MAX_WINDOW = 31 * DAY;

const NO_SUM = 'must be a condition that gives a number';
const NO_ZONE = 'must be the IANA name of a time zone, such as Europe/Berlin';

export const LIMIT = {
  calls: { type: whole(1, MAX_UNITS), help: 'How many calls are allowed.', example: 20 },
  sum: {
    type: {
      ...text('a condition that gives a number', sum => (sum.trim() === '' ? NO_SUM : null), NO_SUM),
      offers: 'conditions',
    },
    help: 'What is added up in place of calls, in CEL.',
    example: 'args.amount',
  },
  atMost: { type: positive, help: 'With `sum`: how much is allowed.', example: 500 },
  unit: {
    type: positive,
    help: 'With `sum`: the smallest amount; every amount is a multiple of it. 1 when left out.',
    example: 0.01,
  },
  within: { type: span(MAX_WINDOW), help: 'A rolling window.', example: '1h' },
  each: {
    type: choice(['hour', 'day', 'week', 'month']),
    help: 'A calendar window in place of `within`.',
    example: 'day',
  },
  zone: {
    type: {
      ...text('a time zone', zone => (findZone(zone) === null ? NO_ZONE : null), NO_ZONE),
      offers: 'zones',
    },
    help: 'With `each`: the time zone. UTC when left out.',
    example: 'Europe/Berlin',
  },
  per: {
    type: choice(['key', 'session', 'person', 'policy']),
    help: 'What counts separately. `key` when left out.',
    example: 'session',
  },
  beyond: {
    type: choice(['deny', 'require_approval']),
    help: 'What happens to a call that no longer fits. `deny` when left out.',
    example: 'require_approval',
  },
} as const satisfies Fields;

export type LimitField = keyof typeof LIMIT;

/** In the order in which they are written. */
export const LIMIT_FIELDS = Object.keys(LIMIT) as readonly LimitField[];
