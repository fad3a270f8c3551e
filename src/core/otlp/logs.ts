// Log records as OTLP has them.

import type { Attributes } from '../wire/span.ts';
import {
  ANY_VALUE,
  KEY_VALUE,
  keyValues,
  nanoseconds,
  type Resource,
  request,
  requestMessage,
} from './otlp.ts';
import type { Message } from './protobuf.ts';

const LOG_RECORD: Message = {
  timeUnixNano: [1, 'fixed64'],
  severityNumber: [2, 'uint32'],
  severityText: [3, 'string'],
  body: [5, ANY_VALUE],
  attributes: [6, KEY_VALUE],
  traceId: [9, 'hex'],
  spanId: [10, 'hex'],
  observedTimeUnixNano: [11, 'fixed64'],
};

export const LOGS: Message = requestMessage('Logs', 'logRecords', LOG_RECORD);

export type Severity = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';

const SEVERITIES: Record<Severity, number> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 };

export interface LogRecord {
  /** Milliseconds since 1970. */
  at: number;
  severity: Severity;
  /** It is sent whole. */
  body: string;
  attributes: Attributes;
  /** Hexadecimal digits; null if it belongs to no trace. */
  traceId: string | null;
  spanId: string | null;
}

export function logsRequest(resource: Resource, records: readonly LogRecord[]): object {
  return request('Logs', 'logRecords', resource, records.map(otlpRecord));
}

function otlpRecord({ at, severity, body, attributes, traceId, spanId }: LogRecord): object {
  return {
    timeUnixNano: nanoseconds(at),
    severityNumber: SEVERITIES[severity],
    severityText: severity.toUpperCase(),
    body: { stringValue: body },
    attributes: keyValues(attributes),
    ...(traceId === null ? {} : { traceId }),
    ...(spanId === null ? {} : { spanId }),
    observedTimeUnixNano: nanoseconds(at),
  };
}
