// Slots and tags: an entry has the tags of everything that it can be filtered by, and bounds lie where they should.

import { expect, test } from 'bun:test';
import { DECISIONS } from '../../../src/core/decision/decide.ts';
import * as slots from '../../../src/store/log/slots.ts';
import { auditEntry, idAt, NOW } from '../stores.ts';

test('an entry has a tag for each filter that finds it, and none for what most entries are', () => {
  for (const sessionId of [null, 'ses']) {
    for (const decision of ['allow', 'deny', 'pending'] as const) {
      for (const surface of ['check', 'mcp'] as const) {
        const wanted = [
          slots.keyTag('key-1'),
          slots.toolTag('get_issue'),
          ...(sessionId === null ? [] : [slots.sessionTag(sessionId)]),
          ...[slots.decisionTag(decision), slots.surfaceTag(surface)].filter(tag => tag !== null),
        ];
        const entry = auditEntry({ sessionId, decision, surface });
        expect([...slots.allTagsOf(entry)].sort()).toEqual(wanted.sort());
      }
    }
  }
  for (const decision of DECISIONS) {
    const shadow = { policyId: 'p', policyVersion: 1, decision, ruleIndex: 0 };
    const shared = [slots.keyTag('key-1'), slots.toolTag('get_issue'), slots.shadowTag(decision)];
    const differs = decision === 'allow' ? [] : [slots.shadowTag('differs')];
    expect([...slots.allTagsOf(auditEntry({ shadow }))]).toEqual([...shared, ...differs]);
  }
  expect([slots.decisionTag('allow'), slots.surfaceTag('check')]).toEqual([null, null]);
});

test('a slot lies before its entries, the next one after them, also at a carry', () => {
  for (const ms of [NOW, NOW + 15, 0xffff_ffff_fff0 - 1, 0x0fff_ffff]) {
    const id = idAt(ms, 7);
    const slot = slots.slotOf(id);
    const after = slots.slotAfter(slot);
    expect(slot < id && id < after).toBe(true);
    expect(after).toBe(slots.slotOf(idAt(ms - (ms % 16) + 16)));
    expect(slots.firstIdFrom(slot)).toBe(idAt(ms - (ms % 16)));
    expect(slots.firstIdFrom(id)).toBe(id);
  }
});
