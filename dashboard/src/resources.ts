// The shapes of what the pages show: what the routes answer and events say, as the core has them.

export type { ApprovalStatus } from '../../src/core/approval.ts';
export type { Decision } from '../../src/core/decide.ts';
export type { ApprovalView as Approval } from '../../src/core/event.ts';
export type { Rule } from '../../src/core/policy.ts';
export type * from '../../src/core/resources.ts';
