// Operators, their links and invitations: who can sign in, who is an admin, and what happens to one and to no other.

import { expect, test } from 'bun:test';
import { endRoleByClaim, insertIdentity, noteSignOn } from '../../src/store/identities.ts';
import * as operators from '../../src/store/operators.ts';
import { insertPasskey, removePasskeys } from '../../src/store/passkeys.ts';
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
    const admins = async (provider: string | null = null) =>
      (await operators.someAdmins(db, provider)).sort();
    expect(await admins()).toEqual(['ann']);
    await operators.updateOperatorPassword(db, 'invited', 'chosen');
    expect(await admins()).toEqual(['ann', 'invited']);
    await add(operator('ben'), operator('invited', 'admin'));
    expect(await admins()).toEqual([]);
    const account = { issuer: 'https://idp.example/', subject: 's' };
    await insertIdentity(db, { ...account, operatorId: 'invited', decidesRole: true }, NOW);
    const ofPasskey = {
      name: 'key',
      publicKey: 'k',
      counter: 0,
      transports: [],
      createdAt: NOW,
      usedAt: null,
    };
    // A provider that decides about the role signs in alone.
    await insertPasskey(db, { id: 'passkey', operatorId: 'invited', ...ofPasskey });
    expect(await admins()).toEqual([]);
    expect(await admins('https://idp.example')).toEqual(['invited']);
    // Some providers name themselves otherwise in their claims.
    expect(await admins('https://other.example')).toEqual([]);
    await noteSignOn(db, account, NOW);
    expect(await admins('https://other.example')).toEqual(['invited']);
    expect(await admins()).toEqual([]);
    await endRoleByClaim(db, 'invited');
    expect(await admins()).toEqual(['invited']);
    expect(await operators.canSignIn(db, 'invited', null)).toBe(true);
    await removePasskeys(db, 'invited');
    expect(await operators.canSignIn(db, 'invited', null)).toBe(false);
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
