// Everything that can go wrong, as one family: whatever is thrown here is a ToolgateError, and every one of
// them means "do not proceed", or, after a call, "pass on nothing of its result". Which answer becomes which error is
// decided in answer.ts.

import type { ApprovalOutcome } from './event.ts';
import type { DenyVerdict, PendingVerdict, Verdict } from './verdict.ts';

/** The body of a refusal (RFC 9457), as the service writes it. */
export interface Problem {
  title: string;
  status: number;
  detail: string;
  /** A stable word, such as `audit_failed`. */
  code: string;
  /** What is wrong with the input; `path` is a JSON Pointer. */
  errors: { path: string; message: string }[];
  /** Under which the service's log has it. */
  requestId: string | null;
}

export class ToolgateError extends Error {
  override readonly name: string = 'ToolgateError';
  /** A stable word to tell failures apart without `instanceof`. */
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** The policy, or the person asked, said no. */
export class ToolCallDenied extends ToolgateError {
  override readonly name = 'ToolCallDenied';
  /** The verdict as it came: a `deny`, or the `pending` that a person then answered. */
  readonly verdict: DenyVerdict | PendingVerdict;
  /** How the question to a person ended; null when the policy itself denied. */
  readonly approval: ApprovalOutcome | null;
  /** What the person wrote with their answer; the message has it too. */
  readonly note: string | null;

  constructor(verdict: DenyVerdict | PendingVerdict, approval: ApprovalOutcome | null = null) {
    super('denied', approval === null ? verdict.reason : refusalBy(approval));
    this.verdict = verdict;
    this.approval = approval;
    this.note = approval?.note ?? null;
  }
}

function refusalBy({ status, resolvedBy, note }: ApprovalOutcome): string {
  if (status === 'timed_out') return 'Nobody approved the call in time.';
  if (status === 'withdrawn') return 'The call was withdrawn before anybody answered.';
  return withNote(`The call was denied by ${resolvedBy ?? 'an approver'}.`, note);
}

function withNote(message: string, note: string | null): string {
  return note === null ? message : `${message} The approver's note says: "${note}"`;
}

/** A person has to decide first; nothing may run yet. */
export class ToolCallPending extends ToolgateError {
  override readonly name = 'ToolCallPending';
  readonly verdict: PendingVerdict;
  /**
   * After `guardAndWait`, what the person wrote who approved the call that is now held again, because its arguments
   * changed meanwhile or the approval was withdrawn. Null when nobody has answered, or without a note.
   */
  readonly note: string | null;

  constructor(verdict: PendingVerdict, options: { cause?: unknown; note?: string | null } = {}) {
    const { note = null, ...more } = options;
    super('pending', withNote(verdict.reason, note), more);
    this.verdict = verdict;
    this.note = note;
  }
}

/** The error that a verdict other than `allow` is. */
export function refusalOf(
  verdict: Exclude<Verdict, { decision: 'allow' }>,
  note: string | null = null,
): ToolCallDenied | ToolCallPending {
  return verdict.decision === 'deny' ? new ToolCallDenied(verdict) : new ToolCallPending(verdict, { note });
}

/**
 * A tool that `guardTools` guards was not run. The message is written for the model; `cause` is the error of the guard.
 */
export class ToolCallRefused extends ToolgateError {
  override readonly name = 'ToolCallRefused';

  constructor(cause: unknown) {
    // Whatever else was thrown may quote the arguments.
    const known = cause instanceof ToolgateError ? cause : null;
    super(known?.code ?? 'no_verdict', tellModel(known), known === null ? {} : { cause: known });
  }
}

function tellModel(error: ToolgateError | null): string {
  if (error instanceof ToolCallDenied) return `Denied: ${error.message} Do not make this call again.`;
  if (error instanceof ToolCallPending)
    return (
      `Not done yet: a person has to approve this call (reference ${error.verdict.referenceId}). ${error.message} ` +
      'Tell the user, and make the same call again once it is approved.'
    );
  return `Not done: there is no verdict on this call (${error?.code ?? 'no_verdict'}). Tell the user.`;
}

/**
 * A tool was run, and what it returned or threw is withheld, or a part of what it threw. The message may be passed on: it is
 * the policy's reason, what is left of the tool's error, or says that nobody could look at the result; then `cause` is the
 * error of the client.
 */
export class ToolResultWithheld extends ToolgateError {
  override readonly name = 'ToolResultWithheld';

  constructor(said: string | { cause: unknown }) {
    if (typeof said === 'string') super('withheld', said);
    else {
      // Whatever else was thrown may quote the result.
      const known = said.cause instanceof ToolgateError ? said.cause : null;
      super(known?.code ?? 'no_answer', tellUnseen(known), known === null ? {} : { cause: known });
    }
  }
}

function tellUnseen(error: ToolgateError | null): string {
  const why = error?.code === 'too_large' ? 'it is larger than 6 MiB' : 'nobody could look at it';
  return `The tool was run, but its result is withheld: ${why} (${error?.code ?? 'no_answer'}). Tell the user.`;
}

/** The service answered, and its answer is an error. */
export class RequestRefused extends ToolgateError {
  override readonly name: string = 'RequestRefused';
  /** HTTP status; null when the request was refused here, before it was sent. */
  readonly status: number | null;
  /** What the service says; null when it said nothing readable. */
  readonly problem: Problem | null;

  constructor(message: string, status: number | null, problem: Problem | null, code: string) {
    super(problem?.code ?? code, message);
    this.status = status;
    this.problem = problem;
  }
}

/** No key, or one that is unknown, revoked or expired. */
export class Unauthenticated extends RequestRefused {
  override readonly name = 'Unauthenticated';
}

/** The credential is good, but not for this: a session token cannot manage sessions. */
export class Forbidden extends RequestRefused {
  override readonly name = 'Forbidden';
}

/** The request itself is wrong; `problem.errors` says where. */
export class InvalidRequest extends RequestRefused {
  override readonly name = 'InvalidRequest';
}

export class NotFound extends RequestRefused {
  override readonly name = 'NotFound';
}

/** The service is too busy or not ready. */
export class Overloaded extends RequestRefused {
  override readonly name = 'Overloaded';
  /** Seconds the service asks to wait; null when it names none. */
  readonly retryAfter: number | null;

  constructor(message: string, status: number, problem: Problem | null, retryAfter: number | null) {
    super(message, status, problem, 'overloaded');
    this.retryAfter = retryAfter;
  }
}

/** The service failed: the decision could not be recorded (`audit_failed`), so there is none. */
export class ServiceFailure extends RequestRefused {
  override readonly name = 'ServiceFailure';
}

/** Something answered, but not what a Toolgate service answers. */
export class BadAnswer extends ToolgateError {
  override readonly name = 'BadAnswer';
  readonly status: number;

  constructor(status: number, message: string) {
    super('bad_answer', message);
    this.status = status;
  }
}

/** There was no answer. */
export class NetworkFailure extends ToolgateError {
  override readonly name = 'NetworkFailure';
  /** False only when it is certain that the service never saw the request. */
  readonly sent: boolean;

  constructor(message: string, sent: boolean, cause: unknown) {
    super('network_failure', message, { cause });
    this.sent = sent;
  }
}

export class CallTimedOut extends ToolgateError {
  override readonly name = 'CallTimedOut';

  constructor(message: string) {
    super('timed_out', message);
  }
}

/** The caller's own AbortSignal; its reason is the `cause`. */
export class CallAborted extends ToolgateError {
  override readonly name = 'CallAborted';

  constructor(reason: unknown) {
    super('aborted', 'The call was aborted.', { cause: reason });
  }
}

/** The client was given something it cannot work with. */
export class InvalidConfiguration extends ToolgateError {
  override readonly name = 'InvalidConfiguration';

  constructor(message: string) {
    super('invalid_configuration', message);
  }
}

export type WebhookFault =
  | 'webhook_headers'
  | 'webhook_timestamp'
  | 'webhook_signature'
  | 'webhook_body'
  | 'webhook_unknown_event';

/** A delivery that is not to be believed, or not understood. */
export class WebhookRejected extends ToolgateError {
  override readonly name = 'WebhookRejected';
  declare readonly code: WebhookFault;

  constructor(code: WebhookFault, message: string) {
    super(code, message);
  }
}

export type ProofFault = 'proof_shape' | 'proof_checkpoint' | 'proof_entry';

/** A proof that does not show what it should. */
export class ProofRejected extends ToolgateError {
  override readonly name = 'ProofRejected';
  declare readonly code: ProofFault;

  constructor(code: ProofFault, message: string) {
    super(code, message);
  }
}
