// Which queues of open approvals are full, and which groups are asked: what has ended or expired does not count.

import { expect, test } from 'bun:test';
import { type ApprovalRecord, insertApproval } from '../../src/store/approvals.ts';
import { askedGroups, fullQueues } from '../../src/store/waiting.ts';
import { approvalRecord, NOW, onEachEngine } from './stores.ts';

await onEachEngine(store => {
  test('queues are full, and groups are asked, by open approvals alone', async () => {
    const { db } = store;
    const group = { approverGroup: 'finance', votesNeeded: 2, personEmail: 'ann@example.com' };
    const of = async (count: number, more: Partial<ApprovalRecord>) => {
      for (let n = 0; n < count; n++) {
        const approval = approvalRecord(more);
        await db.transaction({}, async tx => insertApproval(tx, approval, `token of ${approval.id}`));
      }
    };
    await of(2, { keyId: 'full', sessionId: 'busy', ...group });
    await of(1, { keyId: 'full' });
    for (const keyId of ['full', 'other']) {
      await of(3, { keyId, sessionId: 'ended', status: 'denied', ...group });
      await of(3, { keyId, sessionId: 'expired', expiresAt: NOW, ...group });
    }
    await of(1, { keyId: 'other', sessionId: 'quiet', approverGroup: 'ops' });
    const full = (more: { perKey?: number; perSession?: number; most?: number }) =>
      fullQueues(db, NOW, { perKey: 3, perSession: 2, most: 9, ...more });
    expect(await full({})).toEqual([
      { keyId: 'full', sessionId: null, open: 3 },
      { keyId: 'full', sessionId: 'busy', open: 2 },
    ]);
    expect(await full({ perKey: 4, perSession: 3 })).toEqual([]);
    expect(await full({ perKey: 1, perSession: 1, most: 1 })).toHaveLength(2);
    const groups = await askedGroups(db, NOW, 9);
    expect(groups.map(each => [each.approverGroup, each.votesNeeded, each.personEmail, each.open])).toEqual(
      expect.arrayContaining([
        ['finance', 2, 'ann@example.com', 2],
        ['ops', 1, null, 1],
      ]),
    );
    expect(groups).toHaveLength(2);
    expect(await askedGroups(db, NOW, 1)).toHaveLength(1);
  });
});
