// Sign-ins, failed attempts and return targets: each is touched alone, and ends at its very millisecond.

import { expect, test } from 'bun:test';
import { insertOperator } from '../../src/store/operators.ts';
import * as signIns from '../../src/store/sign-ins.ts';
import { NOW, onEachEngine } from './stores.ts';

const signIn = (id: string, more: Partial<signIns.SignInRecord> = {}): signIns.SignInRecord => ({
  id,
  operatorId: 'ann',
  createdAt: NOW,
  usedAt: NOW,
  userAgent: 'browser',
  ip: '192.0.2.1',
  ...more,
});

await onEachEngine(store => {
  /** All that are left, whosever they are. */
  const left = async () =>
    (await store.db.all<{ id: string }>('SELECT id FROM sign_ins ORDER BY id')).map(row => row.id);
  const add = async (...rows: signIns.SignInRecord[]) => {
    await store.db.run('DELETE FROM sign_ins');
    for (const row of rows) await signIns.insertSignIn(store.db, row, `hash of ${row.id}`);
  };

  test('a sign-in is found by its hash, with its own operator', async () => {
    const { db } = store;
    for (const id of ['ann', 'ben']) {
      await insertOperator(db, { id, email: `${id}@example.com`, role: 'viewer', createdAt: NOW }, null);
    }
    const rows = [signIn('s1'), signIn('s2', { operatorId: 'ben', ip: '2001:db8::/64', userAgent: 'other' })];
    await add(...rows);
    expect(await signIns.findSignIn(db, 'hash of s2')).toEqual({
      ...(rows[1] as signIns.SignInRecord),
      email: 'ben@example.com',
      role: 'viewer',
      groups: [],
    });
    expect((await signIns.findSignIn(db, 'hash of s1'))?.email).toBe('ann@example.com');
    expect(await signIns.findSignIn(db, 's1')).toBeNull();
  });

  test('a sign-in lives while it was used and begun after the given moments, both', async () => {
    await add(signIn('s1'), signIn('s2', { usedAt: NOW + 50, createdAt: NOW + 50 }));
    const alive = (id: string, used: number, created: number) =>
      signIns.signInAlive(store.db, id, { usedAfter: NOW + used, createdAfter: NOW + created });
    const listed = async (used: number, created: number) => {
      const bounds = { usedAfter: NOW + used, createdAfter: NOW + created };
      return (await signIns.listSignIns(store.db, 'ann', bounds, 10, 's2')).map(row => row.id);
    };
    for (const [used, created, lives] of [
      [-1, -1, true],
      [0, -1, false],
      [-1, 0, false],
      [0, 0, false],
    ] as const) {
      expect(await alive('s1', used, created)).toBe(lives);
      expect(await listed(used, created)).toEqual(lives ? ['s1'] : []);
    }
    expect(await alive('unknown', -1, -1)).toBe(false);
    expect(await alive('s2', 0, 0)).toBe(true);
  });

  test("an operator's sign-ins are listed newest first, page by page", async () => {
    const rows = ['s1', 's3', 's5'].map(id => signIn(id));
    await add(...rows, signIn('s2', { operatorId: 'ben' }), signIn('s4', { operatorId: 'ben' }));
    const bounds = { usedAfter: 0, createdAfter: 0 };
    const page = (before: string) => signIns.listSignIns(store.db, 'ann', bounds, 2, before);
    expect(await page('z')).toEqual([rows[2], rows[1]] as never);
    expect(await page('s3')).toEqual([rows[0]] as never);
  });

  test('a use moves one sign-in on, and never back', async () => {
    await add(signIn('s1'), signIn('s2'));
    await signIns.touchSignIn(store.db, 's1', NOW + 5);
    await signIns.touchSignIn(store.db, 's1', NOW + 3);
    const used = await store.db.all('SELECT used_at AS used FROM sign_ins ORDER BY id');
    expect(used).toEqual([{ used: NOW + 5 }, { used: NOW }]);
  });

  test('one ends, all of an operator end, or all but one', async () => {
    const rows = ['s1', 's2', 's3'].map(id => signIn(id));
    await add(...rows, signIn('s4', { operatorId: 'ben' }));
    await signIns.removeSignIn(store.db, 'hash of s1');
    expect(await left()).toEqual(['s2', 's3', 's4']);
    await signIns.removeSignIns(store.db, 'ann', 's3');
    expect(await left()).toEqual(['s3', 's4']);
    await signIns.removeSignIns(store.db, 'ann', null);
    expect(await left()).toEqual(['s4']);
  });

  test('those that were not used after a moment are removed', async () => {
    await add(signIn('s1', { usedAt: NOW - 1 }), signIn('s2'), signIn('s3', { usedAt: NOW + 1 }));
    await signIns.removeIdleSignIns(store.db, NOW);
    expect(await left()).toEqual(['s3']);
  });

  test('failures are counted by address, the latest first, and forgotten by account', async () => {
    const { db } = store;
    const fail = (id: string, account: string, ip: string, at: number) =>
      signIns.insertFailure(db, { id, account, ip, at: NOW + at });
    const recent = async (ip: string, since: number, limit = 10) =>
      (await signIns.recentFailures(db, ip, NOW + since, limit)).map(({ account, at }) => [
        account,
        at - NOW,
      ]);
    await fail('f1', 'ann', 'here', 1);
    await fail('f2', 'ben', 'here', 3);
    await fail('f3', 'ann', 'here', 2);
    await fail('f4', 'ann', 'there', 2);
    await fail('f5', 'ben', 'there', 4);
    expect(await recent('here', 0)).toEqual([
      ['ben', 3],
      ['ann', 2],
      ['ann', 1],
    ]);
    expect(await recent('here', 1, 1)).toEqual([['ben', 3]]);
    expect(await recent('here', 2)).toEqual([['ben', 3]]);
    expect(await recent('nowhere', 0)).toEqual([]);

    await signIns.removeFailures(db, 'ann', 'here');
    expect([await recent('here', 0), await recent('there', 0)]).toEqual([
      [['ben', 3]],
      [
        ['ben', 4],
        ['ann', 2],
      ],
    ]);
    await signIns.removeAccountFailures(db, 'ann');
    expect(await recent('there', 0)).toEqual([['ben', 4]]);
    await signIns.removeOldFailures(db, NOW + 3);
    expect([await recent('here', 0), await recent('there', 0)]).toEqual([[], [['ben', 4]]]);
  });

  test('a return target is taken once, before it ends', async () => {
    const { db } = store;
    const hashes = async () =>
      (await db.all<{ hash: string }>('SELECT hash FROM return_targets ORDER BY hash')).map(row => row.hash);
    for (const [index, hash] of ['t1', 't2', 't3', 't4'].entries()) {
      await signIns.insertReturnTarget(db, { hash, targetEncrypted: `to ${hash}`, expiresAt: NOW + index });
    }
    const take = (hash: string, now: number) =>
      db.transaction({}, tx => signIns.takeReturnTarget(tx, hash, now));
    expect(await take('t2', NOW + 1)).toBeNull();
    expect(await signIns.findReturnTarget(db, 't2', NOW + 1)).toBeNull();
    expect(await signIns.findReturnTarget(db, 't2', NOW)).toBe('to t2');
    expect(await take('unknown', NOW)).toBeNull();
    expect(await take('t3', NOW + 1)).toBe('to t3');
    expect(await take('t3', NOW + 1)).toBeNull();
    expect(await hashes()).toEqual(['t1', 't2', 't4']);
    await signIns.removeOldReturnTargets(db, NOW + 1);
    expect(await hashes()).toEqual(['t4']);
  });
});
