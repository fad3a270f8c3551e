// For whom a company's token stands: the person, the key that is open to them, and the session that it becomes.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { PrincipalMemory } from '../../../src/guard/credentials.ts';
import type { Deps } from '../../../src/guard/deps.ts';
import { changeKey } from '../../../src/guard/keys.ts';
import { CompanyIssuer } from '../../../src/guard/people/company-issuer.ts';
import { CompanyTokens, MAX_TOKENS_PER_PERSON } from '../../../src/guard/people/company-tokens.ts';
import {
  changeOperator,
  deleteOperator,
  inviteOperator,
  resetOperator,
} from '../../../src/guard/people/operators.ts';
import { hashToken, mintToken } from '../../../src/guard/secrets.ts';
import { endAnySession } from '../../../src/guard/sessions.ts';
import { findIdentity } from '../../../src/store/identities.ts';
import { insertKey } from '../../../src/store/keys.ts';
import { findOperatorCredential, insertOperator, listOperators } from '../../../src/store/operators.ts';
import { personFacts } from '../../../src/store/people.ts';
import { findSession, insertSession, insertTokenSession, listSessions } from '../../../src/store/sessions.ts';
import { keyRecord, onEachEngine, sessionRecord } from '../../store/stores.ts';
import { until } from '../../support/faults.ts';
import { refusal } from '../../support/refusal.ts';
import { AUDIENCE, TokenIssuer } from '../../support/token-issuer.ts';
import { depsAt } from '../deps.ts';
import { meanwhile } from '../meanwhile.ts';

let issuer: TokenIssuer;
beforeAll(async () => {
  issuer = await TokenIssuer.start();
});
afterAll(() => issuer.close());

/** The other solution of the equation of ECDSA fits the same message. Everybody can compute it. */
function otherSignature(token: string): string {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const end = token.lastIndexOf('.') + 1;
  const both = Buffer.from(token.slice(end), 'base64url').toString('hex');
  const other = (order - BigInt(`0x${both.slice(64)}`)).toString(16).padStart(64, '0');
  return token.slice(0, end) + Buffer.from(both.slice(0, 64) + other, 'hex').toString('base64url');
}

/** The last character has bits that are not part of the signature. */
function otherSpelling(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(token.slice(-1));
  return token.slice(0, -1) + alphabet[last ^ 1];
}

await onEachEngine(store => {
  let deps: Deps;
  beforeAll(() => {
    deps = depsAt(store.db, Date.now);
  });

  /** A replica that has not seen any token. */
  function replica(groupsClaim: string | null = 'realm.groups', its = deps): PrincipalMemory {
    const settings = { jwtIssuer: issuer.url, jwtAudience: AUDIENCE };
    const verifier = new CompanyIssuer(settings, { allowPrivate: true }, () => {});
    return new PrincipalMemory(its, new CompanyTokens(its, verifier, groupsClaim));
  }

  const name = () => `p-${crypto.randomUUID().slice(0, 8)}`;
  const inGroup = (...groups: unknown[]) => ({ realm: { groups } });
  async function openKey(...openTo: string[]): Promise<string> {
    const key = keyRecord({ openTo, name: `key of ${openTo[0]}` });
    await insertKey(store.db, key, `hash of ${key.id}`);
    return key.id;
  }
  const operator = (email: string) => findOperatorCredential(store.db, email);
  const said = async (work: Promise<unknown>) => {
    const { code, message } = (await refusal(work)) as { code: string; message: string };
    return `${code}: ${message}`;
  };

  test('a token becomes one session of the open key, for a person who becomes a user', async () => {
    const [sub, group] = [name(), name()];
    const keyId = await openKey(`group:${group}`);
    const exp = Math.floor(Date.now() / 1000) + 900;
    const token = await issuer.token({
      sub,
      exp,
      azp: 'c'.repeat(200),
      ...inGroup(group, 7, 'x'.repeat(500)),
    });
    const seen = await Promise.all([replica(), replica(), replica()].map(each => each.learn(token)));
    const person = await operator(`${sub}@example.com`);
    expect(person).toMatchObject({ role: 'user', groups: [], passwordHash: null });
    const [first] = seen;
    expect(first).toMatchObject({
      kind: 'session',
      keyId,
      personId: person?.id,
      until: exp * 1000,
      scope: null,
    });
    expect(seen).toEqual([first!, first!, first!]);
    expect(await findSession(store.db, first?.sessionId ?? '')).toMatchObject({
      keyId,
      personId: person?.id,
      personGroups: [group],
      clientId: 'c'.repeat(200),
      expiresAt: exp * 1000,
      label: `company token of ${new URL(issuer.url).host}`,
    });
    // The next token of the same person is another session.
    const next = await replica().learn(await issuer.token({ sub, ...inGroup(group) }));
    expect(next.personId).toBe(first?.personId as string);
    expect(next.sessionId).not.toBe(first?.sessionId as string);
  });

  test('a remembered token is found by its header, and a wrong one is not remembered', async () => {
    const [sub, group] = [name(), name()];
    await openKey(`group:${group}`);
    const memory = replica();
    const token = await issuer.token({ sub, ...inGroup(group) });
    const principal = await memory.learn(token);
    expect(memory.recall(`Bearer ${token}`)).toBe(principal);
    const wrong = await Promise.all([issuer.token({ aud: 'x' }), issuer.token({}, { kid: 'x' })]);
    for (const each of [...wrong, 'ey.ey.x', `${token}x`]) {
      expect(await said(memory.learn(each))).toStartWith('unauthenticated: ');
    }
    expect(memory.size).toBe(1);
    memory.forget(principal);
    expect(memory.size).toBe(0);
  });

  test('without a groups claim, the groups that the person has here count', async () => {
    const [sub, group] = [name(), name()];
    await openKey(`group:${group}`);
    const id = crypto.randomUUID();
    await insertOperator(
      store.db,
      { id, email: `${sub}@example.com`, role: 'approver', createdAt: 0 },
      'a hash',
    );
    const memory = replica(null);
    const ask = async () => memory.learn(await issuer.token({ sub, ...inGroup(group) }));
    expect(await said(ask())).toStartWith('forbidden: No key is open to you.');
    await changeOperator(deps, 'admin', id, { groups: [group] });
    const { sessionId, personId } = await ask();
    expect(personId).toBe(id);
    expect(await findSession(store.db, sessionId ?? '')).toMatchObject({ personGroups: null });
    expect(await operator(`${sub}@example.com`)).toMatchObject({ role: 'approver', groups: [group] });
  });

  test('no open key, or several: nobody guesses, and nothing is left behind', async () => {
    const [sub, group] = [name(), name()];
    const token = await issuer.token({ sub, ...inGroup(group) });
    const none =
      'forbidden: No key is open to you. Ask an admin to open one to you or to one of your groups.';
    expect(await said(replica().learn(token))).toBe(none);
    await openKey(`group:${group}`);
    await openKey(`person:${sub}@example.com`);
    expect(await said(replica().learn(token))).toBe(
      `forbidden: Several keys are open to you: "key of group:${group}", "key of person:${sub}@example.com". A company token needs exactly one: ask an admin to leave one open to you.`,
    );
    expect(await operator(`${sub}@example.com`)).toBeNull();
    // Revoked and expired keys are open to nobody.
    const late = keyRecord({ openTo: [`person:${name()}@example.com`], expiresAt: Date.now() - 1 });
    await insertKey(store.db, late, `hash of ${late.id}`);
    const [, who = ''] = /person:(.*)@/.exec(late.openTo[0] ?? '') ?? [];
    expect(await said(replica().learn(await issuer.token({ sub: who })))).toBe(none);
  });

  test('a revoked token stays revoked, however its signature is written', async () => {
    const [sub, group] = [name(), name()];
    await openKey(`group:${group}`);
    const token = await issuer.token({ sub, ...inGroup(group) });
    const { sessionId } = await replica().learn(token);
    const copies = [otherSignature(token), otherSpelling(token)];
    const unknown = 'unauthenticated: The key or session token is unknown, revoked or expired.';
    for (const copy of copies) expect(await said(replica().learn(copy))).toBe(unknown);
    await endAnySession(deps, 'admin', sessionId ?? '');
    for (const each of [token, ...copies]) expect(await said(replica().learn(each))).toBe(unknown);
    const all = await listSessions(store.db, null, 1000, 'z');
    expect(
      all.filter(each => each.personId === all.find(({ id }) => id === sessionId)?.personId),
    ).toHaveLength(1);
  });

  test('a known token needs no issuer; a new one does', async () => {
    const [sub, group] = [name(), name()];
    await openKey(`group:${group}`);
    const [known, fresh] = [await issuer.token({ sub, ...inGroup(group) }), await issuer.token({ sub })];
    const first = await replica().learn(known);
    issuer.answers.set('*', (_, response) => response.writeHead(500).end());
    const other = replica();
    expect(await other.learn(known)).toEqual(first);
    expect(await said(other.learn(fresh))).toStartWith('not_ready: ');
    issuer.answers.delete('*');
  });

  test('while the issuer is slow, so many new tokens wait for it, and other credentials do not', async () => {
    const [sub, group] = [name(), name()];
    const keyId = await openKey(`group:${group}`);
    const known = await issuer.token({ sub, ...inGroup(group) });
    await replica().learn(known);
    const { token, hash } = mintToken('session');
    await insertSession(store.db, sessionRecord({ keyId, expiresAt: Date.now() + 60_000 }), hash);
    const fresh = await Promise.all(Array.from({ length: 600 }, () => issuer.token({ sub, aud: 'x' })));
    const held = Promise.withResolvers<void>();
    issuer.answers.set('*', (_, response) => void held.promise.then(() => response.writeHead(500).end()));
    const memory = replica();
    const told: string[] = [];
    const all = Promise.all(fresh.map(async each => told.push(await said(memory.learn(each)))));
    await until('all but those who wait are told', () => told.length === 500);
    expect((await memory.learn(token)).keyId).toBe(keyId);
    expect((await memory.learn(known)).keyId).toBe(keyId);
    held.resolve();
    await all;
    const over = 'overloaded: Too many checks are waiting for the audit log.';
    expect(told.slice(0, 500)).toEqual(Array(500).fill(over));
    expect(new Set(told.slice(500).map(each => each.split(':')[0]))).toEqual(new Set(['not_ready']));
    issuer.answers.delete('*');
  });

  test('who was removed stays out; who is only invited has to accept first', async () => {
    const [sub, group] = [name(), name()];
    const email = `${sub}@example.com`;
    await openKey(`group:${group}`);
    const ask = async (more = {}) => replica().learn(await issuer.token({ sub, ...inGroup(group), ...more }));
    const { personId = '' } = await ask();
    await deleteOperator(deps, 'admin', personId);
    const out = 'forbidden: You were removed from the operators. Ask an admin to invite you.';
    expect(await said(ask())).toBe(out);
    // Nor do they come back with another e-mail or another account.
    expect(await said(ask({ email: `${name()}@example.com` }))).toBe(out);
    expect(await said(ask({ sub: name(), email }))).toBe(out);
    await inviteOperator(deps, 'admin', { email, role: 'user' });
    expect(await said(ask())).toStartWith('forbidden: You are invited.');
  });

  test('only a verified e-mail links to an operator, and only one account', async () => {
    const [sub, group] = [name(), name()];
    await openKey(`group:${group}`);
    const email = `${sub}@example.com`;
    const id = crypto.randomUUID();
    await insertOperator(store.db, { id, email, role: 'admin', createdAt: 0 }, 'a hash');
    const ask = async (more: object) =>
      replica().learn(await issuer.token({ sub, ...inGroup(group), ...more }));
    for (const faulty of [{ email_verified: false }, { email: undefined }, { email: 'ann' }]) {
      expect(await said(ask(faulty))).toStartWith('forbidden: ');
    }
    // Whoever can choose their e-mail at the issuer would otherwise be this operator from then on.
    expect(await said(ask({ email_verified: undefined }))).toContain('does not say that it is verified');
    expect(await findIdentity(store.db, { issuer: issuer.url, subject: sub })).toBeNull();
    expect((await ask({})).personId).toBe(id);
    // From then on the account counts.
    expect((await ask({ email_verified: undefined, jti: 'another' })).personId).toBe(id);
    expect((await ask({ email: undefined })).personId).toBe(id);
    expect(await said(ask({ sub: name(), email }))).toContain('another account');
    // A token never changes a role.
    expect(await operator(email)).toMatchObject({ role: 'admin', groups: [] });
  });

  test('an e-mail that nobody has verified opens no key, and is no e-mail of another account', async () => {
    const [sub, group] = [name(), name()];
    const email = `${sub}@example.com`;
    const keyId = await openKey(`person:${email}`);
    const ask = async (more: object) => replica().learn(await issuer.token({ sub, ...more }));
    expect(await said(ask({ email_verified: undefined }))).toStartWith('forbidden: No key is open to you.');
    expect(await operator(email)).toBeNull();
    const byGroup = await openKey(`group:${group}`);
    // They come in by their group, and are offered one key, not two.
    const { personId = '', keyId: got } = await ask({ email_verified: undefined, ...inGroup(group) });
    expect(got).toBe(byGroup);
    expect(await personFacts(store.db, [personId])).toMatchObject([{ email, unverified: true }]);
    expect(await said(ask({ email_verified: undefined, jti: 'again' }))).toContain('No key is open');
    // Another account with this e-mail is somebody else until an admin says otherwise.
    expect(await said(ask({ sub: name(), email, ...inGroup(group) }))).toContain(
      'without saying that it is verified',
    );
    expect((await ask({ jti: 'verified' })).keyId).toBe(keyId);
    expect(await personFacts(store.db, [personId])).toEqual([{ id: personId, email, groups: [] }]);
  });

  test.each<[string, (keyId: string, personId: string) => Promise<unknown>]>([
    ['the key is closed', keyId => changeKey(deps, 'admin', keyId, { openTo: [] })],
    ['the person is reset', (_, personId) => resetOperator(deps, 'admin', personId)],
    ['the person is removed', (_, personId) => deleteOperator(deps, 'admin', personId)],
  ])('no session of a token if %s while it is looked at', async (_, change) => {
    const [sub, group] = [name(), name()];
    const keyId = await openKey(`group:${group}`);
    const token = () => issuer.token({ sub, ...inGroup(group) });
    const { personId = '' } = await replica().learn(await token());
    const before = (await listSessions(store.db, keyId, 100, 'z')).length;
    const slow = meanwhile(deps, () => change(keyId, personId));
    expect(await refusal(replica('realm.groups', slow).learn(await token()))).not.toBeNull();
    expect((await listSessions(store.db, keyId, 100, 'z')).length).toBe(before);
  });

  test('a session ends with its key, and one person has so many tokens at once', async () => {
    const [sub, group] = [name(), name()];
    const expiresAt = Date.now() + 60_000;
    const key = keyRecord({ openTo: [`group:${group}`], expiresAt });
    await insertKey(store.db, key, `hash of ${key.id}`);
    const ask = async () => replica().learn(await issuer.token({ sub, ...inGroup(group) }));
    const { sessionId, personId = '' } = await ask();
    expect(await findSession(store.db, sessionId ?? '')).toMatchObject({ expiresAt });
    await store.db.transaction({}, async tx => {
      for (let n = 2; n <= MAX_TOKENS_PER_PERSON; n++) {
        const one = sessionRecord({ keyId: key.id, personId, expiresAt });
        await insertTokenSession(tx, one, hashToken(one.id), hashToken(`signed ${one.id}`));
      }
    });
    expect(await said(ask())).toBe(
      'conflict: You have 200 company tokens in use, and may have no more. Use one for longer, or wait until some have ended.',
    );
    await endAnySession(deps, 'admin', sessionId ?? '');
    await ask();
  });

  test('nobody becomes an operator by a token that is not valid', async () => {
    const before = (await listOperators(store.db, 1000, 'z')).length;
    const [sub, group] = [name(), name()];
    await openKey(`group:${group}`);
    for (const more of [{ aud: 'x' }, { exp: 1 }, { cnf: {} }]) {
      const token = await issuer.token({ sub, ...inGroup(group), ...more });
      expect(await said(replica().learn(token))).toStartWith('unauthenticated: ');
    }
    expect((await listOperators(store.db, 1000, 'z')).length).toBe(before);
  });
});
