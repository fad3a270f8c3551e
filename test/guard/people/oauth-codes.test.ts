// A code is given only if the person may use the key at the moment in which the code is stored: whatever took long
// before, such as the document of a client, does not count.

import { expect, test } from 'bun:test';
import { endKey } from '../../../src/guard/approvals/end-key.ts';
import { newId } from '../../../src/guard/ids.ts';
import { changeKey } from '../../../src/guard/keys.ts';
import { giveCode } from '../../../src/guard/people/oauth-codes.ts';
import { changeOperator, deleteOperator } from '../../../src/guard/people/operators.ts';
import { insertKey } from '../../../src/store/keys.ts';
import { insertOperator, updateOperatorGroups } from '../../../src/store/operators.ts';
import { keyRecord, NOW, onEachEngine } from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';
import { depsAt } from '../deps.ts';
import { meanwhile } from '../meanwhile.ts';

const CLIENT = { id: 'c', name: 'C', redirectUris: ['http://localhost/'], from: 'registration' } as const;
const ASKED = {
  responseType: 'code',
  redirectUri: 'http://localhost/',
  state: undefined,
  challenge: 'x',
  challengeMethod: 'S256',
  resource: undefined,
};

await onEachEngine(store => {
  const deps = () => depsAt(store.db, () => NOW);

  async function somebody() {
    const [operatorId, key] = [newId(), keyRecord({ id: newId(), openTo: ['group:dev'] })];
    const email = `${operatorId}@example.com`;
    await insertOperator(store.db, { id: operatorId, email, role: 'user', createdAt: NOW }, null);
    await updateOperatorGroups(store.db, operatorId, ['dev']);
    await insertKey(store.db, key, key.id);
    const person = { signInId: newId(), operatorId, email, role: 'user' as const, groups: ['dev'] };
    return { person, keyId: key.id };
  }

  test.each<[string, (keyId: string, personId: string) => Promise<unknown>]>([
    ['the key is closed', keyId => changeKey(deps(), 'admin', keyId, { openTo: [] })],
    ['the key is revoked', keyId => endKey(deps(), 'admin', keyId)],
    ['the person leaves the group', (_, id) => changeOperator(deps(), 'admin', id, { groups: [] })],
    ['the person is removed', (_, id) => deleteOperator(deps(), 'admin', id)],
  ])('no code if %s meanwhile', async (_, change) => {
    const { person, keyId } = await somebody();
    const slow = meanwhile(deps(), () => change(keyId, person.operatorId));
    expect(await refusal(giveCode(slow, CLIENT, ASKED, person, keyId))).toMatchObject({ code: 'forbidden' });
    const [row] = await store.db.all<{ count: number }>(
      'SELECT COUNT(*) AS count FROM oauth_codes WHERE key_id = $1',
      [keyId],
    );
    expect(Number(row?.count)).toBe(0);
  });

  test('a code if nothing has changed', async () => {
    const { person, keyId } = await somebody();
    expect(await giveCode(deps(), CLIENT, ASKED, person, keyId)).toMatch(/^[\w-]{43}$/);
  });
});
