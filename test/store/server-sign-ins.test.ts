// The store's statements about sign-ins to servers: each concerns one tool and one person, in one version, and leaves
// their neighbours as they are.

import { beforeEach, describe, expect, test } from 'bun:test';
import * as signIns from '../../src/store/server-sign-ins.ts';
import { NOW, onEachEngine } from './stores.ts';

const PAIRS = ['t1 p1', 't1 p2', 't2 p1', 't2 p2'];

await onEachEngine(store => {
  const [toolId, personId] = ['t1', 'p1'];
  const ours = { toolId, personId };
  const all = async () => {
    const found = await Promise.all(['p1', 'p2'].map(each => signIns.listServerSignIns(store.db, each)));
    return new Map(found.flat().map(each => [`${each.toolId} ${each.personId}`, each]));
  };
  beforeEach(async () => {
    await store.db.transaction({}, async tx => {
      for (const person of ['p1', 'p2']) await signIns.removePersonSignIns(tx, person);
    });
    for (const pair of PAIRS) {
      const [toolId = '', personId = ''] = pair.split(' ');
      const more = { account: null, scopes: 'a', wanted: 'a', expiresAt: NOW + 1 };
      await signIns.putServerSignIn(store.db, { toolId, personId, tokensEncrypted: pair, ...more }, NOW);
    }
  });

  /** The pairs that a piece of work changes or removes. */
  async function touched(work: () => Promise<unknown>): Promise<string[]> {
    const before = await all();
    await work();
    const after = await all();
    return PAIRS.filter(each => !Bun.deepEquals(before.get(each), after.get(each)));
  }

  describe('a sign-in', () => {
    const fresh = { tokensEncrypted: 'new', scopes: null, expiresAt: null, now: NOW + 5 };
    const refresh = (version: number) =>
      signIns.beginRefresh(store.db, { ...ours, version }, 'holder', NOW + 9);

    test('is refreshed by one holder, from the version that it read', async () => {
      expect(await touched(async () => expect(await refresh(2)).toBe(false))).toEqual([]);
      expect(await touched(async () => expect(await refresh(1)).toBe(true))).toEqual(['t1 p1']);
      expect(await touched(async () => expect(await refresh(2)).toBe(false))).toEqual([]);
      const finish = (holder: string) => signIns.finishRefresh(store.db, ours, holder, fresh);
      expect(await touched(async () => expect(await finish('other')).toBe(false))).toEqual([]);
      expect(await touched(async () => expect(await finish('holder')).toBe(true))).toEqual(['t1 p1']);
      expect((await all()).get('t1 p1')).toMatchObject({ tokensEncrypted: 'new', version: 3, refreshing: 0 });
    });

    test('is given back by its holder', async () => {
      await refresh(1);
      expect(await touched(() => signIns.takeBackRefresh(store.db, ours, 'other'))).toEqual([]);
      expect(await touched(() => signIns.takeBackRefresh(store.db, ours, 'holder'))).toEqual(['t1 p1']);
      expect((await all()).get('t1 p1')).toMatchObject({ refreshing: 0, leasedUntil: 0 });
    });

    test('ends, notes scopes and is removed by itself', async () => {
      const end = (version: number) =>
        signIns.endServerSignIn(store.db, { ...ours, version }, 'over', NOW + 5);
      expect(await touched(() => end(2))).toEqual([]);
      expect(await touched(() => end(1))).toEqual(['t1 p1']);
      expect((await all()).get('t1 p1')).toMatchObject({ tokensEncrypted: null, endedBecause: 'over' });
      expect(await refresh(2)).toBe(false);
      expect(await touched(() => signIns.noteWanted(store.db, ours, 'a b', 1))).toEqual(['t1 p1']);
      expect(await signIns.findServerSignIn(store.db, toolId, personId)).toMatchObject({ wanted: 'a b' });
      const remove = () => store.db.transaction({}, tx => signIns.removeServerSignIn(tx, toolId, personId));
      expect(await touched(remove)).toEqual(['t1 p1']);
      expect(await signIns.findServerSignIn(store.db, toolId, personId)).toBeNull();
    });

    test('goes with its tool and with its person', async () => {
      const within = (work: typeof signIns.removeToolSignIns, id: string) =>
        touched(() => store.db.transaction({}, tx => work(tx, id)));
      expect(await within(signIns.removeToolSignIns, 't2')).toEqual(['t2 p1', 't2 p2']);
      expect(await within(signIns.removePersonSignIns, 'p2')).toEqual(['t1 p2']);
    });
  });

  test('clients are told apart by tool and server', async () => {
    const { db } = store;
    for (const [toolId, issuer] of [
      ['t1', 'a'],
      ['t1', 'b'],
      ['t2', 'a'],
    ] as const)
      await signIns.putServerClient(db, { toolId, issuer, clientEncrypted: `${toolId} ${issuer}` }, NOW);
    const find = () =>
      Promise.all(['t1', 't2'].flatMap(t => ['a', 'b'].map(i => signIns.findServerClient(db, t, i))));
    expect(await find()).toEqual(['t1 a', 't1 b', 't2 a', null]);
    expect(await signIns.countServerClients(db, 't1')).toBe(2);
    await signIns.removeServerClient(db, 't1', 'a');
    expect(await find()).toEqual([null, 't1 b', 't2 a', null]);
    await signIns.removeServerClients(db, 't1');
    expect(await find()).toEqual([null, null, 't2 a', null]);
  });

  test('visits and tickets count until they expire, and a visit once, in its browser', async () => {
    const { db } = store;
    const until = { ...ours, expiresAt: NOW + 5 };
    for (const [hash, stateEncrypted] of [
      ['h1', 's1'],
      ['h2', 's2'],
    ] as const) {
      await signIns.insertServerVisit(db, { hash, browserHash: 'b', stateEncrypted, ...until }, NOW);
      await signIns.insertServerTicket(db, { hash, ...until }, NOW);
    }
    const take = (hash: string, browser: string, now: number) =>
      db.transaction({}, tx => signIns.takeServerVisit(tx, hash, browser, now));
    expect(await take('h1', 'other', NOW)).toBeNull();
    expect(await take('h1', 'b', NOW + 5)).toBeNull();
    expect(await take('h1', 'b', NOW + 4)).toBe('s1');
    expect(await take('h1', 'b', NOW + 4)).toBeNull();
    expect(await take('h2', 'b', NOW + 4)).toBe('s2');
    expect(await signIns.findServerTicket(db, 'h1', NOW + 4)).toEqual(ours);
    expect(await signIns.findServerTicket(db, 'h1', NOW + 5)).toBeNull();
    expect(await signIns.findServerTicket(db, 'unknown', NOW)).toBeNull();
    // What has expired makes room for what comes.
    await signIns.insertServerTicket(db, { hash: 'h3', ...ours, expiresAt: NOW + 9 }, NOW + 5);
    expect(await signIns.findServerTicket(db, 'h1', NOW)).toBeNull();
  });
});
