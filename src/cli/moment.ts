// Reads times as people write them: an ISO 8601 time, or a duration from now (ahead) or before now (ago).

import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../core/approval.ts';

const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;
const HINT = 'It must be a time such as 2030-01-31T12:00:00Z, or a duration such as 90m, 24h or 7d.';

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

function moment(text: string, direction: 1 | -1): string {
  const ms = parseDuration(text);
  const at = ms !== null ? Date.now() + direction * ms : ISO.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) throw new InvalidArgumentError(HINT);
  return new Date(at).toISOString();
}
