// Accounts at a provider, operators who were removed, and sign-ons under way: each leads to its own operator only.

import { expect, test } from 'bun:test';
import * as identities from '../../src/store/identities.ts';
import { NOW, onEachEngine } from './stores.ts';

const identity = (
  issuer: string,
  subject: string,
  operatorId: string,
  decidesRole = true,
): identities.Identity => ({ issuer, subject, operatorId, decidesRole });

await onEachEngine(store => {
  /** Whose each account is, and whether it decides the role. */
  const accounts = async () =>
    (await store.db.all('SELECT * FROM identities ORDER BY issuer, subject')).map(
      row => `${row['issuer']} ${row['subject']} ${row['operator_id']} ${row['decides_role']}`,
    );
  const add = async (...rows: identities.Identity[]) => {
    await store.db.run('DELETE FROM identities');
    for (const row of rows) await identities.insertIdentity(store.db, row, NOW);
  };

  test('an account is one subject at one provider', async () => {
    const { db } = store;
    const all = [
      identity('here', '1', 'ann'),
      identity('here', '2', 'ben', false),
      identity('there', '1', 'cem'),
    ];
    await add(...all);
    for (const each of all) expect(await identities.findIdentity(db, each)).toEqual(each);
    expect(await identities.findIdentity(db, { issuer: 'there', subject: '2' })).toBeNull();
    expect(await identities.hasIdentity(db, 'ann', 'here')).toBe(true);
    expect(await identities.hasIdentity(db, 'ann', 'there')).toBe(false);
    expect(await identities.hasIdentity(db, 'unknown', 'here')).toBe(false);
  });

  test('an end of accounts, or of roles by claims, concerns one operator', async () => {
    await add(identity('here', '1', 'ann'), identity('here', '2', 'ben'), identity('there', '1', 'ann'));
    await identities.endRoleByClaim(store.db, 'ann');
    expect(await accounts()).toEqual(['here 1 ann 0', 'here 2 ben 1', 'there 1 ann 0']);
    await identities.removeIdentities(store.db, 'ann');
    expect(await accounts()).toEqual(['here 2 ben 1']);
  });

  test('an operator who was removed comes back when invited, without the old accounts', async () => {
    const { db } = store;
    await add(identity('here', '1', 'ann'), identity('here', '2', 'ben'), identity('here', '3', 'cem'));
    await identities.markRemoved(db, { id: 'ann', email: 'ann@example.com' }, NOW);
    await identities.markRemoved(db, { id: 'ben', email: 'ben@example.com' }, NOW);
    const removed = () =>
      Promise.all(['ann', 'ben', 'cem'].map(id => identities.wasRemoved(db, `${id}@example.com`)));
    expect(await removed()).toEqual([true, true, false]);
    await identities.endRemoval(db, 'ann@example.com');
    expect(await removed()).toEqual([false, true, false]);
    expect(await accounts()).toEqual(['here 2 ben 1', 'here 3 cem 1']);
    // Removed a second time, as somebody else: the later removal counts.
    await identities.markRemoved(db, { id: 'cem', email: 'ben@example.com' }, NOW);
    await identities.endRemoval(db, 'ben@example.com');
    expect(await accounts()).toEqual(['here 2 ben 1']);
  });

  test('a sign-on is taken once, by the browser that began it, before it ends', async () => {
    const { db } = store;
    for (const [index, hash] of ['s0', 's1', 's2', 's3'].entries()) {
      const signOn = { hash, browserHash: `browser ${hash}`, stateEncrypted: `state ${hash}` };
      await identities.insertSignOn(db, { ...signOn, expiresAt: NOW + index });
    }
    const take = (hash: string, browser: string, now: number) =>
      db.transaction({}, tx => identities.takeSignOn(tx, hash, `browser ${browser}`, now));
    const left = async () =>
      (await db.all<{ hash: string }>('SELECT hash FROM sign_ons ORDER BY hash')).map(row => row.hash);
    expect(await take('s2', 's3', NOW)).toBeNull();
    expect(await take('s2', 's2', NOW + 2)).toBeNull();
    expect(await take('unknown', 's2', NOW)).toBeNull();
    expect(await left()).toEqual(['s0', 's1', 's2', 's3']);
    expect(await take('s2', 's2', NOW + 1)).toBe('state s2');
    expect(await take('s2', 's2', NOW + 1)).toBeNull();
    await identities.removeOldSignOns(db, NOW + 1);
    expect(await left()).toEqual(['s3']);
  });
});
