// Makes spans. A request that is not sampled and whose caller does not trace has none, which costs a few random bytes.
// A request that is not sampled, but whose caller traces, only passes the identifiers on.

import { randomFillSync } from 'node:crypto';
import type { Attributes, EndedSpan, Span, SpanKind, Tracer } from '../core/wire/span.ts';
import type { Sampler } from './sampler.ts';

export function createTracer(sampler: Sampler, ended: (span: EndedSpan) => void): Tracer {
  return {
    begin: (name, kind, parent, startedAt) => {
      const traceId = parent?.traceId ?? randomHex(16);
      const sampled = sampler(parent, traceId);
      if (!sampled && parent === null) return null;
      const state = parent?.state ?? '';
      if (!sampled) return new SilentSpan(traceId, state);
      // The time since the start of the process drifts away from the clock within days, so each trace compares them.
      const trace = { traceId, state, epoch: Date.now() - performance.now(), ended };
      return new RecordedSpan(trace, parent?.spanId ?? null, name, kind, startedAt);
    },
  };
}

/** What all spans of one trace in this process share. */
interface Trace {
  traceId: string;
  state: string;
  /** What has to be added to `performance.now()` to get milliseconds since 1970. */
  epoch: number;
  ended: (span: EndedSpan) => void;
}

class RecordedSpan implements Span {
  readonly spanId = randomHex(8);
  readonly sampled = true;
  readonly #trace: Trace;
  readonly #parentId: string | null;
  readonly #name: string;
  readonly #kind: SpanKind;
  readonly #startedAt: number;
  readonly #attributes: Attributes = {};
  #ended = false;

  constructor(trace: Trace, parentId: string | null, name: string, kind: SpanKind, startedAt: number) {
    this.#trace = trace;
    this.#parentId = parentId;
    this.#name = name;
    this.#kind = kind;
    this.#startedAt = startedAt;
  }

  get traceId(): string {
    return this.#trace.traceId;
  }

  child(name: string, kind: SpanKind, startedAt = performance.now()): Span {
    return new RecordedSpan(this.#trace, this.spanId, name, kind, startedAt);
  }

  set(attributes: Attributes): void {
    Object.assign(this.#attributes, attributes);
  }

  end(failure: string | null = null, endedAt = performance.now()): void {
    if (this.#ended) return;
    this.#ended = true;
    const { traceId, state, epoch, ended } = this.#trace;
    ended({
      traceId,
      spanId: this.spanId,
      parentId: this.#parentId,
      state,
      name: this.#name,
      kind: this.#kind,
      startedAt: epoch + this.#startedAt,
      endedAt: epoch + Math.max(this.#startedAt, endedAt),
      attributes: this.#attributes,
      failure,
    });
  }

  headers(): { traceparent: string; tracestate?: string } {
    return contextHeaders(this, this.#trace.state);
  }
}

/** A span that is not sent. Spans within it are the same object, because nothing distinguishes them. */
class SilentSpan implements Span {
  readonly spanId = randomHex(8);
  readonly sampled = false;
  readonly traceId: string;
  readonly #state: string;

  constructor(traceId: string, state: string) {
    this.traceId = traceId;
    this.#state = state;
  }

  child(): Span {
    return this;
  }

  set(): void {}

  end(): void {}

  headers(): { traceparent: string; tracestate?: string } {
    return contextHeaders(this, this.#state);
  }
}

function contextHeaders({ traceId, spanId, sampled }: Span, state: string) {
  const traceparent = `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
  return state === '' ? { traceparent } : { traceparent, tracestate: state };
}

const POOL = Buffer.allocUnsafe(4096);
let used = POOL.length;

/** Random identifiers; one of zeros would be invalid, but is too improbable to matter. Bytes are drawn many at a time. */
function randomHex(bytes: number): string {
  if (used + bytes > POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  used += bytes;
  return POOL.toString('hex', used - bytes, used);
}
