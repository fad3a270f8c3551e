// Reads times as people write them: an ISO 8601 time, or a duration from now (ahead) or before now (ago).

import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../core/time/duration.ts';

const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;
/** How a time is described in messages. */
export const TIME_FORM = 'a time such as 2030-01-31T12:00:00Z';
const HINT = `It must be ${TIME_FORM}, or a duration such as 90m, 24h or 7d.`;

function ahead(text: string): string {
  return moment(text, 1);
}

export function ago(text: string): string {
  return moment(text, -1);
}

/** `never` removes a time. */
export function aheadOrNever(text: string): string | null {
  return text === 'never' ? null : ahead(text);
}

/** An ISO 8601 time in milliseconds, or null. A date alone is its midnight in UTC. */
export function readTime(text: string): number | null {
  const at = ISO.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse takes 31 February for 3 March.
  const date = text.slice(0, 'YYYY-MM-DD'.length);
  return Number.isNaN(at) || new Date(date).toISOString().slice(0, date.length) !== date ? null : at;
}

function moment(text: string, direction: 1 | -1): string {
  const ms = parseDuration(text);
  const at = ms !== null ? Date.now() + direction * ms : readTime(text);
  if (at === null) throw new InvalidArgumentError(HINT);
  return new Date(at).toISOString();
}
