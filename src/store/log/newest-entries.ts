// Finds the newest audit entries of given contexts, with bounded work. There is no index by context, because it would
// cost every check; the search follows the slots of their key and tool instead, like audit-search.ts.

import type { Decision } from '../../core/decision/decide.ts';
import { padded, type Queries, type Value } from '../engine/db.ts';
import { firstIdAt } from './audit.ts';
import { chooseLead, hasTag, nextSize } from './audit-search.ts';
import { AFTER_HEX, decisionTag, keyTag, slotOf, toolTag } from './slots.ts';

export interface EntryGroup {
  keyId: string;
  toolName: string;
  decision: Decision;
  /** Numbers of contexts with this key and this tool. The caller bounds how many there are. */
  contexts: readonly number[];
  /** Inclusive. */
  from: number;
  /** Exclusive. */
  to: number;
}

const FIRST_SLOTS = 16;
/** How many entries and slots are read for one group: about 10 ms on SQLite, in pieces. */
const PER_GROUP = 4096;

/**
 * The ids of at most `most` entries, newest first, and how many entries and slots were read for them. There are fewer ids
 * if the bounded work found no more.
 */
export async function newestEntries(
  db: Queries,
  group: EntryGroup,
  most: number,
): Promise<{ ids: string[]; seen: number }> {
  const { keyId, toolName, decision, from, to } = group;
  const tags = [keyTag(keyId), toolTag(toolName), decisionTag(decision)].filter(tag => tag !== null);
  const low = firstIdAt(from);
  const ids: string[] = [];
  let before = firstIdAt(to);
  let size = FIRST_SLOTS;
  let seen = 0;
  while (ids.length < most) {
    const lead = (await chooseLead(db, tags, { low, before, size })) as number;
    const others = tags.filter(tag => tag !== lead);
    const chunk = await readChunk(db, group, lead, others, { low, before, size }, most - ids.length);
    ids.push(...chunk.ids);
    seen += chunk.seen;
    if (chunk.reach === null || seen >= PER_GROUP) break;
    before = chunk.reach;
    size = nextSize(size, chunk.seen);
    // SQLite answers without a turn of the event loop, so other requests get one here.
    await new Promise(setImmediate);
  }
  return { ids, seen };
}

async function readChunk(
  db: Queries,
  { contexts, decision }: EntryGroup,
  lead: number,
  others: readonly number[],
  { low, before, size }: { low: string; before: string; size: number },
  wanted: number,
): Promise<{ ids: string[]; seen: number; reach: string | null }> {
  const params: Value[] = [low, before, lead, slotOf(low), decision, wanted];
  const param = (value: Value) => `$${params.push(value)}`;
  const tests = others.map(tag => `AND ${hasTag(param(tag))}`).join(' ');
  const numbers = padded(contexts).map(param).join(', ');
  // The CROSS JOIN keeps the planner of SQLite from starting with another table.
  const rows = await db.all<{ reach: string | null; steps: number; seen: number; id: string | null }>(
    `WITH steps AS (SELECT DISTINCT slot AS step FROM audit_slots WHERE tag = $3 AND slot >= $4 AND slot < $2
         ORDER BY slot DESC LIMIT ${size}),
       chunk AS (SELECT e.id, e.context, e.decision FROM steps CROSS JOIN audit_entries AS e
         WHERE e.id >= step AND e.id < step || '${AFTER_HEX}' ${tests})
     SELECT r.*, c.id FROM (SELECT (SELECT min(step) FROM steps) AS reach, (SELECT count(*) FROM steps) AS steps,
       (SELECT count(*) FROM chunk) AS seen) AS r
     LEFT JOIN chunk AS c ON c.id >= $1 AND c.id < $2 AND c.decision = $5 AND c.context IN (${numbers})
     ORDER BY c.id DESC LIMIT $6`,
    params,
  );
  const [first] = rows;
  if (first === undefined) throw new Error('the search returned no row');
  return {
    ids: rows.flatMap(row => row.id ?? []),
    seen: first.seen + first.steps,
    reach: first.steps < size ? null : first.reach,
  };
}
