// The only error type of the domain, and its codes. Each surface has one table that maps a code to an HTTP status, a
// JSON-RPC code or an exit code. Any error that is not a GuardError is an internal failure and is never shown to a
// caller.

export type ErrorCode =
  | 'invalid_json'
  | 'invalid_input'
  | 'unauthenticated'
  | 'sign_in_required'
  | 'forbidden'
  | 'not_an_approver'
  | 'own_call'
  | 'proof_needed'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'idempotency_conflict'
  | 'not_seen'
  | 'gone'
  | 'too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'client_gone'
  | 'audit_failed'
  | 'overloaded'
  | 'not_ready'
  | 'internal';

/** One fault in a caller's input; `path` is a JSON Pointer. */
export interface InputFault {
  path: string;
  message: string;
}

interface ErrorDetails {
  cause?: unknown;
  errors?: InputFault[];
  /** The number of seconds after which the caller should try again. */
  retryAfter?: number;
  /** The methods that the path allows. */
  allow?: string;
}

export class GuardError extends Error {
  readonly code: ErrorCode;
  readonly errors: InputFault[] | undefined;
  readonly retryAfter: number | undefined;
  readonly allow: string | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.name = 'GuardError';
    this.code = code;
    this.errors = details.errors;
    this.retryAfter = details.retryAfter;
    this.allow = details.allow;
  }
}

/** An error for input that is well-formed JSON but invalid; its message is the first fault. */
export function invalidInput(errors: InputFault[]): GuardError {
  const first = errors[0];
  const where = first && first.path !== '' ? `${first.path}: ` : '';
  return new GuardError('invalid_input', first ? `${where}${first.message}` : 'The input is invalid.', {
    errors,
  });
}

/** The queue of checks is full. */
export function overloaded(): GuardError {
  return new GuardError('overloaded', 'Too many checks are waiting for the audit log.', { retryAfter: 1 });
}

/** A decision that could not be recorded is not given out. */
export function auditFailed(cause: unknown): GuardError {
  const message = 'The decision could not be recorded, so there is none. Do not proceed.';
  return new GuardError('audit_failed', message, { cause });
}
