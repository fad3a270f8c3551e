// Turns a line of the log (src/log.ts), which is JSON with secrets masked, into a log record. So what is sent is what
// stands on standard error, and nothing else.

import type { LogRecord, Severity } from '../core/otlp/logs.ts';
import { bounded } from '../core/otlp/otlp.ts';
import { isObject } from '../core/wire/json.ts';
import type { Attributes } from '../core/wire/span.ts';

/** Null if the line is not one of the log. */
export function recordOf(line: string): LogRecord | null {
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    return null;
  }
  if (!isObject(fields)) return null;
  const { level, time, msg, traceId, spanId, ...rest } = fields;
  const attributes: Attributes = {};
  if (line.length <= LONGEST_LINE) flatten(rest, '', attributes);
  return {
    at: Date.parse(String(time)) || Date.now(),
    severity: SEVERITIES.find(each => each === level) ?? 'info',
    body: typeof msg === 'string' ? bounded(msg) : '',
    attributes,
    traceId: hex(traceId, 32),
    spanId: hex(spanId, 16),
  };
}

/** Of a longer line only the message is sent, so that records that wait take a bounded amount of memory. */
const LONGEST_LINE = 16 * 1024;

const SEVERITIES: Severity[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];

/** What OpenTelemetry calls the parts of an error. */
const EXCEPTION: Record<string, string> = {
  'err.name': 'exception.type',
  'err.message': 'exception.message',
  'err.stack': 'exception.stacktrace',
};

const MOST_ATTRIBUTES = 64;

/** Fields of objects get names with dots: `err.code`. Lists become JSON. */
function flatten(fields: Record<string, unknown>, prefix: string, into: Attributes): void {
  for (const [name, value] of Object.entries(fields)) {
    if (Object.keys(into).length >= MOST_ATTRIBUTES) return;
    const path = prefix + name;
    if (isObject(value)) flatten(value, `${path}.`, into);
    else if (value !== null) into[EXCEPTION[path] ?? path] = plain(value);
  }
}

function plain(value: unknown): string | number | boolean {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return JSON.stringify(value);
}

function hex(value: unknown, length: number): string | null {
  return typeof value === 'string' && value.length === length && /^[0-9a-f]+$/.test(value) ? value : null;
}
