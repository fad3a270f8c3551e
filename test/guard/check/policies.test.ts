// Compiled policies in memory: a version is what was asked for or nothing, and no more are kept than a bound. Which
// channels a policy may name when it is saved, and what makes a rule another one.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { GuardError } from '../../../src/core/errors.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { CompiledPolicies, createPolicy, replacePolicy } from '../../../src/guard/check/policies.ts';
import { ruleDigest } from '../../../src/guard/rule-digest.ts';
import { insertPolicyVersion } from '../../../src/store/policies.ts';
import { NOW, openStore, type TestStore } from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';
import { depsAt } from '../deps.ts';

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
        results: [],
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
  const version = { name: 'p', limits: {}, results: [], text: null, createdAt: NOW, createdBy: 'admin' };
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

test('a rule that names an unknown channel is refused, and the known ones are those of the settings', async () => {
  const deps = depsAt(store.db);
  const channel = { type: 'http', url: 'https://example.com', details: false } as const;
  const channels = { 'on-call': channel, constructor: channel };
  const settings = { ...deps.settings, approvalTimeout: 3_600_000, channels };
  const rule = (notify: string[], after: string[]): Rule => ({
    tool: '*',
    action: 'require_approval',
    notify,
    escalate: { after: '10m', notify: after },
  });
  const create = (name: string, ...rules: Rule[]) =>
    createPolicy({ ...deps, settings }, 'admin', { name, description: '', rules });
  const made = await create('known', rule(['default', 'on-call'], ['constructor']));
  const unknown = [rule(['default', 'on-cal'], ['toString'])];
  const refused = {
    code: 'invalid_input',
    errors: [
      {
        path: '/rules/0/notify/1',
        message:
          'there is no channel "on-cal" under channels in the server file (toolgate.yaml). Did you mean "on-call"?',
      },
      {
        path: '/rules/0/escalate/notify/0',
        message: 'there is no channel "toString" under channels in the server file (toolgate.yaml).',
      },
    ],
  };
  expect(await refusal(create('unknown', ...unknown))).toMatchObject(refused);
  expect(
    await refusal(replacePolicy({ ...deps, settings }, 'admin', made.id, { rules: unknown })),
  ).toMatchObject(refused);
  const many = (await refusal(
    create('many', ...Array.from({ length: 30 }, () => rule(['a'], ['b']))),
  )) as GuardError;
  expect(many.errors).toHaveLength(20);
});

test('a rule whose escalation would come after its question has lapsed is refused', async () => {
  const deps = depsAt(store.db);
  const settings = { ...deps.settings, approvalTimeout: 3_600_000 };
  const create = (name: string, after: string, timeout?: string) =>
    createPolicy({ ...deps, settings }, 'admin', {
      name,
      description: '',
      rules: [
        { tool: 'a', action: 'allow' },
        {
          tool: '*',
          action: 'require_approval',
          escalate: { after, notify: ['default'] },
          ...(timeout !== undefined && { timeout }),
        },
      ],
    });
  await create('in time', '59m');
  await create('a longer timeout', '2h', '3h');
  for (const after of ['60m', '2h'])
    expect(await refusal(create('late', after))).toMatchObject({
      code: 'invalid_input',
      errors: [
        {
          path: '/rules/1/escalate/after',
          message: `the rule tells further channels after ${after}, but its question lapses after 1h (TOOLGATE_APPROVAL_TIMEOUT), so they would never be told. Shorten "after", or give the rule a longer "timeout".`,
        },
      ],
    });
});

test('who may answer makes a rule another one, and rules that do not say it are what they were', () => {
  const rule: Rule = { tool: 'a', action: 'require_approval', when: 'args.a == 1' };
  const digests = [
    ruleDigest({ ...rule }),
    ruleDigest({ ...rule, approvers: { group: 'finance' } }),
    ruleDigest({ ...rule, approvers: { group: 'finance', count: 2 } }),
    ruleDigest({ ...rule, approvers: { group: 'sales', count: 2 } }),
    ruleDigest({ ...rule, approvers: { group: 'sales', count: 2, proof: 'passkey' } }),
    ruleDigest({ ...rule, approvers: { proof: 'passkey' } }),
  ];
  expect(new Set(digests).size).toBe(6);
  expect(digests[0]).toBe('7ppulo0ZF4LKZ8GzN9Jf4kQzEaAK2fQ5oZ20l3OR1B4');
  expect(ruleDigest({ ...rule, approvers: { count: 1, group: 'finance' } })).toBe(digests[1] as string);
  const told = {
    name: 'payments',
    show: 'all',
    ask: '?',
    timeout: '1h',
    notify: ['a'],
    escalate: { after: '1m', notify: ['a'] },
  };
  expect(ruleDigest({ ...rule, ...told, reason: 'R' } as Rule)).toBe(digests[0] as string);
});

test('a named rule is stored as replicas of the previous version read it: the name decides nothing', async () => {
  const rules: Rule[] = [{ name: 'reading', tool: 'get_*', action: 'allow' }];
  const version = {
    name: 'named',
    limits: {},
    results: [],
    text: null,
    createdAt: NOW,
    createdBy: 'admin',
    version: 1,
  };
  await insertPolicyVersion(store.db, 'named', { ...version, rules });
  const [row] = await store.db.all<{ rules: string }>(
    "SELECT rules FROM policy_versions WHERE policy_id = 'named'",
    [],
  );
  expect(JSON.parse(row?.rules ?? '')).toEqual(rules);
});
