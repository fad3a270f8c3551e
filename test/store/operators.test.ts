// Operators, their links and invitations: who can sign in, who is an admin, and what happens to one and to no other.

import { expect, test } from 'bun:test';
import { insertIdentity } from '../../src/store/identities.ts';
import * as operators from '../../src/store/operators.ts';
import { NOW, onEachEngine } from './stores.ts';

const operator = (id: string, role: operators.Role = 'viewer'): operators.OperatorRecord => ({
  id,
  email: `${id}@example.com`,
  role,
  createdAt: NOW,
});

await onEachEngine(store => {
  /** Each with a password, unless their name says otherwise. */
  const add = async (...rows: operators.OperatorRecord[]) => {
    for (const table of ['operators', 'identities', 'invitations', 'setup_links']) {
      await store.db.run(`DELETE FROM ${table}`);
    }
    for (const row of rows) {
      await operators.insertOperator(store.db, row, row.id.startsWith('invited') ? null : 'password');
    }
  };

  test('they are listed newest first, as active once they can sign in', async () => {
    const { db } = store;
    await add(operator('ann'), operator('ben', 'approver'), operator('invited-1'), operator('invited-2'));
    const account = { issuer: 'i', subject: 's', operatorId: 'invited-2', decidesRole: true };
    await insertIdentity(db, account, NOW);
    expect(await operators.listOperators(db, 2, 'z')).toEqual([
      { ...operator('invited-2'), status: 'active', groups: [] },
      { ...operator('invited-1'), status: 'invited', groups: [] },
    ]);
    await operators.updateOperatorGroups(db, 'ben', ['finance', 'on "call"']);
    expect(await operators.listOperators(db, 2, 'ben')).toEqual([
      { ...operator('ann'), status: 'active', groups: [] },
    ]);
    expect(await operators.findOperator(db, 'ben')).toEqual({
      ...operator('ben', 'approver'),
      status: 'active',
      groups: ['finance', 'on "call"'],
    });
    expect(await operators.findOperator(db, 'unknown')).toBeNull();
    expect(await operators.findOperatorCredential(db, 'ben@example.com')).toEqual({
      id: 'ben',
      email: 'ben@example.com',
      role: 'approver',
      groups: ['finance', 'on "call"'],
      passwordHash: 'password',
    });
    expect(await operators.findOperatorCredential(db, 'unknown')).toBeNull();
  });

  test('an admin counts who can sign in', async () => {
    const { db } = store;
    await add(operator('ann', 'admin'), operator('ben'), operator('invited', 'admin'));
    expect(await operators.anyAdmin(db)).toBe(true);
    expect(await operators.otherAdmins(db, 'ann')).toBe(false);
    expect(await operators.otherAdmins(db, 'ben')).toBe(true);
    await operators.updateOperatorPassword(db, 'invited', 'chosen');
    expect(await operators.otherAdmins(db, 'ann')).toBe(true);
    await add(operator('ben'), operator('invited', 'admin'));
    expect(await operators.anyAdmin(db)).toBe(false);
    await insertIdentity(db, { issuer: 'i', subject: 's', operatorId: 'invited', decidesRole: false }, NOW);
    expect(await operators.anyAdmin(db)).toBe(true);
  });

  test('a role, a password and a removal concern one operator', async () => {
    const { db } = store;
    await add(operator('ann'), operator('ben'));
    await operators.updateOperatorRole(db, 'ann', 'admin');
    await operators.updateOperatorPassword(db, 'ben', null);
    const row = ({ id, role, passwordHash }: operators.OperatorCredential) => [id, role, passwordHash];
    const find = (id: string) => operators.findOperatorCredential(db, `${id}@example.com`);
    const both = async () => [await find('ann'), await find('ben')].map(each => each && row(each));
    expect(await both()).toEqual([
      ['ann', 'admin', 'password'],
      ['ben', 'viewer', null],
    ]);
    await operators.removeOperator(db, 'ann');
    expect(await both()).toEqual([null, ['ben', 'viewer', null]]);
  });

  test('a set-up link stands until it is taken or all are removed', async () => {
    const { db } = store;
    await add();
    for (const hash of ['l1', 'l2', 'l3']) await operators.insertSetupLink(db, hash, NOW);
    const stand = () => Promise.all(['l1', 'l2', 'l3'].map(hash => operators.setupLinkStands(db, hash)));
    expect(await stand()).toEqual([true, true, true]);
    expect(await operators.takeSetupLink(db, 'unknown')).toBe(false);
    expect(await operators.takeSetupLink(db, 'l1')).toBe(true);
    expect(await stand()).toEqual([false, true, true]);
    await operators.removeSetupLinks(db);
    expect(await stand()).toEqual([false, false, false]);
  });

  test('an invitation leads to its own operator until it ends', async () => {
    const { db } = store;
    await add(operator('ann'), operator('invited-1', 'approver'), operator('invited-2'));
    const invite = (hash: string, operatorId: string) =>
      operators.insertInvitation(db, { hash, operatorId, createdAt: NOW, expiresAt: NOW + 5 });
    await invite('h1', 'invited-1');
    await invite('h2', 'invited-2');
    const invited = async (hash: string, now: number) => operators.findInvited(db, hash, now);
    expect(await invited('h1', NOW + 4)).toEqual(operator('invited-1', 'approver'));
    expect(await invited('h1', NOW + 5)).toBeNull();
    expect(await invited('unknown', NOW)).toBeNull();
    await operators.removeInvitations(db, 'invited-1');
    expect([await invited('h1', NOW), (await invited('h2', NOW))?.id]).toEqual([null, 'invited-2']);
  });
});
