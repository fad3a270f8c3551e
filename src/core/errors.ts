// The one error type of the domain and its codes. What a code means on a surface (an HTTP status, a
// JSON-RPC code, an exit code) is decided there, in one table each; anything that is not a GuardError is
// an internal failure and is never shown to a caller.

export type ErrorCode =
  | 'invalid_json'
  | 'invalid_input'
  | 'unauthenticated'
  | 'sign_in_required'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
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
  /** Seconds after which trying again makes sense. */
  retryAfter?: number;
  /** Methods that would have been allowed. */
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

/** Input that is well-formed JSON but wrong: the first fault is also the sentence a person reads. */
export function invalidInput(errors: InputFault[]): GuardError {
  const first = errors[0];
  const where = first && first.path !== '' ? `${first.path}: ` : '';
  return new GuardError('invalid_input', first ? `${where}${first.message}` : 'The input is invalid.', {
    errors,
  });
}

/** More checks wait than the store can take. */
export function overloaded(): GuardError {
  return new GuardError('overloaded', 'Too many checks are waiting for the audit log.', { retryAfter: 1 });
}

/** No record, no verdict. */
export function auditFailed(cause: unknown): GuardError {
  const message = 'The decision could not be recorded, so there is none. Do not proceed.';
  return new GuardError('audit_failed', message, { cause });
}
