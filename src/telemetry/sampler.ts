// Decides which requests are traced, as OTEL_TRACES_SAMPLER says.

import type { TraceParent } from '../core/wire/span.ts';

export type SamplerName =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio';

/** Whether a request is traced: by the caller's decision, if there is one, and by the digits of the trace id. */
export type Sampler = (parent: TraceParent | null, traceId: string) => boolean;

export function samplerOf(name: SamplerName, ratio: number): Sampler {
  const byId = byRatio(name.endsWith('always_on') ? 1 : name.endsWith('always_off') ? 0 : ratio);
  if (!name.startsWith('parentbased_')) return (_, traceId) => byId(traceId);
  return (parent, traceId) => parent?.sampled ?? byId(traceId);
}

/** The last 14 digits of a trace id are random, by W3C Trace Context. A number holds 13 of them exactly. */
const RANDOM_DIGITS = 14;
const USED_DIGITS = 13;

/**
 * Programs that sample the same part of the traces have to choose the same ones. So the random digits decide, in the
 * way that OpenTelemetry describes: a trace is sampled if they are not below a threshold.
 */
function byRatio(ratio: number): (traceId: string) => boolean {
  const threshold = (1 - ratio) * 16 ** USED_DIGITS;
  return traceId => {
    const digits = traceId.slice(-RANDOM_DIGITS, USED_DIGITS - RANDOM_DIGITS);
    return ratio > 0 && Number.parseInt(digits, 16) >= threshold;
  };
}
