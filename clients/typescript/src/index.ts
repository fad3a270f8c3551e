// The public list. Everything else in this folder is private.

export {
  type Args,
  type CallOptions,
  type CheckOptions,
  type GuardAndWaitOptions,
  type RunOptions,
  Toolgate,
} from './client.ts';
export type { ToolgateOptions } from './config.ts';
export {
  BadAnswer,
  CallAborted,
  CallTimedOut,
  Forbidden,
  InvalidConfiguration,
  InvalidRequest,
  NetworkFailure,
  NotFound,
  Overloaded,
  type Problem,
  type ProofFault,
  ProofRejected,
  RequestRefused,
  ServiceFailure,
  ToolCallDenied,
  ToolCallPending,
  ToolCallRefused,
  ToolgateError,
  ToolResultWithheld,
  Unauthenticated,
  type WebhookFault,
  WebhookRejected,
} from './errors.ts';
export type {
  Approval,
  ApprovalCreated,
  ApprovalOutcome,
  ApprovalResolved,
  Votes,
  WebhookEvent,
  WebhookTest,
} from './event.ts';
export { type GuardedOptions, guarded } from './guarded.ts';
export { ApprovalListener, type ListenerOptions, type WaitOptions } from './listener.ts';
export { type Inclusion, type InclusionProof, verifyInclusion } from './proof.ts';
export type { WithheldResult } from './results.ts';
export type { CreatedSession, NewSession, Session } from './session.ts';
export type { AllowVerdict, DenyVerdict, PendingVerdict, Verdict } from './verdict.ts';
export { type VerifyOptions, verifyWebhook, type WebhookHeaders } from './webhook.ts';
