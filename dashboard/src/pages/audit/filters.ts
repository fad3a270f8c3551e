// The filters of the audit log. They are in the address, so that a link shows the same entries and the back button
// undoes a filter. `within` is a time span up to now; the admin API accepts only absolute times.

import { type Query, queryOf } from '../../api.ts';
import type { AuditEntry } from '../../resources.ts';

export type Filters = Partial<Record<(typeof NAMES)[number], string>>;

const NAMES = [
  'tool',
  'decision',
  'keyId',
  'personId',
  'sessionId',
  'surface',
  'shadow',
  'mark',
  'traceId',
  'within',
  'from',
  'to',
] as const;

const SPANS: Record<string, number> = {
  '15m': 15 * 60_000,
  '1h': 3_600_000,
  '24h': 86_400_000,
  '7d': 7 * 86_400_000,
  '30d': 30 * 86_400_000,
};

export const SPAN_NAMES: [string, string][] = [
  ['', 'Any time'],
  ['15m', 'Last 15 minutes'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
];

export function filtersIn(query: Record<string, string>): Filters {
  return Object.fromEntries(NAMES.flatMap(name => (query[name] ? [[name, query[name]]] : [])));
}

/** The address that shows these entries, and optionally one of them opened. */
export function addressOf(filters: Filters, entry?: string): string {
  return `/dashboard/audit${queryOf({ ...filters, entry })}`;
}

/** The filters as the admin API expects them. */
export function askedOf({ within, ...filters }: Filters, now: number): Query {
  const span = within === undefined ? undefined : SPANS[within];
  return span === undefined ? filters : { ...filters, from: new Date(now - span).toISOString() };
}

/** Whether a new entry matches the filters, except the one by tool. */
export function isAmong(entry: AuditEntry, filters: Filters): boolean {
  const { decision, keyId, personId, sessionId, surface, shadow, mark, traceId, from, to } = filters;
  const same = (wanted: string | undefined, is: string | null | undefined) =>
    wanted === undefined || wanted === is;
  return (
    same(decision, entry.decision) &&
    same(keyId, entry.keyId) &&
    same(personId, entry.personId) &&
    same(sessionId, entry.sessionId) &&
    same(surface, entry.surface) &&
    same(traceId, entry.traceId) &&
    (mark === undefined || entry.marks?.includes(mark) === true) &&
    (shadow === 'differs' ? differs(entry) : same(shadow, entry.shadow?.decision)) &&
    (from === undefined || Date.parse(entry.at) >= Date.parse(from)) &&
    (to === undefined || Date.parse(entry.at) < Date.parse(to))
  );
}

function differs({ decision, shadow }: AuditEntry): boolean {
  return shadow !== undefined && shadow.decision !== decision;
}

/** A time as <input type="datetime-local"> shows it, in the reader's time zone. */
export function localInput(iso: string | undefined): string {
  if (iso === undefined || Number.isNaN(Date.parse(iso))) return '';
  const moment = new Date(iso);
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function fromLocalInput(value: string): string | undefined {
  return value === '' ? undefined : new Date(value).toISOString();
}
