// Error codes in HTTP: one table from code to status, and the problem body (RFC 9457). An error that is not a
// GuardError is internal: the server logs it, and its text is never shown.

import { type ErrorCode, GuardError } from '../../core/errors.ts';

export const STATUS: Record<ErrorCode, number> = {
  invalid_json: 400,
  invalid_input: 400,
  unauthenticated: 401,
  sign_in_required: 401,
  forbidden: 403,
  not_an_approver: 403,
  proof_needed: 403,
  own_call: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  idempotency_conflict: 409,
  not_seen: 409,
  gone: 410,
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  client_gone: 499,
  audit_failed: 500,
  internal: 500,
  overloaded: 503,
  not_ready: 503,
};

const TITLES: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  499: 'Client Closed Request',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

export function asGuardError(error: unknown): GuardError {
  if (error instanceof GuardError) return error;
  return new GuardError(
    'internal',
    'Something went wrong on our side; the log has it under this request id.',
    {
      cause: error,
    },
  );
}

export function noSuchRoute(): GuardError {
  const message = 'No route has this path. Is the base address right? GET /docs lists every route.';
  return new GuardError('not_found', message);
}

export function problem(
  error: GuardError,
  requestId: string,
  headers: Record<string, string> = {},
): Response {
  const status = STATUS[error.code];
  const body = {
    type: 'about:blank',
    title: TITLES[status],
    status,
    detail: error.message,
    code: error.code,
    requestId,
    ...(error.errors === undefined ? {} : { errors: error.errors }),
  };
  return Response.json(body, {
    status,
    headers: { ...headers, ...headersOf(error), 'Content-Type': 'application/problem+json' },
  });
}

/** The headers that belong to an error, in whatever shape its answer has. */
export function headersOf({ code, allow, retryAfter }: GuardError): Record<string, string> {
  return {
    ...(code === 'unauthenticated' && { 'WWW-Authenticate': 'Bearer realm="toolgate"' }),
    ...(allow !== undefined && { Allow: allow }),
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
  };
}
