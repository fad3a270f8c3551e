// Spans and their identifiers, and which requests are traced.

import { describe, expect, test } from 'bun:test';
import type { EndedSpan, TraceParent } from '../../src/core/wire/span.ts';
import { type SamplerName, samplerOf } from '../../src/telemetry/sampler.ts';
import { createTracer } from '../../src/telemetry/tracer.ts';

const PARENT: TraceParent = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  sampled: true,
  state: 'rojo=1',
};
const UNSAMPLED = { ...PARENT, sampled: false };

function tracing(name: SamplerName = 'parentbased_always_on', ratio = 1) {
  const ended: EndedSpan[] = [];
  return { ended, tracer: createTracer(samplerOf(name, ratio), span => ended.push(span)) };
}

describe('a span', () => {
  test('continues the trace of the caller, and passes on the state', () => {
    const { tracer, ended } = tracing();
    const span = tracer.begin('GET /x', 'server', PARENT, performance.now());
    span?.end();
    expect(span?.headers()).toEqual({
      traceparent: `00-${PARENT.traceId}-${span?.spanId}-01`,
      tracestate: 'rojo=1',
    });
    expect(ended).toMatchObject([{ traceId: PARENT.traceId, parentId: PARENT.spanId, state: 'rojo=1' }]);
    expect(span?.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(span?.spanId).not.toBe(PARENT.spanId);
  });

  test('begins a trace if there is no caller, with identifiers of its own', () => {
    const { tracer } = tracing();
    const spans = Array.from({ length: 1000 }, () => tracer.begin('x', 'server', null, 0));
    expect(new Set(spans.map(span => span?.traceId)).size).toBe(1000);
    expect(new Set(spans.map(span => span?.spanId)).size).toBe(1000);
    for (const span of spans)
      expect(span?.headers().traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(spans[0]?.headers()).not.toHaveProperty('tracestate');
  });

  test('has children of the same trace, and times of the clock', () => {
    const { tracer, ended } = tracing();
    const before = Date.now();
    const at = performance.now();
    const span = tracer.begin('outer', 'server', null, at);
    const child = span?.child('inner', 'client', at + 1);
    child?.set({ 'toolgate.decision': 'allow' });
    child?.end('timeout', at + 3);
    span?.set({ a: 1 });
    span?.set({ b: 2 });
    span?.end(null, at + 5);
    const [inner, outer] = ended as [EndedSpan, EndedSpan];
    expect(inner).toMatchObject({
      parentId: span?.spanId,
      traceId: span?.traceId,
      name: 'inner',
      kind: 'client',
      failure: 'timeout',
      attributes: { 'toolgate.decision': 'allow' },
    });
    expect(outer).toMatchObject({ parentId: null, failure: null, attributes: { a: 1, b: 2 } });
    expect(inner.startedAt - outer.startedAt).toBeCloseTo(1, 3);
    expect(outer.endedAt - outer.startedAt).toBeCloseTo(5, 3);
    expect(outer.startedAt).toBeGreaterThan(before - 2);
    expect(outer.startedAt).toBeLessThan(Date.now() + 2);
  });

  test('ends once, and never before it began', () => {
    const { tracer, ended } = tracing();
    const span = tracer.begin('x', 'server', null, 1000);
    span?.end(null, 900);
    span?.end('late');
    expect(ended.length).toBe(1);
    expect(ended[0]?.failure).toBeNull();
    expect(ended[0]?.endedAt).toBe(ended[0]?.startedAt);
  });

  test('of a caller that does not sample only passes the identifiers on', () => {
    const { tracer, ended } = tracing();
    const span = tracer.begin('x', 'server', UNSAMPLED, 0);
    const child = span?.child('y', 'client');
    expect(child?.headers()).toEqual({
      traceparent: `00-${PARENT.traceId}-${child?.spanId}-00`,
      tracestate: 'rojo=1',
    });
    child?.end();
    span?.end();
    expect(ended).toEqual([]);
  });

  test('is not there at all if nobody traces the request', () => {
    expect(tracing('always_off').tracer.begin('x', 'server', null, 0)).toBeNull();
  });
});

describe('a sampler', () => {
  const random = () => crypto.randomUUID().replaceAll('-', '');
  const part = (name: SamplerName, ratio: number, parent: TraceParent | null) => {
    const sampler = samplerOf(name, ratio);
    return Array.from({ length: 20_000 }, () => sampler(parent, random())).filter(Boolean).length / 20_000;
  };

  test.each([
    ['always_on', null, 1],
    ['always_on', UNSAMPLED, 1],
    ['always_off', PARENT, 0],
    ['traceidratio', null, 0.1],
    ['traceidratio', PARENT, 0.1],
    ['parentbased_always_on', null, 1],
    ['parentbased_always_on', UNSAMPLED, 0],
    ['parentbased_always_off', null, 0],
    ['parentbased_always_off', PARENT, 1],
    ['parentbased_traceidratio', null, 0.1],
    ['parentbased_traceidratio', PARENT, 1],
    ['parentbased_traceidratio', UNSAMPLED, 0],
  ] as const)('%s with the caller %o takes the part %d', (name, parent, expected) => {
    expect(Math.abs(part(name, 0.1, parent) - expected)).toBeLessThan(0.02);
  });

  test('takes none at 0 and all at 1', () => {
    expect(part('traceidratio', 0, null)).toBe(0);
    expect(part('traceidratio', 1, null)).toBe(1);
  });

  // The threshold of 1 in 4 is c0000000000000, as in the specification of OpenTelemetry.
  test.each([
    ['c0000000000000', true],
    ['bfffffffffffff', false],
    ['ffffffffffffff', true],
    ['00000000000000', false],
  ])('decides by the last digits of the trace id: %s', (digits, sampled) => {
    expect(samplerOf('traceidratio', 0.25)(null, `ffffffffffffffffff${digits}`)).toBe(sampled);
  });
});
