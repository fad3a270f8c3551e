// Every way into an account ends when somebody takes it over: set-up makes it the first admin's, a reset gives it back to its
// owner, and a removal ends it. The account of these tests has a row in every table that lets somebody in.

import { expect, test } from 'bun:test';
import { newId } from '../../../src/guard/ids.ts';
import { deleteOperator, inviteOperator, resetOperator } from '../../../src/guard/people/operators.ts';
import { offerSetup, setUpFirstAdmin } from '../../../src/guard/people/setup.ts';
import { openSignIn } from '../../../src/guard/people/sign-ins.ts';
import type { Queries } from '../../../src/store/engine/db.ts';
import { insertIdentity } from '../../../src/store/identities.ts';
import { insertCode } from '../../../src/store/oauth.ts';
import { insertInvitation, insertOperator } from '../../../src/store/operators.ts';
import { insertPasskey } from '../../../src/store/passkeys.ts';
import {
  insertServerTicket,
  insertServerVisit,
  putServerSignIn,
} from '../../../src/store/server-sign-ins.ts';
import { insertSession } from '../../../src/store/sessions.ts';
import { NOW, onEachEngine, sessionRecord } from '../../store/stores.ts';
import { depsAt } from '../deps.ts';

const PASSWORD = 'seven green boats at noon';
const LATER = NOW + 60_000;
const BROWSER = { ip: '192.0.2.1', userAgent: 'test', replaces: null };
/** What is a way in as long as it is there, and which column names the person. */
const WAYS = {
  passkeys: 'operator_id',
  identities: 'operator_id',
  invitations: 'operator_id',
  sign_ins: 'operator_id',
  server_sign_ins: 'person_id',
  server_visits: 'person_id',
  server_tickets: 'person_id',
  oauth_codes: 'person_id',
};

await onEachEngine(store => {
  const deps = () => depsAt(store.db);

  async function wayInOf(personId: string) {
    const rows: Record<string, unknown> = {};
    for (const [table, column] of Object.entries(WAYS)) {
      const found = await store.db.all(`SELECT * FROM ${table} WHERE ${column} = $1`, [personId]);
      if (found.length > 0) rows[table] = found.length;
    }
    const [account] = await store.db.all('SELECT password_hash FROM operators WHERE id = $1', [personId]);
    if (typeof account?.['password_hash'] === 'string') rows['password'] = account['password_hash'];
    const sql = 'SELECT id FROM sessions WHERE person_id = $1 AND revoked_at IS NULL';
    const sessions = await store.db.all(sql, [personId]);
    if (sessions.length > 0) rows['sessions'] = sessions.length;
    return rows;
  }

  /** A person of the lowest role who has come in by every way that there is. */
  async function newPerson() {
    const operator = { id: newId(), email: `${newId()}@example.com`, role: 'user' as const, createdAt: NOW };
    const { id } = operator;
    await store.db.transaction({}, async tx => {
      await insertOperator(tx, operator, 'their old hash');
      await openSignIn(tx, deps(), { ...operator, groups: [] }, BROWSER);
      await addAtServers(tx, id);
      const passkey = { publicKey: 'k', counter: 0, transports: [], name: 'Laptop', usedAt: null };
      await insertPasskey(tx, { id: `passkey ${id}`, operatorId: id, createdAt: NOW, ...passkey });
      const account = { issuer: 'https://idp.example', subject: id };
      await insertIdentity(tx, { ...account, operatorId: id, decidesRole: true }, NOW);
      await insertInvitation(tx, { hash: `link ${id}`, operatorId: id, createdAt: NOW, expiresAt: LATER });
      await insertSession(tx, sessionRecord({ personId: id }), `oauth ${id}`);
      const client = { clientId: 'c', clientName: 'C', redirectUri: 'http://localhost/', keyId: 'key-1' };
      const code = { ...client, personId: id, challenge: 'c', expiresAt: LATER, sessionId: null };
      await insertCode(tx, code, `code ${id}`);
    });
    expect(Object.keys(await wayInOf(id)).sort()).toEqual(
      [...Object.keys(WAYS), 'password', 'sessions'].sort(),
    );
    return operator;
  }

  async function addAtServers(tx: Queries, personId: string) {
    const own = { toolId: newId(), personId };
    const tokens = { tokensEncrypted: 't', account: null, scopes: null, wanted: null, expiresAt: null };
    await putServerSignIn(tx, { ...own, ...tokens }, NOW);
    const visit = { browserHash: 'b', stateEncrypted: 's', expiresAt: LATER };
    await insertServerVisit(tx, { ...own, ...visit, hash: `visit ${own.toolId}` }, NOW);
    await insertServerTicket(tx, { ...own, hash: `ticket ${own.toolId}`, expiresAt: LATER }, NOW);
  }

  const signInsOfKeys = () => store.db.all("SELECT tool_id FROM server_sign_ins WHERE person_id = ''");

  // This comes first: later tests have an admin.
  test('set-up leaves the new admin with their password and one sign-in', async () => {
    await addAtServers(store.db, '');
    const { id, email } = await newPerson();
    const token = (await offerSetup(deps())) ?? '';
    const { operator } = await setUpFirstAdmin(deps(), { token, email, password: PASSWORD }, BROWSER);
    expect([operator.id, operator.role, operator.status]).toEqual([id, 'admin', 'active']);
    expect(await wayInOf(id)).toEqual({ password: expect.stringMatching(/^\$argon2id/), sign_ins: 1 });
  });

  test('set-up with a new e-mail ends nothing of others', async () => {
    const other = await newPerson();
    await store.db.run("UPDATE operators SET role = 'user'");
    const token = (await offerSetup(deps())) ?? '';
    const input = { token, email: `${newId()}@example.com`, password: PASSWORD };
    const { operator } = await setUpFirstAdmin(deps(), input, BROWSER);
    expect([operator.role, operator.status]).toEqual(['admin', 'active']);
    expect(Object.keys(await wayInOf(other.id))).toHaveLength(10);
    expect(await signInsOfKeys()).toHaveLength(1);
  });

  test('a reset leaves its link only', async () => {
    const { id } = await newPerson();
    await resetOperator(deps(), 'admin', id);
    expect(await wayInOf(id)).toEqual({ invitations: 1 });
    expect(await store.db.all('SELECT hash FROM invitations WHERE hash = $1', [`link ${id}`])).toEqual([]);
  });

  test('a removal leaves the account at the provider, which an invitation ends', async () => {
    const { id, email } = await newPerson();
    await deleteOperator(deps(), 'admin', id);
    expect(await wayInOf(id)).toEqual({ identities: 1 });
    await inviteOperator(deps(), 'admin', { email, role: 'viewer' });
    expect(await wayInOf(id)).toEqual({});
  });
});
