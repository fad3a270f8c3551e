// What is wrong with the queue of open approvals: whose limit on them is reached, and which groups have to answer.

import type { Queries } from './engine/db.ts';

export interface FullQueue {
  keyId: string;
  /** Null if the limit of the key itself is reached. */
  sessionId: string | null;
  open: number;
}

/** The keys and sessions that have so many open approvals that further calls are denied; at most `most` of each. */
export async function fullQueues(
  db: Queries,
  now: number,
  { perKey, perSession, most }: { perKey: number; perSession: number; most: number },
): Promise<FullQueue[]> {
  const keys = db.all<FullQueue>(
    `SELECT key_id AS "keyId", NULL AS "sessionId", count(*) AS open FROM approvals
     WHERE status = 'pending' AND expires_at > $1 GROUP BY key_id HAVING count(*) >= $2 LIMIT $3`,
    [now, perKey, most],
  );
  const sessions = db.all<FullQueue>(
    `SELECT key_id AS "keyId", session_id AS "sessionId", count(*) AS open FROM approvals
     WHERE status = 'pending' AND expires_at > $1 AND session_id IS NOT NULL
     GROUP BY key_id, session_id HAVING count(*) >= $2 LIMIT $3`,
    [now, perSession, most],
  );
  return [...(await keys), ...(await sessions)];
}

export interface AskedGroup {
  approverGroup: string;
  votesNeeded: number;
  /** The person in whose name the calls were made, who may not answer them. */
  personEmail: string | null;
  open: number;
  /** The oldest of these questions. */
  referenceId: string;
}

/** The groups that have to answer open questions. */
export function askedGroups(db: Queries, now: number, most: number): Promise<AskedGroup[]> {
  return db.all(
    `SELECT approver_group AS "approverGroup", votes_needed AS "votesNeeded", person_email AS "personEmail",
       count(*) AS open, min(id) AS "referenceId" FROM approvals
     WHERE status = 'pending' AND expires_at > $1 AND approver_group IS NOT NULL
     GROUP BY approver_group, votes_needed, person_email LIMIT $2`,
    [now, most],
  );
}
