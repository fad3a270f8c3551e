// The shapes of the data that the pages show: the answers of the routes and the events, as the core defines them.

export type { ApprovalStatus } from '../../src/core/approval.ts';
export type { Decision } from '../../src/core/decide.ts';
export type { ApprovalView as Approval } from '../../src/core/event.ts';
export type { Rule } from '../../src/core/policy.ts';
export type * from '../../src/core/resources.ts';
