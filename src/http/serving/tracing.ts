// The spans of requests that agents and gateways send. A span begins once the caller is known, so that strangers cannot
// fill the queue of spans; its time is that of the request's arrival. Where no traces are sent, no header is read.

import type { Span, Tracer } from '../../core/wire/span.ts';
import { readTraceParent } from '../../core/wire/trace-context.ts';
import { asGuardError, STATUS } from './errors.ts';
import type { Access } from './route.ts';

/** Gateways ask about requests of any method, and a name of a span has to be one of few. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const OTHER_METHOD = '_OTHER';

/** Only what agents and gateways ask is traced. */
export function isTraced({ access }: { access: Access }): boolean {
  return access === 'agent' || access === 'door' || access === 'key';
}

/** Begins the span of a request; undefined if it is not traced and carries no trace. `path` is that of its route. */
export function beginSpan(
  tracer: Tracer,
  path: string,
  { method, headers }: Request,
  startedAt: number,
): Span | undefined {
  const parent = readTraceParent(headers.get('traceparent'), () => headers.get('tracestate'));
  const known = METHODS.has(method) ? method : OTHER_METHOD;
  const named = known === OTHER_METHOD ? 'HTTP' : known;
  const span = tracer.begin(`${named} ${path}`, 'server', parent, startedAt);
  if (span === null) return undefined;
  span.set({ 'http.request.method': known, 'http.route': path, 'network.protocol.name': 'http' });
  return span;
}

/** A request that we refuse is no failure of ours, unless its status is one of a server. */
export function endSpan(span: Span, status: number): void {
  span.set({ 'http.response.status_code': status });
  span.end(status >= 500 ? String(status) : null);
}

/** The same answer; the span ends with it. */
export function ending(span: Span, answered: Promise<Response>): Promise<Response> {
  return answered.then(
    response => {
      endSpan(span, response.status);
      return response;
    },
    error => {
      endSpan(span, STATUS[asGuardError(error).code]);
      throw error;
    },
  );
}
