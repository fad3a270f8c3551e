// Every kind of record: what goes in comes out, lists are newest first and page by id, on both engines.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Limits, Rule } from '../../src/core/policy/policy.ts';
import type { ResultEntry } from '../../src/core/policy/result-fields.ts';
import { approvalView } from '../../src/store/approval-views.ts';
import * as approvals from '../../src/store/approvals.ts';
import { insertChange, listChanges } from '../../src/store/changes.ts';
import { insertDelivery, insertEvent, listSubscribers } from '../../src/store/deliveries.ts';
import { UniqueViolation } from '../../src/store/engine/db.ts';
import * as grants from '../../src/store/grants.ts';
import * as keys from '../../src/store/keys.ts';
import { findOutcome, insertOutcomes } from '../../src/store/log/outcomes.ts';
import { insertNotification } from '../../src/store/notifications.ts';
import * as operators from '../../src/store/operators.ts';
import * as policies from '../../src/store/policies.ts';
import * as sessions from '../../src/store/sessions.ts';
import { keepSetting, readSetting, removeSetting } from '../../src/store/settings.ts';
import * as usableApprovals from '../../src/store/usable-approvals.ts';
import { refusal } from '../support/refusal.ts';
import { engines } from '../support/service.ts';
import { approvalRecord, idAt, keyRecord, NOW, openStore, sessionRecord, type TestStore } from './stores.ts';

/** Reads a list to its end in pages of two. */
async function pages<T>(list: (limit: number, before: string) => Promise<T[]>, id: (row: T) => string) {
  const found: T[] = [];
  for (let before = 'z'; ; ) {
    const page = await list(2, before);
    found.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < 2) return found;
    before = id(last);
  }
}

const ids = (count: number) => Array.from({ length: count }, (_, number) => idAt(NOW + number, number));

for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    beforeAll(async () => {
      store = await openStore(engine);
    });
    afterAll(() => store.close());

    test('policies and their versions', async () => {
      const { db } = store;
      const all = ids(5).map((id, n) => ({
        id,
        name: `policy ${n}`,
        description: 'é',
        version: 1,
        createdAt: NOW,
        updatedAt: NOW,
      }));
      for (const policy of all) await policies.insertPolicy(db, policy);
      expect(
        await pages(
          (...page) => policies.listPolicies(db, ...page),
          row => row.id,
        ),
      ).toEqual(all.toReversed());
      const first = all[0] as policies.PolicyRecord;
      expect(await refusal(policies.insertPolicy(db, { ...first, id: 'other' }))).toBeInstanceOf(
        UniqueViolation,
      );

      const rules = [{ tool: '*', action: 'deny' as const, reason: 'No "quotes" lost.' }];
      for (let version = 1; version <= 3; version++) {
        const row = {
          version,
          name: 'n',
          rules,
          limits: {},
          results: [],
          text: null,
          createdAt: NOW,
          createdBy: 'admin',
        };
        await policies.insertPolicyVersion(db, first.id, row);
      }
      const versions = await policies.listPolicyVersions(db, first.id, 2, 1e15);
      expect(versions.map(row => row.version)).toEqual([3, 2]);
      expect((await policies.listPolicyVersions(db, first.id, 2, 2)).map(row => row.version)).toEqual([1]);
      expect(versions[0]?.rules).toEqual(rules);
      expect(await policies.findPolicyVersion(db, first.id, 2)).toEqual({
        id: first.id,
        version: 2,
        name: 'n',
        rules,
        limits: {},
        results: [],
      });
      expect(await policies.findPolicyVersion(db, first.id, 4)).toBeNull();

      await policies.updatePolicy(db, { ...first, name: 'renamed', version: 3 });
      expect((await policies.findPolicy(db, first.id))?.name).toBe('renamed');
      await policies.markPolicyDeleted(db, first.id, NOW);
      expect(await policies.findPolicy(db, first.id)).toBeNull();
      expect(await policies.findPolicyVersion(db, first.id, 3)).not.toBeNull();
      // The name of a deleted policy is free again.
      await policies.insertPolicy(db, { ...first, id: idAt(NOW, 99), name: 'renamed' });
    });

    test('policies with conditions, limits and approvers, which an older program cannot read', async () => {
      const { db } = store;
      const id = idAt(NOW, 7);
      const plain: Rule = { tool: 'a', action: 'require_approval', reason: 'Why.' };
      const limits: Limits = { sends: { calls: 2, within: '1h' } };
      const contents: { rules: Rule[]; limits: Limits; results?: ResultEntry[] }[] = [
        { rules: [plain], limits: {} },
        { rules: [plain], limits },
        { rules: [{ ...plain, when: 'args.a == 1' }], limits: {} },
        { rules: [{ ...plain, during: 'mon-fri' }], limits: {} },
        { rules: [plain, { ...plain, ask: 'Really?' }], limits: {} },
        { rules: [{ tool: 'a', action: 'allow', limit: 'sends' }], limits },
        { rules: [{ ...plain, show: 'all', timeout: '15m' }], limits: {} },
        { rules: [plain, { ...plain, approvers: { group: 'finance', count: 2 } }], limits },
        { rules: [plain, { ...plain, approvers: { group: 'finance', proof: 'passkey' } }], limits },
        { rules: [{ ...plain, approvers: { proof: 'passkey' } }], limits: {} },
        { rules: [plain, { ...plain, marks: 'untrusted' }], limits },
        { rules: [{ ...plain, known: 'results' }], limits: {} },
        { rules: [{ ...plain, marks: ['untrusted'], approvers: { proof: 'passkey' } }], limits: {} },
        { rules: [plain], limits: {}, results: [{ tool: '*', hide: 'secrets' }] },
        { rules: [{ ...plain, marks: 'untrusted' }], limits, results: [{ tool: '*', withhold: true }] },
      ];
      const text = '# A comment, é\r\nrules: []\n';
      for (const [version, content] of contents.entries()) {
        const row = { version, name: 'n', results: [], ...content, text: version === 0 ? null : text };
        await policies.insertPolicyVersion(db, id, { ...row, createdAt: NOW, createdBy: 'admin' });
        const [kept] = await policies.listPolicyVersions(db, id, 1, version + 1);
        expect(kept).toMatchObject(row);
        expect(await policies.findPolicyVersion(db, id, version)).toEqual({
          id,
          version,
          name: 'n',
          results: [],
          ...content,
        });

        // The program before conditions did this with the column. It failed only the checks that needed the version.
        const stored = (await policies.policyVersionRules(db, id, version))?.rules ?? '';
        const asBefore = () => (JSON.parse(stored) as Rule[]).forEach(rule => void rule.tool);
        if (version === 0) asBefore();
        else expect(asBefore).toThrow(TypeError);
        // The program before approvers, which knew conditions, would have let anybody answer.
        const { rules, results } = content;
        const flow = rules.some(rule => rule.marks !== undefined || rule.known !== undefined);
        if (version > 0)
          expect('rules' in JSON.parse(stored)).toBe(
            !flow && results === undefined && rules.every(rule => rule.approvers === undefined),
          );
        // The program before proofs, which knew approvers, would have counted approvals without them.
        if (!flow && rules.some(rule => rule.approvers?.proof !== undefined))
          expect(Object.keys(JSON.parse(stored))).toEqual(['proven']);
        // The program before results, which knew all of these, would have passed them on as they are.
        if (results !== undefined) expect(Object.keys(JSON.parse(stored))).toEqual(['guarding']);
        // The program before marks would have marked nothing. It read its rules out of one of these.
        if (flow)
          for (const known of ['rules', 'voted', 'proven'])
            expect(JSON.parse(stored)).not.toHaveProperty(known);
      }
    });

    test('keys', async () => {
      const { db } = store;
      const all = ids(5).map((id, n) =>
        keyRecord({
          id,
          name: `k${n}`,
          requireSignInToApprove: n % 2 === 0,
          forward: n === 1 ? ['prompts'] : [],
          shadowPolicyId: n === 1 ? 'ps' : null,
        }),
      );
      for (const key of all) await keys.insertKey(db, key, `hash of ${key.id}`);
      expect(
        await pages(
          (...page) => keys.listKeys(db, ...page),
          row => row.id,
        ),
      ).toEqual(all.toReversed());
      const [first, second] = all as [keys.KeyRecord, keys.KeyRecord];
      expect(await refusal(keys.insertKey(db, keyRecord(), `hash of ${first.id}`))).toBeInstanceOf(
        UniqueViolation,
      );
      expect(await keys.findKeyByHash(db, `hash of ${second.id}`)).toEqual(second);
      expect(await keys.findKeyByHash(db, 'unknown')).toBeNull();

      const changed = {
        ...first,
        name: 'new',
        expiresAt: NOW + 1,
        notifyEncrypted: 'sealed',
        policyId: 'p2',
        shadowPolicyId: 'ps',
      };
      await keys.updateKey(db, changed);
      expect(await keys.findKey(db, first.id)).toEqual(changed);
      expect(await keys.policyInUse(db, 'p2')).toBe(true);
      expect(await keys.keysShadowedBy(db, 'ps', 5)).toEqual(['new', 'k1']);
      expect(await keys.keysShadowedBy(db, 'ps', 1)).toEqual(['new']);
      expect(await keys.revokeKey(db, first.id, NOW)).toBe(true);
      expect(await keys.revokeKey(db, first.id, NOW + 5)).toBe(false);
      expect((await keys.findKey(db, first.id))?.revokedAt).toBe(NOW);
      expect(await keys.policyInUse(db, 'p2')).toBe(false);
      expect(await keys.keysShadowedBy(db, 'ps', 5)).toEqual(['k1']);
    });

    test('facts of keys, each under its own policy', async () => {
      const { db } = store;
      const policy = { description: '', createdAt: NOW, updatedAt: NOW };
      for (const [id, version] of [
        ['pa', 3],
        ['pb', 4],
      ] as const) {
        await policies.insertPolicy(db, { ...policy, id, name: id, version });
        const key = keyRecord({
          id: `key of ${id}`,
          policyId: id,
          shadowPolicyId: id === 'pb' ? 'pa' : 'unknown',
          notifyEncrypted: id,
          expiresAt: NOW + version,
        });
        await keys.insertKey(db, key, `hash of ${id}`);
      }
      const facts = (id: string, version: number) => ({
        id: `key of ${id}`,
        name: 'key',
        notifyEncrypted: id,
        expiresAt: NOW + version,
        revokedAt: null,
        policyId: id,
        policyVersion: version,
        tasks: 1,
        approveHere: 0,
        shadowPolicyId: id === 'pb' ? 'pa' : null,
        shadowPolicyVersion: id === 'pb' ? 3 : null,
      });
      expect(await keys.keyFacts(db, ['key of pa'])).toEqual([facts('pa', 3)]);
      const both = await keys.keyFacts(db, ['key of pa', 'key of pb', 'unknown']);
      expect(both.toSorted((a, b) => a.policyVersion - b.policyVersion)).toEqual([
        facts('pa', 3),
        facts('pb', 4),
      ]);
      // A policy that was deleted by a program that knows no shadows judges nothing.
      await policies.markPolicyDeleted(db, 'pa', NOW);
      expect(await keys.keyFacts(db, ['key of pb'])).toMatchObject([
        { policyId: 'pb', shadowPolicyId: null, shadowPolicyVersion: null },
      ]);
    });

    test('sessions', async () => {
      const { db } = store;
      const scopes = [null, [], ['a__b', 'é__😀'], null, null];
      const client = { clientId: 'https://client.example/id', clientName: 'é 😀', usedAt: NOW };
      const person = { personId: 'person-1', personGroups: ['dev', 'é'], ...client };
      const all = ids(5).map((id, n) =>
        sessionRecord({
          id,
          keyId: n < 4 ? 'key-1' : 'key-2',
          scopeTools: scopes[n] ?? null,
          ...(n === 1 && person),
          ...(n === 2 && { personId: 'gone' }),
        }),
      );
      for (const session of all) await sessions.insertSession(db, session, `hash of ${session.id}`);
      const operator = { id: 'person-1', email: 'ann@example.com', role: 'user', createdAt: NOW } as const;
      await operators.insertOperator(db, operator, null);
      const listed = all.map((each, n) => ({ ...each, personEmail: n === 1 ? operator.email : null }));
      expect(
        await pages(
          (...page) => sessions.listSessions(db, null, ...page),
          row => row.id,
        ),
      ).toEqual(listed.toReversed());
      const ofKey = all.slice(0, 4).toReversed();
      expect(
        await pages(
          (...page) => sessions.listSessions(db, 'key-1', ...page),
          row => row.id,
        ),
      ).toEqual(listed.slice(0, 4).toReversed());
      expect(await sessions.findSessionByHash(db, `hash of ${all[2]?.id}`)).toEqual(all[2] as never);
      expect(
        await refusal(sessions.insertSession(db, sessionRecord(), `hash of ${all[0]?.id}`)),
      ).toBeInstanceOf(UniqueViolation);

      const id = all[3]?.id as string;
      expect(await sessions.activeSessions(db, 'key-1', NOW, 10, 'z')).toEqual(ofKey);
      expect(await sessions.revokeSession(db, id, NOW)).toBe(true);
      expect(await sessions.revokeSession(db, id, NOW)).toBe(false);
      expect((await sessions.activeSessions(db, 'key-1', NOW, 10, 'z')).map(row => row.id)).not.toContain(id);
      expect(await sessions.activeSessions(db, 'key-1', NOW + 60_000, 10, 'z')).toEqual([]);
      const facts = await sessions.sessionFacts(db, [id, 'unknown', all[0]?.id as string]);
      expect(facts.find(row => row.id === id)?.revokedAt).toBe(NOW);
      expect(facts).toHaveLength(2);
    });

    test('connections of a person: the valid ones of keys that are not revoked; all of them end together', async () => {
      const { db } = store;
      for (const id of ['open', 'other', 'revoked'])
        await keys.insertKey(db, keyRecord({ id, name: `key ${id}` }), `hash of key ${id}`);
      await keys.revokeKey(db, 'revoked', NOW);
      const made = [
        ['c1', 'open', 'ann', 9],
        ['c2', 'other', 'ann', 9],
        ['c3', 'open', 'ann', 9],
        ['c4', 'revoked', 'ann', 9],
        ['c5', 'open', 'ann', 0],
        ['c6', 'open', 'bob', 9],
        ['c7', 'open', null, 9],
      ] as const;
      for (const [id, keyId, personId, left] of made) {
        const record = sessionRecord({ id, keyId, personId, expiresAt: NOW + left });
        await sessions.insertSession(db, record, `hash of ${id}`);
      }
      const connections = (personId: string) =>
        pages(
          (...page) => sessions.listConnections(db, personId, NOW, ...page),
          row => row.id,
        );
      expect((await connections('ann')).map(row => [row.id, row.keyName])).toEqual([
        ['c3', 'key open'],
        ['c2', 'key other'],
        ['c1', 'key open'],
      ]);
      expect((await sessions.connectedKeys(db, 'ann', NOW)).toSorted()).toEqual(['open', 'other', 'revoked']);
      // They do not count as sessions that the key itself has made.
      const many = (count: number) => sessions.hasActive(db, 'open', NOW, 'c', count);
      expect([await many(1), await many(2)]).toEqual([true, false]);
      expect(await keys.listKeyNames(db, ['other', 'unknown'])).toEqual(new Map([['other', 'key other']]));
      await db.transaction({}, tx => sessions.revokeSessionsOf(tx, 'ann', NOW, 'The person was removed.'));
      expect(await connections('ann')).toEqual([]);
      expect(await connections('bob')).toHaveLength(1);
      expect(await sessions.findSession(db, 'c1')).toMatchObject({
        revokedAt: NOW,
        revokedBecause: 'The person was removed.',
      });
      expect((await sessions.findSession(db, 'c7'))?.revokedAt).toBeNull();
    });

    test('sessions that would outlive their key end with it, and no others', async () => {
      const { db } = store;
      const ends = [
        ['short-1', 'short', NOW + 5],
        ['short-2', 'short', NOW + 15],
        ['long-1', 'long', NOW + 15],
      ] as const;
      for (const [id, keyId, expiresAt] of ends) {
        await sessions.insertSession(db, sessionRecord({ id, keyId, expiresAt }), `hash of ${id}`);
      }
      await db.transaction({}, tx => sessions.shortenSessions(tx, 'short', NOW + 10));
      const found = await Promise.all(ends.map(([id]) => sessions.findSession(db, id)));
      expect(found.map(row => row && [row.id, row.expiresAt - NOW])).toEqual([
        ['short-1', 5],
        ['short-2', 10],
        ['long-1', 15],
      ]);
      expect(await sessions.findSession(db, 'unknown')).toBeNull();
    });

    test('approvals, and that one is spent once', async () => {
      const { db } = store;
      const all = ids(5).map((id, n) =>
        approvalRecord({
          id,
          status: n === 4 ? 'approved' : 'pending',
          sessionId: n === 0 ? 'ses' : null,
          personId: n > 2 ? 'ann' : null,
        }),
      );
      await db.transaction({}, async tx => {
        for (const each of all) approvals.insertApproval(tx, each, `token of ${each.id}`);
      });
      const list = (filter: Parameters<typeof approvals.listApprovals>[1]) =>
        pages(
          (...page) => approvals.listApprovals(db, filter, ...page),
          row => row.id,
        );
      expect(await list({})).toEqual(all.toReversed());
      expect(await list({ personId: 'ann' })).toEqual(all.slice(3).toReversed());
      expect(await list({ personId: 'ann', status: 'approved' })).toEqual(all.slice(4));
      expect(await list({ personId: 'bob' })).toEqual([]);
      expect(await list({ status: 'pending' })).toEqual(all.slice(0, 4).toReversed());
      expect(await approvals.findApprovalByToken(db, `token of ${all[1]?.id}`)).toEqual(all[1] as never);
      expect(await approvals.findApproval(db, 'unknown')).toBeNull();

      const open = await approvals.countOpen(db, ['key-1'], NOW);
      expect(open.toSorted((a, b) => a.open - b.open)).toEqual([
        { keyId: 'key-1', sessionId: 'ses', open: 1 },
        { keyId: 'key-1', sessionId: null, open: 3 },
      ]);
      expect(await approvals.countOpen(db, ['key-1'], NOW + 60_000)).toEqual([]);

      const [pending, id, taken, granting] = all.map(each => each.id) as [string, string, string, string];
      const approve = (which: string, grantExpiresAt: number | null) =>
        db.transaction({}, tx =>
          approvals.resolveApproval(tx, which, {
            status: 'approved',
            at: NOW,
            by: 'link',
            grantExpiresAt,
            note: 'ok',
          }),
        );
      await approve(id, null);
      await approve(taken, null);
      await approve(granting, NOW + 60_000);
      const usable = async (after: number) => {
        const named = await usableApprovals.findSpendable(db, [pending, id, granting], after);
        const unnamed = await usableApprovals.findSpendableByDigest(
          db,
          ['key-1', 'key-2'],
          ['d0', 'd1'],
          after,
        );
        return [named, unnamed.filter(row => row.id !== taken)].map(rows => rows.map(row => row.id));
      };
      expect(await usable(NOW - 1)).toEqual([[id], [id]]);
      // Whatever was given at this time or before has ended.
      expect(await usable(NOW)).toEqual([[], []]);
      const spend = (which: string) =>
        db.transaction({}, tx => usableApprovals.spendApproval(tx, which, NOW));
      const withdraw = (which: string) =>
        db.transaction({}, tx => usableApprovals.withdrawApproval(tx, which, NOW));
      expect((await Promise.all([spend(id), spend(id), spend(id)])).filter(Boolean)).toHaveLength(1);
      expect(await usable(0)).toEqual([[], []]);
      expect([await spend(pending), await withdraw(pending)]).toEqual([false, false]);
      expect([await withdraw(id), await withdraw(granting)]).toEqual([false, false]);
      expect([await withdraw(taken), await withdraw(taken), await spend(taken)]).toEqual([
        true,
        false,
        false,
      ]);
      expect(await usableApprovals.findSpendable(db, [taken], 0)).toEqual([]);
      expect(await usableApprovals.findSpendableByDigest(db, ['key-1'], ['d1'], 0)).toEqual([]);
    });

    test('grants', async () => {
      const { db } = store;
      const all = ids(4).map((id, n) => ({
        id,
        referenceId: `r${n}`,
        keyId: n === 3 ? 'key-2' : 'key-1',
        serverName: 's',
        toolName: 't',
        definitionDigest: null,
        ruleDigest: null,
        createdAt: NOW,
        expiresAt: NOW + 1000 * n,
        sessionId: n === 3 ? 'session' : null,
        samePaths: n === 3 ? '["a"]' : null,
        sameDigest: n === 3 ? 'digest' : null,
        openedBy: n === 3 ? 'operator:ann@example.com' : null,
        used: 0,
      }));
      await db.transaction({}, async tx => {
        for (const grant of all.toReversed()) grants.insertGrant(tx, grant);
      });
      const open = async (now: number) => (await grants.openGrants(db, ['key-1'], now)).map(row => row.id);
      expect(await open(NOW)).toEqual([all[1]?.id, all[2]?.id] as string[]);
      const revoke = () => grants.revokeGrant(db, all[1]?.id as string, NOW);
      expect([await revoke(), await revoke()]).toEqual([true, false]);
      expect(await open(NOW)).toEqual([all[2]?.id] as string[]);
      expect(await grants.listGrants(db, NOW, 10, 'z')).toEqual([all[3], all[2]] as never);
      expect(await grants.listGrants(db, NOW, 10, all[3]?.id as string)).toEqual([all[2]] as never);
      expect(await grants.listGrants(db, NOW, 1, 'z')).toEqual([all[3]] as never);
      const used = async (uses: number) => {
        await db.transaction({}, async tx => grants.countUses(tx, all[3]?.id as string, uses));
        return grants.findGrant(db, all[3]?.id as string);
      };
      expect(await used(2)).toEqual({ ...all[3], used: 2 } as never);
      expect((await used(3))?.used).toBe(5);
      expect((await grants.findGrant(db, all[2]?.id as string))?.used).toBe(0);
    });

    test('operators and set-up links', async () => {
      const { db } = store;
      await db.run('DELETE FROM operators');
      expect(await operators.anyOperator(db)).toBe(false);
      const operator = { id: 'o1', email: 'ann@example.com', role: 'admin' as const, createdAt: NOW };
      await operators.insertOperator(db, operator, 'hash');
      expect(await operators.anyOperator(db)).toBe(true);
      expect(await refusal(operators.insertOperator(db, { ...operator, id: 'o2' }, 'hash'))).toBeInstanceOf(
        UniqueViolation,
      );
      await operators.insertSetupLink(db, 'link', NOW);
      expect(await operators.takeSetupLink(db, 'link')).toBe(true);
      expect(await operators.takeSetupLink(db, 'link')).toBe(false);
    });

    test('changes', async () => {
      const { db } = store;
      const all = ids(3).map(id => ({
        id,
        at: NOW,
        actor: 'admin',
        action: 'a',
        target: 't',
        detail: { n: [1] },
      }));
      for (const change of all) await insertChange(db, change);
      expect(
        await pages(
          (...page) => listChanges(db, ...page),
          row => row.id,
        ),
      ).toEqual(all.toReversed());
    });

    test('outcomes and settings, each by its own name', async () => {
      const { db } = store;
      const outcome = (toolCallId: string) =>
        ({ toolCallId, outcome: 'ok', durationMs: 3, at: NOW, result: null }) as const;
      const result = { hidden: { iban: 2 }, withheld: false, cut: true };
      await db.transaction({}, async tx =>
        insertOutcomes(tx, [outcome('c1'), { ...outcome('c2'), result }, outcome('c2')]),
      );
      expect(await findOutcome(db, 'c1')).toEqual(outcome('c1'));
      expect(await findOutcome(db, 'c2')).toEqual({ ...outcome('c2'), result });
      expect(await findOutcome(db, 'unknown')).toBeNull();
      expect(await keepSetting(db, 's1', 'first')).toBe('first');
      expect(await keepSetting(db, 's2', 'other')).toBe('other');
      expect(await keepSetting(db, 's1', 'second')).toBe('first');
      await removeSetting(db, 's1');
      expect([await readSetting(db, 's1'), await readSetting(db, 's2')]).toEqual([null, 'other']);
    });

    test('events with their deliveries and notifications share their transaction', async () => {
      const { db } = store;
      const data = approvalView(approvalRecord());
      const event = { type: 'approval.created' as const, timestamp: new Date(NOW).toISOString(), data };
      const write = (fail: boolean) =>
        db.transaction({}, async tx => {
          insertEvent(tx, { id: 'e1', event, createdAt: NOW });
          insertDelivery(tx, { id: 'd1', eventId: 'e1', webhookId: 'w1', createdAt: NOW });
          insertNotification(tx, {
            id: 'n1',
            approvalId: 'a1',
            keyId: 'k1',
            channel: 'terminal',
            tokenEncrypted: 's',
            createdAt: NOW,
          });
          expect(await listSubscribers(tx)).toEqual([]);
          if (fail) throw new Error('no');
        });
      expect(String(await refusal(write(true)))).toContain('no');
      const count = async (table: string) => (await db.all(`SELECT count(*) AS n FROM ${table}`))[0]?.['n'];
      expect(await count('events')).toBe(0);
      await write(false);
      for (const table of ['events', 'deliveries', 'notifications']) expect(await count(table)).toBe(1);
    });
  });
}
