// Searches that find little in a long log: the work for one page is bounded, and going on from page to page finds
// everything, whatever is committed meanwhile.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Queries } from '../../../src/store/engine/db.ts';
import { insertAudit } from '../../../src/store/log/audit.ts';
import { type AuditFilter, searchAudit } from '../../../src/store/log/audit-search.ts';
import { keyTag, toolTag } from '../../../src/store/log/slots.ts';
import { sql } from '../../support/faults.ts';
import { engines } from '../../support/service.ts';
import { auditEntry, idAt, NOW, openStore, type TestStore } from '../stores.ts';

const ENTRIES = 120_000;
/** Statements of one page: two tags to choose from and one chunk read, for each of some twenty chunks. */
const MOST_STATEMENTS = 70;

const HEX = { sqlite: "printf('%012x', n)", postgres: "lpad(to_hex(n), 12, '0')" };
const TIME = { sqlite: `printf('%012x', ${NOW} + n)`, postgres: `lpad(to_hex(${NOW} + n), 12, '0')` };

/** One entry a millisecond, of two keys in turn, each with a tool of its own; not by the store, whose limits are short. */
async function fill({ url, engine }: TestStore): Promise<void> {
  const [hex, time] = [HEX[engine], TIME[engine]];
  await sql(
    url,
    `INSERT INTO audit_contexts (id, digest, key_id, server_name, tool_name, reason, policy_id, policy_version)
     VALUES (1000, 'a', 'key-0', 'github', 'tool-0', 'Rule 0 allows it.', 'policy-1', 1),
       (1001, 'b', 'key-1', 'github', 'tool-1', 'Rule 0 allows it.', 'policy-1', 1)`,
  );
  for (let from = 0; from < ENTRIES; from += 20_000) {
    await sql(
      url,
      `INSERT INTO audit_entries (id, at, context, surface, decision, latency_ms)
       WITH RECURSIVE series (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM series WHERE n < ${from + 19_999})
       SELECT substr(${time}, 1, 8) || '-' || substr(${time}, 9, 4) || '-7000-8000-' || ${hex}, ${NOW} + n,
         1000 + n % 2, 'check', 'allow', 1
       FROM series`,
    );
  }
  for (const [n, tags] of [0, 1].map(n => [n, [keyTag(`key-${n}`), toolTag(`tool-${n}`)]] as const)) {
    for (const tag of tags) {
      await sql(
        url,
        `INSERT INTO audit_slots (tag, slot, writer)
         SELECT DISTINCT ${tag}, substr(id, 1, 12), 0 FROM audit_entries WHERE context = ${1000 + n}`,
      );
    }
  }
}

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await openStore(engine);
      await fill(store);
      await sql(store.url, 'ANALYZE');
    });
    afterAll(() => store.close());

    /** Pages until the end, and how many statements each took. */
    async function search(filter: AuditFilter, between = async () => {}) {
      const found: string[] = [];
      const statements: number[] = [];
      for (let before: string | null = 'z'; before !== null; ) {
        let sent = 0;
        const counting: Queries = {
          all: (sql, params) => {
            sent++;
            return store.db.all(sql, params);
          },
          run: (sql, params) => store.db.run(sql, params),
        };
        const page = await searchAudit(counting, filter, 50, before);
        found.push(...page.entries.map(entry => entry.id));
        statements.push(sent);
        before = page.next;
        await between();
      }
      return { found, statements };
    }

    test('without filters each page is one statement', async () => {
      const { found, statements } = await search({ from: NOW + ENTRIES - 100 });
      expect(found).toHaveLength(100);
      expect(statements).toEqual([1, 1]);
    });

    test('a pair that never meets ends in a few bounded pages', async () => {
      const { found, statements } = await search({ keyId: 'key-0', tool: 'tool-1' });
      expect(found).toEqual([]);
      // In every slot there are both: 120,000 entries and 7,500 slots, 20,000 of them to a page.
      expect(statements.length).toBe(7);
      expect(Math.max(...statements)).toBeLessThanOrEqual(MOST_STATEMENTS);
    });

    test('a decision that has no index is searched in bounded pages too', async () => {
      const { found, statements } = await search({
        surface: 'check',
        tool: 'gitlab__tool-0',
        decision: 'allow',
      });
      expect(found).toEqual([]);
      expect(statements.length).toBe(7);
    });

    test('the rarer of two filters leads', async () => {
      const rare = auditEntry({ id: idAt(NOW + 5, 0xfff_fff), keyId: 'key-0', toolName: 'rare' });
      await store.db.transaction({}, async tx => insertAudit(tx, [rare]));
      const { found, statements } = await search({ keyId: 'key-0', tool: 'rare' });
      expect(found).toEqual([rare.id]);
      expect(statements).toEqual([3]);
    });

    test('a needle at the far end is found, and nothing is skipped while entries are committed', async () => {
      const needles = [1, 30_000, 60_000, 119_999].map(n =>
        auditEntry({ id: idAt(NOW + n, 0xeee_000 + n), keyId: 'key-0', toolName: 'tool-1' }),
      );
      await store.db.transaction({}, async tx => insertAudit(tx, needles));
      let n = 0;
      const { found } = await search({ keyId: 'key-0', tool: 'tool-1' }, async () => {
        const late = [
          auditEntry({ id: idAt(NOW + 7000 * ++n, 0xddd_000), keyId: 'key-0', toolName: 'tool-0' }),
        ];
        await store.db.transaction({}, async tx => insertAudit(tx, late));
      });
      expect(found).toEqual(needles.map(each => each.id).toReversed());
    });
  });
}
