// The slots of several tags (slots.ts) as one list, newest first. The newest slot of every tag is read at once; further
// slots only of a tag whose slots are used up, twice as many each time. So a tag that is rare costs one look-up, and a
// frequent one few statements.

import { padded, type Queries } from '../engine/db.ts';

/** How many tags one statement looks up. */
const PART = 256;
const FIRST_BATCH = 16;
const MOST_BATCH = 2048;

interface Followed {
  tag: number;
  /** Slots that were read, newest first, and are older than where the list was last asked for. */
  slots: string[];
  /** How many to read next; 0 at the end. */
  batch: number;
}

export class MergedSlots {
  readonly #db: Queries;
  readonly #tags: readonly number[];
  /** The first slot. */
  readonly #low: string;
  #followed: Followed[] | null = null;

  constructor(db: Queries, tags: readonly number[], low: string) {
    this.#db = db;
    this.#tags = tags;
    this.#low = low;
  }

  /** The newest slots before a bound, at most `size`. The bound may only go down from one call to the next. */
  async before(bound: string, size: number): Promise<string[]> {
    this.#followed ??= await this.#newest(bound);
    const rest = this.#followed.map(each => {
      each.slots = each.slots.filter(slot => slot < bound);
      return { followed: each, at: 0 };
    });
    const merged: string[] = [];
    while (merged.length < size) {
      let best = '';
      for (const each of rest) {
        if (each.at === each.followed.slots.length) await this.#readOn(each.followed, bound);
        const slot = each.followed.slots[each.at] ?? '';
        if (slot > best) best = slot;
      }
      if (best === '') break;
      merged.push(best);
      for (const each of rest) if (each.followed.slots[each.at] === best) each.at++;
    }
    return merged;
  }

  async #newest(bound: string): Promise<Followed[]> {
    const followed = new Map<number, Followed>();
    for (let at = 0; at < this.#tags.length; at += PART) {
      const tags = padded(this.#tags.slice(at, at + PART));
      const rows = await this.#db.all<{ tag: number; slot: string | null }>(
        // Tags are sent as text: the client of PostgreSQL prepares another statement for a number above four bytes.
        `WITH given (text) AS (VALUES ${tags.map((_, n) => `($${n + 3})`).join(', ')}),
           wanted AS (SELECT CAST(text AS bigint) AS tag FROM given)
         SELECT tag, (SELECT max(s.slot) FROM audit_slots AS s WHERE s.tag = wanted.tag AND s.slot >= $1 AND s.slot < $2) AS slot
         FROM wanted`,
        [this.#low, bound, ...tags.map(String)],
      );
      for (const { tag, slot } of rows)
        if (slot !== null) followed.set(tag, { tag, slots: [slot], batch: FIRST_BATCH });
    }
    return [...followed.values()];
  }

  async #readOn(followed: Followed, bound: string): Promise<void> {
    if (followed.batch === 0) return;
    const { tag, slots, batch } = followed;
    const rows = await this.#db.all<{ slot: string }>(
      `SELECT DISTINCT slot FROM audit_slots WHERE tag = $1 AND slot >= $2 AND slot < $3 ORDER BY slot DESC LIMIT ${batch}`,
      [tag, this.#low, slots.at(-1) ?? bound],
    );
    slots.push(...rows.map(row => row.slot));
    followed.batch = rows.length < batch ? 0 : Math.min(2 * batch, MOST_BATCH);
  }
}
