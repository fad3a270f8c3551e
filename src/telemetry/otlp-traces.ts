// Spans as OTLP has them.

import {
  KEY_VALUE,
  keyValues,
  nanoseconds,
  type Resource,
  request,
  requestMessage,
} from '../core/otlp/otlp.ts';
import type { Message } from '../core/otlp/protobuf.ts';
import type { EndedSpan, SpanKind } from '../core/wire/span.ts';

const STATUS: Message = { message: [2, 'string'], code: [3, 'uint32'] };

const SPAN: Message = {
  traceId: [1, 'hex'],
  spanId: [2, 'hex'],
  traceState: [3, 'string'],
  parentSpanId: [4, 'hex'],
  name: [5, 'string'],
  kind: [6, 'uint32'],
  startTimeUnixNano: [7, 'fixed64'],
  endTimeUnixNano: [8, 'fixed64'],
  attributes: [9, KEY_VALUE],
  status: [15, STATUS],
};

export const TRACES: Message = requestMessage('Spans', 'spans', SPAN);

const KINDS: Record<SpanKind, number> = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 };

/** The code of a span that failed. Others have no status: whether they went well is for whoever looks at them. */
const FAILED = 2;

export function tracesRequest(resource: Resource, spans: readonly EndedSpan[]): object {
  return request('Spans', 'spans', resource, spans.map(otlpSpan));
}

function otlpSpan(span: EndedSpan): object {
  const { failure, attributes } = span;
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.state === '' ? {} : { traceState: span.state }),
    ...(span.parentId === null ? {} : { parentSpanId: span.parentId }),
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: nanoseconds(span.startedAt),
    endTimeUnixNano: nanoseconds(span.endedAt),
    attributes: keyValues(failure === null ? attributes : { ...attributes, 'error.type': failure }),
    ...(failure === null ? {} : { status: { code: FAILED } }),
  };
}
