// When keys were last used: their newest entry, also of many keys at once, and not that of another text with the same tag.

import { expect, test } from 'bun:test';
import { findLastUses } from '../../src/store/key-uses.ts';
import { insertAudit } from '../../src/store/log/audit.ts';
import { keyTag, slotOf } from '../../src/store/log/slots.ts';
import { auditEntry, idAt, NOW, onEachEngine } from './stores.ts';

const ROWS = 300;

await onEachEngine(store => {
  test('last uses are the times of the newest entries', async () => {
    const entries = Array.from({ length: ROWS }, (_, n) => {
      const at = NOW + 7 * n;
      return auditEntry({ id: idAt(at, n), at, keyId: `key ${(n * n) % 150}` });
    });
    await store.db.transaction({}, async tx => insertAudit(tx, entries));
    const wanted = new Map(entries.map(({ keyId, at }) => [keyId, at]));
    const all = Array.from({ length: 150 }, (_, n) => `key ${n}`);
    expect([...(await findLastUses(store.db, all))].sort()).toEqual([...wanted].sort());
    expect(await findLastUses(store.db, ['key of nobody'])).toEqual(new Map());
    expect(await findLastUses(store.db, [])).toEqual(new Map());
  });

  test('last uses are not those of another key whose tag is the same', async () => {
    const own = auditEntry({ id: idAt(NOW + 10_000), at: NOW + 10_000, keyId: 'rare' });
    const foreign = auditEntry({ id: idAt(NOW + 20_000), at: NOW + 20_000, keyId: 'busy' });
    await store.db.transaction({}, async tx => {
      await insertAudit(tx, [own, foreign]);
      for (const keyId of ['rare', 'never'])
        await tx.run('INSERT INTO audit_slots (tag, slot, writer) VALUES ($1, $2, 7)', [
          keyTag(keyId),
          slotOf(foreign.id),
        ]);
    });
    const found = await findLastUses(store.db, ['rare', 'busy', 'never']);
    expect(Object.fromEntries(found)).toEqual({ rare: own.at, busy: foreign.at });
  });
});
