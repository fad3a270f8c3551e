// Passkeys with a software authenticator: what is accepted, and every way in which an answer can be wrong.

import { describe, expect, test } from 'bun:test';
import { newId } from '../../../src/guard/ids.ts';
import { deleteOperator, resetOperator } from '../../../src/guard/people/operators.ts';
import type { MadePasskey, SignedChallenge } from '../../../src/guard/people/passkey-responses.ts';
import {
  beginAdding,
  beginPasskeySignIn,
  finishAdding,
  finishPasskeySignIn,
  MAX_PASSKEYS,
  passkeysSignIn,
  removePasskey,
  renamePasskey,
  rpOf,
  verifyAssertion,
} from '../../../src/guard/people/passkeys.ts';
import { openSignIn, recognise, type SignedIn } from '../../../src/guard/people/sign-ins.ts';
import { listChanges } from '../../../src/store/changes.ts';
import { endRoleByClaim, insertIdentity } from '../../../src/store/identities.ts';
import { findOperator, insertOperator } from '../../../src/store/operators.ts';
import { findPasskey, insertPasskey, listPasskeys, notePasskeyUse } from '../../../src/store/passkeys.ts';
import { NOW, onEachEngine } from '../../store/stores.ts';
import { Authenticator, type Oddities } from '../../support/authenticator.ts';
import { refusal } from '../../support/refusal.ts';
import { depsAt } from '../deps.ts';

const RP = { id: 'gate.example', origin: 'https://gate.example' };
const MINUTE = 60_000;
const HASH = 'not a hash: nobody signs in with it';

let addresses = 0;
/** An address whose failures are those of one test only. */
const browser = () => ({ ip: `192.0.2.${addresses++}`, userAgent: 'test', replaces: null });

await onEachEngine(store => {
  let clock = NOW;
  const deps = () => depsAt(store.db, () => clock);

  async function newPerson(passwordHash: string | null = HASH): Promise<SignedIn> {
    const operator = {
      id: newId(),
      email: `${newId()}@example.com`,
      role: 'admin' as const,
      createdAt: clock,
    };
    return store.db.transaction({}, async tx => {
      await insertOperator(tx, operator, passwordHash);
      return (await openSignIn(tx, deps(), { ...operator, groups: [] }, browser())).operator;
    });
  }

  async function add(who: SignedIn, passkey: Authenticator, odd: Parameters<Authenticator['make']>[1] = {}) {
    const response = passkey.make(await beginAdding(deps(), who, RP), odd);
    return finishAdding(deps(), who, RP, { name: 'Laptop', response });
  }

  const answer = (passkey: Authenticator, odd: Oddities = {}) =>
    passkey.sign(beginPasskeySignIn(deps(), RP), odd);
  const signIn = (response: SignedChallenge, from = browser()) =>
    finishPasskeySignIn(deps(), RP, response, from);

  async function withPasskey(options: ConstructorParameters<typeof Authenticator>[1] = {}) {
    const who = await newPerson();
    const passkey = new Authenticator(RP.origin, options);
    await add(who, passkey);
    return { who, passkey };
  }

  const code = async (promise: Promise<unknown>) => ((await refusal(promise)) as { code: string }).code;

  test.each(['ES256', 'Ed25519', 'RS256'] as const)('one with %s is added and signs in', async algorithm => {
    const { who, passkey } = await withPasskey({ algorithm });
    const { secret, operator } = await signIn(answer(passkey));
    expect(operator.email).toBe(who.email);
    expect(await recognise(deps(), secret)).toMatchObject({ operatorId: who.operatorId });
    const [kept, ...others] = await listPasskeys(store.db, who.operatorId);
    expect(others).toEqual([]);
    expect(kept).toMatchObject({ id: passkey.id, name: 'Laptop', usedAt: clock, transports: ['internal'] });
    // A replica without any memory of it: everything that is needed is in the store.
    expect((await signIn(answer(passkey))).operator.email).toBe(who.email);
  });

  test('the options ask for a passkey that verifies the person and can be found without an e-mail', async () => {
    const { who, passkey } = await withPasskey();
    const options = await beginAdding(deps(), who, RP);
    expect(options).toMatchObject({
      rp: { id: RP.id },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: [{ id: passkey.id }],
    });
    expect(beginPasskeySignIn(deps(), RP)).toMatchObject({
      rpId: RP.id,
      userVerification: 'required',
      allowCredentials: [],
    });
  });

  test('asking to sign in leaves nothing in the store', async () => {
    const rows = () => store.db.all('SELECT hash FROM passkey_challenges');
    const before = await rows();
    for (let n = 0; n < 20; n++) beginPasskeySignIn(deps(), RP);
    expect(await rows()).toEqual(before);
  });

  const WRONG: [string, Oddities, string][] = [
    ['another origin', { origin: 'https://gate.example.evil' }, 'forbidden'],
    ['a page in a frame of another site', { crossOrigin: true }, 'invalid_input'],
    ['another service’s id', { rpId: 'example' }, 'unauthenticated'],
    ['no verification of the person', { userVerified: false }, 'unauthenticated'],
    ['nobody there', { userPresent: false, userVerified: true }, 'unauthenticated'],
    ['the type of another ceremony', { type: 'webauthn.create' }, 'unauthenticated'],
    ['no handle', { userHandle: null }, 'unauthenticated'],
    ['the handle of somebody else', { userHandle: 'c29tZWJvZHk' }, 'unauthenticated'],
    ['a challenge of somebody else', { challenge: 'x'.repeat(43) }, 'invalid_input'],
    ['no challenge', { challenge: '' }, 'invalid_input'],
  ];
  test.each(WRONG)('a sign-in is refused with %s', async (_, odd, expected) => {
    const { who, passkey } = await withPasskey();
    expect(await code(signIn(answer(passkey, odd)))).toBe(expected);
    expect(await findPasskey(store.db, passkey.id)).toMatchObject({ usedAt: null });
    expect((await signIn(answer(passkey))).operator.email).toBe(who.email);
  });

  test('a changed signature, or data that was not signed, is refused', async () => {
    const { passkey } = await withPasskey();
    const good = answer(passkey);
    const flipped = (text: string, at: number) => {
      const bytes = Buffer.from(text, 'base64url');
      bytes[at] = (bytes[at] as number) ^ 1;
      return bytes.toString('base64url');
    };
    const { signature, authenticatorData } = good.response;
    for (const response of [
      { ...good.response, signature: flipped(signature, 20) },
      { ...good.response, signature: '' },
      { ...good.response, authenticatorData: flipped(authenticatorData, 36) },
      { ...good.response, authenticatorData: authenticatorData.slice(0, 20) },
      { ...good.response, authenticatorData: answer(passkey, { counter: 9 }).response.authenticatorData },
    ]) {
      expect(await code(signIn({ ...good, response }))).toBe('unauthenticated');
    }
    expect(await code(signIn({ ...good, rawId: 'b3RoZXI' }))).toBe('unauthenticated');
    await signIn(good);
  });

  test('nobody signs in with another’s passkey, nor in the name of one that is unknown', async () => {
    const [ann, bob] = [await withPasskey(), await withPasskey()];
    expect(await code(signIn(answer(ann.passkey, { id: bob.passkey.id })))).toBe('unauthenticated');
    expect(await code(signIn(answer(new Authenticator(RP.origin))))).toBe('unauthenticated');
  });

  test('an answer counts once, also when it comes twice at a time', async () => {
    const { passkey } = await withPasskey();
    const once = answer(passkey);
    await signIn(once);
    expect(await code(signIn(once))).toBe('gone');
    const twice = answer(passkey);
    const both = await Promise.allSettled([signIn(twice), signIn(twice)]);
    expect(both.map(each => each.status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('a challenge ends after five minutes, and its row some time later', async () => {
    const { passkey } = await withPasskey();
    const [early, late] = [answer(passkey), answer(passkey)];
    await signIn(early);
    const began = clock;
    try {
      clock = began + 5 * MINUTE;
      expect(await code(signIn(late))).toBe('gone');
      // A replica whose clock is behind still finds the answer used.
      await signIn(answer(passkey));
      clock = began + 4 * MINUTE;
      expect(await code(signIn(early))).toBe('gone');
      clock = began + 16 * MINUTE;
      await signIn(answer(passkey));
      const rows = await store.db.all('SELECT hash FROM passkey_challenges');
      expect(rows.length).toBe(1);
    } finally {
      clock = began + 16 * MINUTE;
    }
  });

  test('a challenge for one thing is none for another', async () => {
    const { who, passkey } = await withPasskey();
    const toAdd = await beginAdding(deps(), who, RP);
    const response = passkey.sign({ challenge: toAdd.challenge, rpId: RP.id });
    expect(await code(signIn(response))).toBe('invalid_input');
    const other = await newPerson();
    const made = new Authenticator(RP.origin).make(toAdd);
    expect(await code(finishAdding(deps(), other, RP, { name: 'x', response: made }))).toBe('invalid_input');
    const { challenge } = beginPasskeySignIn(deps(), RP);
    const forged = new Authenticator(RP.origin).make({ ...toAdd, challenge });
    expect(await code(finishAdding(deps(), who, RP, { name: 'x', response: forged }))).toBe('invalid_input');
  });

  test('an authenticator that counts must count up', async () => {
    const { passkey } = await withPasskey({ counts: true });
    await signIn(answer(passkey));
    await signIn(answer(passkey, { counter: 7 }));
    for (const counter of [7, 6, 0]) {
      expect(await code(signIn(answer(passkey, { counter })))).toBe('unauthenticated');
    }
    await signIn(answer(passkey, { counter: 8 }));
    // Two that were verified against the same count: the store takes only the one that counts further.
    const kept = await findPasskey(store.db, passkey.id);
    if (kept === null) throw new Error('it is gone');
    expect(await notePasskeyUse(store.db, kept, 10, clock)).toBe(true);
    expect(await notePasskeyUse(store.db, kept, 9, clock)).toBe(false);
    expect(await notePasskeyUse(store.db, kept, 0, clock)).toBe(false);
  });

  test('failures are counted for the passkey and the address, and a success forgets them', async () => {
    const { passkey } = await withPasskey();
    const from = browser();
    for (let n = 0; n < 4; n++) {
      expect(await code(signIn(answer(passkey, { userVerified: false }), from))).toBe('unauthenticated');
    }
    await signIn(answer(passkey), from);
    for (let n = 0; n < 5; n++) {
      expect(await code(signIn(answer(passkey, { userVerified: false }), from))).toBe('unauthenticated');
    }
    expect(await code(signIn(answer(passkey), from))).toBe('rate_limited');
    await signIn(answer(passkey));
  });

  const BAD_NEW: [string, Parameters<Authenticator['make']>[1], string][] = [
    ['another origin', { origin: 'https://gate.example.evil' }, 'forbidden'],
    ['another service’s id', { rpId: 'example' }, 'invalid_input'],
    ['no verification of the person', { userVerified: false }, 'invalid_input'],
    ['the type of another ceremony', { type: 'webauthn.get' }, 'invalid_input'],
    ['a certificate, which nobody asked for', { attests: 'fido-u2f' }, 'invalid_input'],
    ['a page in a frame of another site', { crossOrigin: true }, 'invalid_input'],
  ];
  test.each(BAD_NEW)('a passkey is not added with %s', async (_, odd, expected) => {
    const who = await newPerson();
    expect(await code(add(who, new Authenticator(RP.origin), odd))).toBe(expected);
    expect(await listPasskeys(store.db, who.operatorId)).toEqual([]);
  });

  test('one whose key has signed itself is added: some send that without being asked', async () => {
    expect(await add(await newPerson(), new Authenticator(RP.origin), { attests: 'packed' })).toBeTruthy();
  });

  test('what is no passkey at all is refused', async () => {
    const who = await newPerson();
    const { challenge } = await beginAdding(deps(), who, RP);
    const data = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const clientDataJSON = data({ type: 'webauthn.create', challenge, origin: RP.origin });
    for (const response of [
      { clientDataJSON, attestationObject: '' },
      { clientDataJSON, attestationObject: 'oA' },
      { clientDataJSON, attestationObject: '_____w' },
      { clientDataJSON: data(null), attestationObject: 'oA' },
      { clientDataJSON: 'bm90IGpzb24', attestationObject: 'oA' },
    ]) {
      const made: MadePasskey = { id: 'aWQ', rawId: 'aWQ', type: 'public-key', response };
      expect(await code(finishAdding(deps(), who, RP, { name: 'x', response: made }))).toBe('invalid_input');
    }
  });

  test('the same answer does not add a passkey again, not even after its removal', async () => {
    const who = await newPerson();
    const response = new Authenticator(RP.origin).make(await beginAdding(deps(), who, RP));
    const { id } = await finishAdding(deps(), who, RP, { name: 'x', response });
    await removePasskey(deps(), who, id);
    expect(await code(finishAdding(deps(), who, RP, { name: 'x', response }))).toBe('gone');
  });

  test('the id of another’s passkey is taken', async () => {
    const { passkey } = await withPasskey();
    const thief = await newPerson();
    expect(await code(add(thief, passkey))).toBe('conflict');
  });

  test('there are no more than the limit', async () => {
    const who = await newPerson();
    const response = new Authenticator(RP.origin).make(await beginAdding(deps(), who, RP));
    for (let n = 0; n < MAX_PASSKEYS; n++) {
      await add(who, new Authenticator(RP.origin, { algorithm: 'Ed25519' }));
    }
    expect(await code(beginAdding(deps(), who, RP))).toBe('conflict');
    expect(await code(finishAdding(deps(), who, RP, { name: 'x', response }))).toBe('conflict');
  });

  test('one is added only soon after signing in, and not by a sign-in that has ended', async () => {
    const who = await newPerson();
    const begun = await beginAdding(deps(), who, RP);
    const response = new Authenticator(RP.origin).make(begun);
    clock += 15 * MINUTE;
    expect(await code(beginAdding(deps(), who, RP))).toBe('forbidden');
    expect(await code(finishAdding(deps(), who, RP, { name: 'x', response }))).toBe('gone');
    const other = await newPerson();
    const options = await beginAdding(deps(), other, RP);
    await resetOperator(deps(), 'admin', other.operatorId);
    const late = new Authenticator(RP.origin).make(options);
    expect(await code(finishAdding(deps(), other, RP, { name: 'x', response: late }))).toBe('forbidden');
    expect(await listPasskeys(store.db, other.operatorId)).toEqual([]);
  });

  test('they are renamed and removed by their owner only, and the changes are recorded', async () => {
    const [ann, bob] = [await withPasskey(), await withPasskey()];
    expect(await code(renamePasskey(deps(), bob.who, ann.passkey.id, 'Mine'))).toBe('not_found');
    expect(await code(removePasskey(deps(), bob.who, ann.passkey.id))).toBe('not_found');
    expect(await renamePasskey(deps(), ann.who, ann.passkey.id, 'Key')).toMatchObject({ name: 'Key' });
    const pending = answer(ann.passkey);
    await removePasskey(deps(), ann.who, ann.passkey.id);
    expect(await code(signIn(pending))).toBe('unauthenticated');
    const changes = await listChanges(store.db, 100, 'z');
    const own = changes.filter(each => each.target === ann.who.operatorId);
    expect(own.map(each => [each.action, each.actor, each.detail])).toEqual([
      ['passkey.remove', `operator:${ann.who.email}`, { name: 'Key' }],
      ['passkey.rename', `operator:${ann.who.email}`, { from: 'Laptop', to: 'Key' }],
      ['passkey.add', `operator:${ann.who.email}`, { name: 'Laptop' }],
    ]);
    expect((await signIn(answer(bob.passkey))).operator.email).toBe(bob.who.email);
  });

  test('they end with a reset, and with their owner', async () => {
    for (const end of [resetOperator, deleteOperator]) {
      await newPerson();
      const { who, passkey } = await withPasskey();
      const pending = answer(passkey);
      await end(deps(), 'admin', who.operatorId);
      expect(await code(signIn(pending))).toBe('unauthenticated');
      expect(await listPasskeys(store.db, who.operatorId)).toEqual([]);
    }
  });

  test('whose role a provider decides signs in there only, until an admin sets the role', async () => {
    const { who, passkey } = await withPasskey();
    const account = { issuer: 'https://id.example', subject: who.operatorId };
    await insertIdentity(store.db, { ...account, operatorId: who.operatorId, decidesRole: true }, clock);
    expect(await code(signIn(answer(passkey)))).toBe('forbidden');
    expect(await passkeysSignIn(deps(), who)).toBe(false);
    const challenge = 'c2lnbmVk';
    const response = passkey.sign({ challenge, rpId: RP.id });
    await verifyAssertion(deps(), { challenge, response, operatorId: who.operatorId, rp: RP });
    await endRoleByClaim(store.db, who.operatorId);
    expect(await passkeysSignIn(deps(), who)).toBe(true);
    expect((await signIn(answer(passkey))).operator.email).toBe(who.email);
  });

  test('whoever has nothing else is active by a passkey, and keeps the last one', async () => {
    const who = await newPerson(null);
    expect(await findOperator(store.db, who.operatorId)).toMatchObject({ status: 'invited' });
    const first = await add(who, new Authenticator(RP.origin));
    const { id } = await add(who, new Authenticator(RP.origin));
    expect(await findOperator(store.db, who.operatorId)).toMatchObject({ status: 'active' });
    await removePasskey(deps(), who, first.id);
    expect(await code(removePasskey(deps(), who, id))).toBe('conflict');
    expect((await listPasskeys(store.db, who.operatorId)).map(each => each.id)).toEqual([id]);
  });

  test('only public things are stored', async () => {
    const { who, passkey } = await withPasskey();
    await signIn(answer(passkey));
    const [row] = await store.db.all('SELECT * FROM passkeys WHERE operator_id = $1', [who.operatorId]);
    expect(Object.keys(row ?? {}).sort()).toEqual(
      ['id', 'operator_id', 'name', 'public_key', 'counter', 'transports', 'created_at', 'used_at'].sort(),
    );
    expect(await insertPasskey(store.db, { ...(await kept(passkey.id)), name: 'again' })).toBe(false);
  });
  const kept = async (id: string) => {
    const found = await findPasskey(store.db, id);
    if (found === null) throw new Error('it is gone');
    return found;
  };

  describe('a signature under something else', () => {
    const challenge = Buffer.from('what is signed').toString('base64url');
    const verify = (who: SignedIn, response: SignedChallenge, signed = challenge) =>
      verifyAssertion(deps(), { challenge: signed, response, operatorId: who.operatorId, rp: RP });

    test('is accepted from the person’s own passkey, and names it', async () => {
      const { who, passkey } = await withPasskey({ counts: true });
      const { publicKey } = await kept(passkey.id);
      const response = passkey.sign({ challenge, rpId: RP.id }, { userHandle: null });
      expect(await verify(who, response)).toEqual({ credentialId: passkey.id, publicKey });
      expect(await kept(passkey.id)).toMatchObject({ counter: 2, usedAt: clock });
      expect(await code(verify(who, response))).toBe('forbidden');
    });

    test('is refused under another text, from another person, and without verification', async () => {
      const [ann, bob] = [await withPasskey(), await withPasskey()];
      const sign = (odd: Oddities = {}) => ann.passkey.sign({ challenge, rpId: RP.id }, odd);
      expect(await code(verify(ann.who, sign(), 'b3RoZXI'))).toBe('forbidden');
      expect(await code(verify(bob.who, sign()))).toBe('forbidden');
      expect(await code(verify(ann.who, sign({ id: bob.passkey.id })))).toBe('forbidden');
      expect(await code(verify(ann.who, sign({ userVerified: false })))).toBe('forbidden');
      expect(await code(verify(ann.who, sign({ origin: 'http://localhost' })))).toBe('forbidden');
      await verify(ann.who, sign());
    });
  });
});

test.each([
  ['https://gate.example', 'http://x', { id: 'gate.example', origin: 'https://gate.example' }],
  ['https://gate.example:8443/path', 'http://x', { id: 'gate.example', origin: 'https://gate.example:8443' }],
  ['http://localhost:8787', 'http://x', { id: 'localhost', origin: 'http://localhost:8787' }],
  [null, 'http://localhost:8787/a', { id: 'localhost', origin: 'http://localhost:8787' }],
  [null, 'http://gate.localhost:1/', { id: 'gate.localhost', origin: 'http://gate.localhost:1' }],
  [null, 'http://gate1.example/', null],
  ['http://gate.example', 'http://localhost/', null],
  ['https://192.0.2.1', 'http://localhost/', null],
  ['https://[2001:db8::1]', 'http://localhost/', null],
  [null, 'http://127.0.0.1:8787/', null],
  ['https://gate1', 'http://x', { id: 'gate1', origin: 'https://gate1' }],
])('the address %s (asked at %s) has passkeys for %o', (publicUrl, url, expected) => {
  expect(rpOf({ publicUrl }, { url })).toEqual(expected);
});
