// The two events about an approval: their shape, and the schedule of delivery attempts. The guard signs and sends them.
// An event never carries the approval's token.

import type { Surface } from '../text/surface.ts';
import type { ApprovalStatus } from './approval.ts';

export const EVENT_TYPES = ['approval.created', 'approval.resolved'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** An approval as events show it; times are in ISO 8601. */
export interface ApprovalView {
  referenceId: string;
  toolCallId: string;
  policyId: string;
  keyId: string;
  sessionId: string | null;
  /** The operator for whom the session acts; absent if it acts for nobody. */
  personId?: string;
  /** The run of the call; absent if its policy uses no marks and no known values. */
  runId?: string;
  surface: Surface;
  serverName: string;
  toolName: string;
  status: ApprovalStatus;
  reason: string;
  createdAt: string;
  expiresAt: string;
  resolvedAt: string | null;
  resolvedBy: string | null;
  grantExpiresAt: string | null;
  /** What the person who answered wrote to the agent. */
  note: string | null;
  /** The group whose members have to answer; null if every approver may. */
  approverGroup: string | null;
  /** How many different people have to approve, and who has. */
  votes: { needed: number; approved: { by: string; at: string }[] };
}

/** An approval that more people have to approve. Open pages of the dashboard learn of it, webhooks do not. */
export const VOTED = 'approval.voted';

export interface Event {
  type: EventType | typeof VOTED;
  timestamp: string;
  data: ApprovalView;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The milliseconds to wait before each attempt. */
export const ATTEMPT_WAITS: readonly number[] = [
  0,
  1 * SECOND,
  5 * SECOND,
  15 * SECOND,
  60 * SECOND,
  5 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  1 * HOUR,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

const JITTER = 0.2;

/**
 * The milliseconds to wait after `made` failed attempts, or null when the schedule is exhausted. `random` in [0, 1)
 * spreads the retries of many deliveries by ±20 %.
 */
export function waitAfter(made: number, random: number): number | null {
  const wait = ATTEMPT_WAITS[made];
  if (wait === undefined) return null;
  return Math.round(wait * (1 - JITTER + 2 * JITTER * random));
}
