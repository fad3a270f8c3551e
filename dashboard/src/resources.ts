// The shapes of the data that the pages show: the answers of the routes and the events, as the core defines them.

import type { ListedApproval, ToolServer, WholeToolServer } from '../../src/core/api/resources.ts';
import type { ApprovalView } from '../../src/core/approvals/event.ts';

export type * from '../../src/core/api/resources.ts';
export type { ApprovalStatus } from '../../src/core/approvals/approval.ts';
export type { Decision } from '../../src/core/decision/decide.ts';
export type { Rule } from '../../src/core/policy/policy.ts';

/** What a Connected Tool of a key and a tool server that keys share have in common. */
export type Server = Omit<ToolServer, 'keys'>;
export type Trust = Server['trust'];
export type ToolServerUse = WholeToolServer['uses'][number];

/** An approval from a list, or from an event, which says neither whether a passkey is needed nor what is asked. */
export type Approval = ApprovalView &
  Partial<Pick<ListedApproval, 'proof' | 'personEmail' | 'details' | 'detailsGone' | 'detailsElsewhere'>>;
