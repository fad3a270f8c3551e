// Calls that carried an idempotency key. A row is written with the audit entry of the call. Both digests are keyed, so that
// neither the key nor anything of the call is stored.

import { padded, placeholders, type Queries, type Transaction } from './engine/db.ts';

export interface IdempotentCall {
  /** Of the idempotency key, and of the credential and the surface that it belongs to. */
  digest: string;
  keyId: string;
  /** Of the tool and the arguments. */
  callDigest: string;
  toolCallId: string;
  /** The approval, if the call waits or waited for one. */
  referenceId: string | null;
  /** The verdict that was given, as JSON. */
  verdict: string;
  knownUntil: number;
}

const COLUMNS = `digest, key_id AS "keyId", call_digest AS "callDigest", tool_call_id AS "toolCallId",
  reference_id AS "referenceId", verdict, known_until AS "knownUntil"`;

export function findIdempotent(
  db: Queries,
  digests: readonly string[],
  now: number,
): Promise<IdempotentCall[]> {
  if (digests.length === 0) return Promise.resolve([]);
  const wanted = padded(digests);
  return db.all(
    `SELECT ${COLUMNS} FROM idempotent_calls WHERE known_until > $1 AND digest IN (${placeholders(wanted.length, 1)})`,
    [now, ...wanted],
  );
}

/** Whether a call that carried an idempotency key is still known. */
export async function isIdempotentCall(db: Queries, toolCallId: string, now: number): Promise<boolean> {
  const rows = await db.all('SELECT 1 FROM idempotent_calls WHERE tool_call_id = $1 AND known_until > $2', [
    toolCallId,
    now,
  ]);
  return rows.length > 0;
}

/** A call that waited and is judged again takes the place of the one before. */
export function putIdempotent(tx: Transaction, call: IdempotentCall): void {
  tx.defer(
    `INSERT INTO idempotent_calls (digest, key_id, call_digest, tool_call_id, reference_id, verdict, known_until)
     VALUES (${placeholders(7)})
     ON CONFLICT (digest) DO UPDATE SET key_id = excluded.key_id, call_digest = excluded.call_digest,
       tool_call_id = excluded.tool_call_id, reference_id = excluded.reference_id, verdict = excluded.verdict,
       known_until = excluded.known_until`,
    [
      call.digest,
      call.keyId,
      call.callDigest,
      call.toolCallId,
      call.referenceId,
      call.verdict,
      call.knownUntil,
    ],
  );
}

/** The call was not made, and may be made with the same key. */
export function forgetIdempotentCall(tx: Transaction, toolCallId: string): void {
  tx.defer('DELETE FROM idempotent_calls WHERE tool_call_id = $1', [toolCallId]);
}

/** Deletes at most `limit` that are not known any more. */
export async function forgetIdempotent(tx: Transaction, now: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM idempotent_calls WHERE digest IN
       (SELECT digest FROM idempotent_calls WHERE known_until <= $1 ORDER BY known_until LIMIT $2)`,
    [now, limit],
  );
}
