// Counting a long log in pieces: none is too large, and every entry is in one of them.

import { expect, test } from 'bun:test';
import { insertAudit } from '../../../src/store/log/audit.ts';
import { countAudit, tallies } from '../../../src/store/log/audit-tally.ts';
import { auditEntry, idAt, NOW, onEachEngine } from '../stores.ts';

/** Entries that one statement looks at. */
const AT_ONCE = 5000;
const ENTRIES = 2 * AT_ONCE + 1;
const GROUP = 1000;

await onEachEngine(store => {
  test('pieces hold so many entries at most, and together all of a time', async () => {
    const all = Array.from({ length: ENTRIES }, (_, n) => auditEntry({ id: idAt(NOW + n, n), at: NOW + n }));
    for (let at = 0; at < ENTRIES; at += GROUP) {
      await store.db.transaction({}, async tx => insertAudit(tx, all.slice(at, at + GROUP)));
    }
    const pieces = async (to: number) => {
      const counts: number[] = [];
      for await (const rows of tallies(store.db, NOW, NOW + to)) {
        counts.push(rows.reduce((sum, row) => sum + row.count, 0));
      }
      return counts;
    };
    expect(await pieces(ENTRIES)).toEqual([AT_ONCE, AT_ONCE, 1]);
    expect(await pieces(2 * AT_ONCE)).toEqual([AT_ONCE, AT_ONCE]);
    expect(await pieces(AT_ONCE)).toEqual([AT_ONCE]);
    expect(await countAudit(store.db, NOW, NOW + ENTRIES)).toBe(ENTRIES);
    expect(await countAudit(store.db, NOW + 1, NOW + AT_ONCE + 2, 1)).toBe(AT_ONCE + 1);
  });
});
