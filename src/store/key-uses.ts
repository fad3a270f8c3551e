// When keys were last used, for lists. A check writes nothing for this: the newest time slot of a key (log/slots.ts)
// leads to its newest entry.

import { padded, type Queries } from './engine/db.ts';
import { searchAudit } from './log/audit-search.ts';
import { AFTER_HEX, keyTag } from './log/slots.ts';

/** How many keys one statement looks up; these take about 1 ms on SQLite, even where slots are full. */
const CHUNK = 32;

/** When each of these keys was last checked; keys that never were, or not within the retention, are left out. */
export async function findLastUses(db: Queries, keyIds: readonly string[]): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let from = 0; from < keyIds.length; from += CHUNK) {
    for (const { keyId, slot, at } of await newestEntries(db, keyIds.slice(from, from + CHUNK))) {
      if (slot === null) continue;
      const used = at ?? (await searchedUse(db, keyId));
      if (used !== null) found.set(keyId, used);
    }
    // SQLite answers without a turn of the event loop, so other requests get one here.
    await new Promise(setImmediate);
  }
  return found;
}

interface Newest {
  keyId: string;
  /** The newest slot with the key's tag; null if there is none. */
  slot: string | null;
  /** The newest entry of the key in that slot; null if the slot is of another text with the same tag. */
  at: number | null;
}

function newestEntries(db: Queries, keyIds: readonly string[]): Promise<Newest[]> {
  const wanted = padded(keyIds);
  const rows = wanted.map((_, index) => `($${2 * index + 1}, CAST($${2 * index + 2} AS bigint))`);
  return db.all(
    `WITH wanted (key_id, tag) AS (VALUES ${rows.join(', ')}),
       newest AS (SELECT key_id, (SELECT slot FROM audit_slots WHERE audit_slots.tag = wanted.tag
         ORDER BY slot DESC LIMIT 1) AS slot FROM wanted)
     SELECT key_id AS "keyId", slot, (SELECT e.at FROM audit_entries e CROSS JOIN audit_contexts c
       WHERE e.id >= slot AND e.id < slot || '${AFTER_HEX}' AND c.id = e.context AND c.key_id = newest.key_id
       ORDER BY e.id DESC LIMIT 1) AS at
     FROM newest`,
    wanted.flatMap(id => [id, keyTag(id)]),
  );
}

/** It is rarely needed: only if another text happens to have the same one of about four billion tags. */
async function searchedUse(db: Queries, keyId: string): Promise<number | null> {
  const { entries } = await searchAudit(db, { keyId }, 1, AFTER_HEX);
  return entries[0]?.at ?? null;
}
