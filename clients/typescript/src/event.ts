// The events a webhook receives, and reading one strictly. Whether a delivery is genuine is webhook.ts's.

import { WebhookRejected } from './errors.ts';
import {
  count,
  type Fields,
  fieldsOf,
  id,
  listOf,
  oneOf,
  own,
  ShapeFault,
  text,
  textOrNull,
} from './shape.ts';

/** An approval: the question to a person. Times are ISO 8601. */
export interface Approval {
  referenceId: string;
  toolCallId: string;
  policyId: string;
  keyId: string;
  sessionId: string | null;
  /** Where the call came from: `check`, `mcp`, or the name of an agent or gateway. */
  surface: string;
  serverName: string;
  toolName: string;
  /** `withdrawn`: the agent cancelled the call before anybody answered. */
  status: 'pending' | 'approved' | 'denied' | 'timed_out' | 'withdrawn';
  reason: string;
  createdAt: string;
  expiresAt: string;
  resolvedAt: string | null;
  /** `link`, `operator:<email>`, `admin`, or null: still pending, timed out, or withdrawn. */
  resolvedBy: string | null;
  /** What the person wrote with their answer, for the agent to read. */
  note: string | null;
  /** When the approval opened a grant: until when. */
  grantExpiresAt: string | null;
  /** The group whose members have to answer; null when every approver may. */
  approverGroup: string | null;
  votes: Votes;
}

/** How many different people have to approve, and who has. */
export interface Votes {
  needed: number;
  /** `by` is as in `resolvedBy`. */
  approved: { by: string; at: string }[];
}

export interface ApprovalOutcome extends Approval {
  status: 'approved' | 'denied' | 'timed_out' | 'withdrawn';
}

export interface ApprovalCreated {
  type: 'approval.created';
  timestamp: string;
  data: Approval & { status: 'pending' };
}

export interface ApprovalResolved {
  type: 'approval.resolved';
  timestamp: string;
  data: ApprovalOutcome;
}

/** What an operator sends to see whether a receiver works. */
export interface WebhookTest {
  type: 'webhook.test';
  timestamp: string;
  data: { webhookId: string };
}

export type WebhookEvent = ApprovalCreated | ApprovalResolved | WebhookTest;

export function parseEvent(body: string): WebhookEvent {
  try {
    return readEvent(JSON.parse(body));
  } catch (error) {
    if (error instanceof WebhookRejected) throw error;
    const why = error instanceof ShapeFault ? error.message : 'it is not JSON';
    throw new WebhookRejected('webhook_body', `The event cannot be read: ${why}.`);
  }
}

function readEvent(value: unknown): WebhookEvent {
  const fields = fieldsOf(value, 'the event');
  const type = text(fields, 'type');
  const timestamp = text(fields, 'timestamp');
  const data = fieldsOf(fields['data'], '"data"');
  switch (type) {
    case 'approval.created':
      return { type, timestamp, data: { ...readApproval(data), status: oneOf(data, 'status', ['pending']) } };
    case 'approval.resolved': {
      const status = oneOf(data, 'status', ['approved', 'denied', 'timed_out', 'withdrawn']);
      return { type, timestamp, data: { ...readApproval(data), status } };
    }
    case 'webhook.test':
      return { type, timestamp, data: { webhookId: id(data, 'webhookId') } };
    default:
      throw new WebhookRejected('webhook_unknown_event', 'The event is of a type this client does not know.');
  }
}

function readApproval(data: Fields): Omit<Approval, 'status'> {
  return {
    referenceId: id(data, 'referenceId'),
    toolCallId: id(data, 'toolCallId'),
    policyId: id(data, 'policyId'),
    keyId: id(data, 'keyId'),
    sessionId: textOrNull(data, 'sessionId'),
    surface: text(data, 'surface'),
    serverName: text(data, 'serverName'),
    toolName: text(data, 'toolName'),
    reason: text(data, 'reason'),
    createdAt: text(data, 'createdAt'),
    expiresAt: text(data, 'expiresAt'),
    resolvedAt: textOrNull(data, 'resolvedAt'),
    resolvedBy: textOrNull(data, 'resolvedBy'),
    grantExpiresAt: textOrNull(data, 'grantExpiresAt'),
    // An older service sends neither notes nor votes.
    note: own(data, 'note') === undefined ? null : textOrNull(data, 'note'),
    approverGroup: own(data, 'approverGroup') === undefined ? null : textOrNull(data, 'approverGroup'),
    votes: own(data, 'votes') === undefined ? { needed: 1, approved: [] } : readVotes(data['votes']),
  };
}

function readVotes(value: unknown): Votes {
  const fields = fieldsOf(value, '"votes"');
  const approved = listOf(fields, 'approved').map(each => {
    const vote = fieldsOf(each, 'a vote');
    return { by: text(vote, 'by'), at: text(vote, 'at') };
  });
  return { needed: count(fields, 'needed'), approved };
}
