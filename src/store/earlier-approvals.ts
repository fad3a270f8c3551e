// How earlier questions about a tool ended: all of them together, for whoever answers the next one, and by the rule that
// asked, for suggestions.

import type { ApprovalRecord } from './approvals.ts';
import type { Queries } from './engine/db.ts';

export interface Earlier {
  asked: number;
  approved: number;
  denied: number;
  timedOut: number;
  lastBy: string | null;
  lastAt: number | null;
}

/** The most questions that are counted. */
const MOST_EARLIER = 10_000;

/** How the questions about a tool of a key ended that were asked after an id, and before the one that is given. */
export async function earlierApprovals(
  db: Queries,
  { id, keyId, serverName, toolName }: Pick<ApprovalRecord, 'id' | 'keyId' | 'serverName' | 'toolName'>,
  after: string,
): Promise<Earlier> {
  const [row] = await db.all<Earlier>(
    `WITH earlier AS (
       SELECT status, resolved_at, resolved_by FROM approvals
       WHERE key_id = $1 AND server_name = $2 AND tool_name = $3 AND id >= $4 AND id < $5 AND status <> 'withdrawn'
       ORDER BY id DESC LIMIT ${MOST_EARLIER}),
     answered AS (
       SELECT resolved_at, resolved_by FROM earlier WHERE status IN ('approved', 'denied')
       ORDER BY resolved_at DESC LIMIT 1)
     SELECT count(*) AS asked, count(CASE WHEN status = 'approved' THEN 1 END) AS approved,
       count(CASE WHEN status = 'denied' THEN 1 END) AS denied,
       count(CASE WHEN status = 'timed_out' THEN 1 END) AS "timedOut",
       (SELECT resolved_by FROM answered) AS "lastBy", (SELECT resolved_at FROM answered) AS "lastAt"
     FROM earlier`,
    [keyId, serverName, toolName, after, id],
  );
  return row as Earlier;
}

/** How questions ended that one rule asked. */
export interface Answered {
  ruleDigest: string | null;
  approved: number;
  /** Denied, or not answered in time. */
  refused: number;
}

/** How such questions ended, counted for each rule that asked. */
export function answersByRule(
  db: Queries,
  { id, keyId, serverName, toolName }: Pick<ApprovalRecord, 'id' | 'keyId' | 'serverName' | 'toolName'>,
  after: string,
): Promise<Answered[]> {
  return db.all(
    `WITH earlier AS (
       SELECT status, rule_digest FROM approvals
       WHERE key_id = $1 AND server_name = $2 AND tool_name = $3 AND id >= $4 AND id < $5
       ORDER BY id DESC LIMIT ${MOST_EARLIER})
     SELECT rule_digest AS "ruleDigest", count(CASE WHEN status = 'approved' THEN 1 END) AS approved,
       count(CASE WHEN status IN ('denied', 'timed_out') THEN 1 END) AS refused
     FROM earlier GROUP BY rule_digest`,
    [keyId, serverName, toolName, after, id],
  );
}
