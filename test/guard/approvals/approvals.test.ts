// Approvals that nobody answered in time: they end once, so many at a time, and whoever sends out the news is woken
// for that and for nothing else, since the worker that ends them would wake itself for ever.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { lapse } from '../../../src/guard/approvals/approvals.ts';
import { insertApproval } from '../../../src/store/approvals.ts';
import { approvalRecord, NOW, openStore, type TestStore } from '../../store/stores.ts';
import { depsAt } from '../deps.ts';

let store: TestStore;
beforeAll(async () => {
  store = await openStore('sqlite');
});
afterAll(() => store.close());

test('what lapses wakes, and nothing else does', async () => {
  const { db } = store;
  let woken = 0;
  db.onWake(() => woken++);
  const lapsed = async () => [await lapse(depsAt(db), 2), woken];
  expect(await lapsed()).toEqual([0, 0]);
  await db.transaction({}, async tx => {
    for (const expiresAt of [NOW - 1, NOW - 1, NOW, NOW + 1])
      insertApproval(tx, approvalRecord({ expiresAt }), crypto.randomUUID());
  });
  expect(await lapsed()).toEqual([2, 1]);
  expect(await lapsed()).toEqual([1, 2]);
  expect(await lapsed()).toEqual([0, 2]);
});
