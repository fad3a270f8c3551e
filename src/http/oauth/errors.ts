// Errors of the authorization server for programs: the bodies that OAuth's standards prescribe, in place of problem bodies.

import type { GuardError } from '../../core/errors.ts';
import { OAuthError } from '../../guard/people/oauth-error.ts';
import { STATUS } from '../serving/errors.ts';

/** Answers with tokens or about clients are never cached. */
export const NO_STORE = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };

/**
 * What was wrong with the form of a request, in the same shape. Internal errors are left to the server, which logs them. The
 * message never quotes what was sent.
 */
export function oauthRefusal(error: GuardError, invalid = 'invalid_request'): Response | null {
  const status = STATUS[error.code];
  if (error.code === 'rate_limited') {
    const wait = { 'Retry-After': String(error.retryAfter ?? 1) };
    return problemBody(status, 'temporarily_unavailable', error.message, wait);
  }
  return status >= 500 || status === 499 ? null : problemBody(status, invalid, error.message);
}

function problemBody(
  status: number,
  error: string,
  description: string,
  headers: Record<string, string> = {},
): Response {
  // The standard allows neither quotation marks nor backslashes.
  return Response.json(
    { error, error_description: description.replace(/[^\x20-\x7e]|["\\]/g, "'") },
    { status, headers: { ...NO_STORE, ...headers } },
  );
}

export async function answering(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OAuthError) return problemBody(400, error.error, error.message);
    throw error;
  }
}
