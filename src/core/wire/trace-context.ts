// Reads the headers `traceparent` and `tracestate` of W3C Trace Context (the Recommendation of 2021), with which a caller
// says to which trace its request belongs. What is not exactly as the specification says counts as absent. Nothing here
// decides whether a request is traced: telemetry/ does.

import type { TraceParent } from './span.ts';

/** Version, trace id, id of the caller's span, flags. Only versions of the future may have more after them. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
const SAMPLED = 1;

/** Longer headers are not looked at. The specification names no limit for versions of the future. */
const MAX_LENGTH = 512;

/** The trace that a caller names; null if there is none that is valid. Without it, a `tracestate` means nothing. */
export function readTraceParent(
  header: string | null | undefined,
  state: () => string | null | undefined,
): TraceParent | null {
  if (header === null || header === undefined || header.length > MAX_LENGTH) return null;
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(header) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return null;
  const sampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  return { traceId, spanId, sampled, state: readTraceState(state()) };
}

const MAX_MEMBERS = 32;
/** A list of this length has to be passed on; a longer one may be shortened, beginning with members this long. */
const KEPT_STATE = 512;
const LONG_MEMBER = 128;
/** What is read at most: 32 members of the greatest length, and blanks between them. */
const MAX_STATE = 32 * 1024;

const KEY = '(?:[a-z][-a-z0-9_*/]{0,255}|[a-z0-9][-a-z0-9_*/]{0,240}@[a-z][-a-z0-9_*/]{0,13})';
/** Printable characters without comma and equals sign; a blank is not the last one. */
const VALUE = '[ -+\\--<>-~]{0,255}[!-+\\--<>-~]';
const MEMBER = new RegExp(`^${KEY}=${VALUE}$`);

/** The list that is passed on with the trace; empty if there is none, or one that breaks the rules. */
export function readTraceState(header: string | null | undefined): string {
  if (header === null || header === undefined || header.length > MAX_STATE) return '';
  const members = header
    .split(',')
    .map(withoutBlanks)
    .filter(member => member !== '');
  if (members.length > MAX_MEMBERS || !members.every(member => MEMBER.test(member))) return '';
  const keys = members.map(member => member.slice(0, member.indexOf('=')));
  if (new Set(keys).size < keys.length) return '';
  return shortened(members).join(',');
}

/**
 * Blanks and tabs may stand around each member. A regular expression would begin anew at every blank within a member: one
 * header of 32,000 blanks took two seconds.
 */
function withoutBlanks(member: string): string {
  let from = 0;
  let to = member.length;
  while (isBlank(member[from])) from++;
  while (isBlank(member[to - 1])) to--;
  return member.slice(from, to);
}

const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t';

/** Whole members are left out: long ones first, then those at the end. */
function shortened(members: readonly string[]): readonly string[] {
  if (fits(members)) return members;
  const kept = members.filter(member => member.length <= LONG_MEMBER);
  while (!fits(kept)) kept.pop();
  return kept;
}

const fits = (members: readonly string[]): boolean => members.join(',').length <= KEPT_STATE;

/** Stands for the trace id in the address at which an operator looks at traces. */
export const TRACE_ID = '{traceId}';

export function traceLink(pattern: string, traceId: string): string {
  return pattern.replaceAll(TRACE_ID, traceId);
}
