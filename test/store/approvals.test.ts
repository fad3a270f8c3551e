// Approvals at the edges of their time: answered before they lapse, lapsed from then on, shown as what they are.

import { expect, test } from 'bun:test';
import { approvalListed } from '../../src/store/approval-views.ts';
import * as approvals from '../../src/store/approvals.ts';
import { approvalRecord, NOW, onEachEngine } from './stores.ts';

const iso = (ms: number) => new Date(ms).toISOString();

await onEachEngine(store => {
  /** Questions that lapse so many milliseconds after NOW. */
  const ask = async (lapsing: Record<string, number>) => {
    await store.db.run('DELETE FROM approvals');
    await store.db.transaction({}, async tx => {
      for (const [id, after] of Object.entries(lapsing)) {
        approvals.insertApproval(tx, approvalRecord({ id, expiresAt: NOW + after }), `token of ${id}`);
      }
    });
  };
  const answer = (id: string, at: number) =>
    store.db.transaction({}, tx =>
      approvals.resolveApproval(tx, id, {
        status: 'denied',
        at: NOW + at,
        by: 'ann',
        grantExpiresAt: null,
        note: null,
      }),
    );
  const lapse = async (at: number, limit = 10) => {
    const changed = await store.db.transaction({}, tx => approvals.lapseApprovals(tx, NOW + at, limit));
    return changed.map(each => each.id).sort();
  };

  test('a question is answered once, until the millisecond at which it lapses', async () => {
    const { db } = store;
    await ask({ a1: 10, a2: 10, a3: 10 });
    expect(await answer('a1', 10)).toBe(false);
    expect([await answer('a2', 9), await answer('a2', 9)]).toEqual([true, false]);
    expect(await answer('unknown', 9)).toBe(false);
    expect(await approvals.findApproval(db, 'a2')).toMatchObject({
      status: 'denied',
      resolvedAt: NOW + 9,
      resolvedBy: 'ann',
    });
    expect([await approvals.countPending(db, NOW + 9), await approvals.countPending(db, NOW + 10)]).toEqual([
      2, 0,
    ]);
    const found = await approvals.findApprovals(db, ['a1', 'a2', 'unknown']);
    expect(found.map(each => each.id).sort()).toEqual(['a1', 'a2']);
  });

  test('questions lapse at their time, the oldest first, and none that was answered', async () => {
    await ask({ a1: 30, a2: 20, a3: 10, a4: 10, a5: 40 });
    expect(await answer('a4', 5)).toBe(true);
    expect(await lapse(9)).toEqual([]);
    expect(await lapse(10)).toEqual(['a3']);
    expect(await lapse(30, 1)).toEqual(['a2']);
    expect(await lapse(30)).toEqual(['a1']);
    const states = await store.db.all('SELECT id, status, resolved_at AS at FROM approvals ORDER BY id');
    expect(states.map(row => [row['id'], row['status'], row['at']])).toEqual([
      ['a1', 'timed_out', NOW + 30],
      ['a2', 'timed_out', NOW + 30],
      ['a3', 'timed_out', NOW + 10],
      ['a4', 'denied', NOW + 5],
      ['a5', 'pending', null],
    ]);
  });
});

test('what was never answered, spent or withdrawn has no such times', () => {
  expect(approvalListed(approvalRecord(), [], 1000)).toMatchObject({
    createdAt: iso(NOW),
    expiresAt: iso(NOW + 60_000),
    resolvedAt: null,
    grantExpiresAt: null,
    spentAt: null,
    withdrawnAt: null,
    usableUntil: null,
  });
});

test('an approval of one call is usable for a while after it was given; no other is', () => {
  const given = { status: 'approved', resolvedAt: NOW + 5, resolvedBy: 'ann' } as const;
  const listed = (more: Partial<approvals.ApprovalRecord>) =>
    approvalListed(approvalRecord({ ...given, ...more }), [], 1000);
  expect(listed({ spentAt: NOW + 6, withdrawnAt: NOW + 7 })).toMatchObject({
    resolvedAt: iso(NOW + 5),
    spentAt: iso(NOW + 6),
    withdrawnAt: iso(NOW + 7),
    usableUntil: iso(NOW + 1005),
  });
  expect(listed({ grantExpiresAt: NOW + 8 })).toMatchObject({
    grantExpiresAt: iso(NOW + 8),
    usableUntil: null,
  });
  expect(listed({ status: 'denied' }).usableUntil).toBeNull();
});
