// What a trace consists of: a span is one stretch of work, with its name, its time and a few facts about it. This file
// has only the types, so that every part of the program can describe its work; telemetry/ makes spans and sends them.

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';

/** Facts about the work. They never hold an argument, a result, a token or an address with a query. */
export type Attributes = Record<string, string | number | boolean>;

/** What callers say about the trace that a request belongs to: the header `traceparent` of W3C Trace Context. */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits: the span of the caller. */
  spanId: string;
  sampled: boolean;
  /** The header `tracestate`, as it came. */
  state: string;
}

/** A span under way. Only sampled spans are sent; of the others only the identifiers count. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
  /** Begins a span within this one. Times are those of `performance.now()`; without one, it is now. */
  child(name: string, kind: SpanKind, startedAt?: number): Span;
  set(attributes: Attributes): void;
  /** Ends the span; `failure` is the short, stable kind of a failure, such as `timeout`. */
  end(failure?: string | null, endedAt?: number): void;
  /** The values of `traceparent` and `tracestate` for a request that is made within this span. */
  headers(): { traceparent: string; tracestate?: string };
}

/** Begins the span of a request. Null: the request is not traced and carries no trace. */
export interface Tracer {
  begin(name: string, kind: SpanKind, parent: TraceParent | null, startedAt: number): Span | null;
}

/** A span that has ended, as it is sent. */
export interface EndedSpan {
  traceId: string;
  spanId: string;
  parentId: string | null;
  state: string;
  name: string;
  kind: SpanKind;
  /** Milliseconds since 1970, with fractions. */
  startedAt: number;
  endedAt: number;
  attributes: Attributes;
  failure: string | null;
}
