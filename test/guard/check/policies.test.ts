// Compiled policies in memory: a version is what was asked for or nothing, and no more are kept than a bound.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { CompiledPolicies } from '../../../src/guard/check/policies.ts';
import { insertPolicyVersion } from '../../../src/store/policies.ts';
import { NOW, openStore, type TestStore } from '../../store/stores.ts';

const KEPT = 1000;
const wanted = Array.from({ length: KEPT + 1 }, (_, n) => ({ policyId: `policy-${n}`, policyVersion: 1 }));

let store: TestStore;
beforeAll(async () => {
  store = await openStore('sqlite');
  await store.db.transaction({}, async tx => {
    for (const { policyId, policyVersion: version } of wanted)
      await insertPolicyVersion(tx, policyId, {
        version,
        name: policyId,
        rules: [{ tool: '*', action: 'allow' }],
        limits: {},
        text: null,
        createdAt: NOW,
        createdBy: 'admin',
      });
  });
});
afterAll(() => store.close());

const missing = (policies: CompiledPolicies): string[] =>
  wanted.filter(each => policies.get(each.policyId, 1) === null).map(each => each.policyId);

test('so many are kept, and of more the one that was least lately used is dropped', async () => {
  const policies = new CompiledPolicies();
  const [first, second] = wanted;
  await policies.load(store.db, wanted.slice(0, KEPT));
  expect(missing(policies)).toEqual([`policy-${KEPT}`]);
  const kept = policies.get('policy-0', 1);
  await policies.load(store.db, [first as (typeof wanted)[0]]);
  await policies.load(store.db, wanted.slice(KEPT));
  expect(missing(policies)).toEqual(['policy-1']);
  // What is kept is not compiled again.
  expect(policies.get('policy-0', 1)).toBe(kept);
  await policies.load(store.db, [second as (typeof wanted)[0]]);
  expect(missing(policies)).toEqual(['policy-2']);
});

test('a version takes the place of another; one that is missing or unreadable is none', async () => {
  const policies = new CompiledPolicies();
  const version = { name: 'p', limits: {}, text: null, createdAt: NOW, createdBy: 'admin' };
  await insertPolicyVersion(store.db, 'p', { ...version, version: 1, rules: [] });
  await insertPolicyVersion(store.db, 'p', { ...version, version: 2, rules: [] });
  const load = async (policyVersion: number) => {
    await policies.load(store.db, [{ policyId: 'p', policyVersion }]);
    return [1, 2, 3].filter(each => policies.get('p', each)?.version === each);
  };
  expect(await load(1)).toEqual([1]);
  expect(await load(2)).toEqual([2]);
  expect(await load(3)).toEqual([]);
  await store.db.run("UPDATE policy_versions SET rules = '[' WHERE policy_id = 'p' AND version = 1");
  expect(await load(1)).toEqual([]);
});
