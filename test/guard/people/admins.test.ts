// At least one admin who can sign in remains. An admin whom only a company token names, or whose provider is not configured
// any more, cannot sign in and does not count.

import { beforeEach, expect, test } from 'bun:test';
import type { Deps } from '../../../src/guard/deps.ts';
import { changeOperator, deleteOperator } from '../../../src/guard/people/operators.ts';
import { removePasskey } from '../../../src/guard/people/passkeys.ts';
import { offerSetup } from '../../../src/guard/people/setup.ts';
import { insertIdentity } from '../../../src/store/identities.ts';
import { insertOperator, updateOperatorPassword } from '../../../src/store/operators.ts';
import { insertPasskey } from '../../../src/store/passkeys.ts';
import { NOW, onEachEngine } from '../../store/stores.ts';
import { depsAt } from '../deps.ts';

const PROVIDER = 'https://idp.example';

await onEachEngine(store => {
  let deps: Deps;
  beforeEach(async () => {
    const base = depsAt(store.db);
    deps = { ...base, settings: { ...base.settings, oidcIssuer: PROVIDER } };
    for (const table of ['operators', 'identities', 'passkeys', 'setup_links'])
      await store.db.run(`DELETE FROM ${table}`);
  });

  const admin = (id: string, password: string | null = null) =>
    insertOperator(store.db, { id, email: `${id}@example.com`, role: 'admin', createdAt: NOW }, password);
  const account = (operatorId: string, issuer: string) =>
    insertIdentity(store.db, { issuer, subject: operatorId, operatorId, decidesRole: false }, NOW);
  const codeOf = (work: Promise<unknown>) => work.then(() => 'done').catch(error => error.code);

  test('an admin who is known by a company token alone does not stand in for the last one', async () => {
    await admin('ann', 'a hash');
    await admin('token');
    await account('token', 'https://company.example');
    expect(await codeOf(deleteOperator(deps, 'admin', 'ann'))).toBe('conflict');
    expect(await codeOf(changeOperator(deps, 'admin', 'ann', { role: 'viewer' }))).toBe('conflict');
    expect(await codeOf(deleteOperator(deps, 'admin', 'token'))).toBe('done');
  });

  test('an admin of the provider does, while single sign-on is configured', async () => {
    await admin('ann', 'a hash');
    await admin('sso');
    await account('sso', PROVIDER);
    const without = { ...deps, settings: { ...deps.settings, oidcIssuer: null } };
    expect(await codeOf(deleteOperator(without, 'admin', 'ann'))).toBe('conflict');
    expect(await codeOf(deleteOperator(deps, 'admin', 'ann'))).toBe('done');
    expect(await offerSetup(deps)).toBeNull();
    expect(await offerSetup(without)).toBeString();
  });

  test('nobody removes their only way to sign in, whatever company tokens name them', async () => {
    await admin('ann');
    await account('ann', 'https://company.example');
    const passkey = { name: 'key', publicKey: 'k', counter: 0, transports: [], createdAt: NOW, usedAt: null };
    await insertPasskey(store.db, { id: 'passkey', operatorId: 'ann', ...passkey });
    const ann = {
      signInId: 's',
      operatorId: 'ann',
      email: 'ann@example.com',
      role: 'admin' as const,
      groups: [],
    };
    expect(await codeOf(removePasskey(deps, ann, 'passkey'))).toBe('conflict');
    await updateOperatorPassword(store.db, 'ann', 'a hash');
    expect(await codeOf(removePasskey(deps, ann, 'passkey'))).toBe('done');
  });
});
