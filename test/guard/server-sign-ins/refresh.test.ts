// Sign-ins to a real authorization server that rotates refresh tokens, on both engines: they are renewed in time, by one
// replica, with one request; a refresh token is never sent twice; and what ends is one sign-in alone.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ServerSignIns, SignInNeeded } from '../../../src/guard/server-sign-ins/server-sign-ins.ts';
import { endLeases } from '../../../src/store/leases.ts';
import { findServerSignIn } from '../../../src/store/server-sign-ins.ts';
import { NOW, onEachEngine } from '../../store/stores.ts';
import { until } from '../../support/faults.ts';
import { OAuthUpstream } from '../../support/oauth-upstream.ts';
import { refusal } from '../../support/refusal.ts';
import { depsAt } from '../deps.ts';
import { HERE, newOperator, newTool, RULES, signIn } from './signing-in.ts';

let upstream: OAuthUpstream;
beforeAll(async () => {
  upstream = await OAuthUpstream.start();
});
afterAll(() => upstream.close());

const MINUTE = 60_000;

await onEachEngine(store => {
  let now = NOW;
  const replica = () => {
    const signIns = new ServerSignIns(
      depsAt(store.db, () => now),
      RULES,
    );
    signIns.servedAt(HERE);
    return signIns;
  };
  const deps = () => depsAt(store.db, () => now);
  /** The requests that came since. */
  const counting = () => {
    const from = upstream.refreshes.length;
    return () => upstream.refreshes.slice(from);
  };

  test('many callers and two replicas at once send one refresh, and go on with what came of it', async () => {
    const [here, there] = [replica(), replica()];
    const tool = await newTool(deps(), upstream.url);
    await signIn(here, tool);
    const first = await here.authorization(tool, null);
    expect(await there.authorization(tool, 'whoever calls')).toBe(first);
    now += 3600_000 - 59_000;
    const refreshes = counting();
    const got = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? here : there).authorization(tool, null)),
    );
    expect(refreshes().map(each => each.status)).toEqual([200]);
    const fresh = await there.authorization(tool, null);
    expect(fresh).not.toBe(first);
    // While one replica refreshes, the others use the token that has not ended yet.
    for (const each of got) expect([first, fresh]).toContain(each);
    now += 3600_000 + MINUTE;
    const ended = await Promise.all([here, there, here, there].map(each => each.authorization(tool, null)));
    expect(new Set(ended).size).toBe(1);
    expect(refreshes().map(each => each.status)).toEqual([200, 200]);
    expect(refreshes()[0]?.refreshToken).not.toBe(refreshes()[1]?.refreshToken);
    expect(refreshes().map(each => each.resource)).toEqual([upstream.url, upstream.url]);
    expect(await here.stateOf(tool, null)).toEqual({
      state: 'signed_in',
      as: 'ann@server.example',
      until: null,
      error: null,
    });
  });

  test('a replica that dies in the middle leaves a sign-in that holds until its token ends, and no second use', async () => {
    const [dies, lives] = [replica(), replica()];
    const tool = await newTool(deps(), upstream.url);
    await signIn(dies, tool);
    const first = await lives.authorization(tool, null);
    now += 3600_000 - 30_000;
    const held = Promise.withResolvers<void>();
    upstream.hold = held.promise;
    const refreshes = counting();
    // Its answer never comes: as far as the store is concerned, this replica is dead.
    const lost = dies.authorization(tool, null).catch(error => error);
    await until('the refresh token was sent', () => refreshes()[0]?.status === 200);
    expect(await lives.authorization(tool, null)).toBe(first);
    now += 20_000;
    expect(await lives.authorization(tool, null)).toBe(first);
    expect((await lives.stateOf(tool, null)).until).not.toBeNull();
    // The server does not take the old token any more, and there is no other one.
    const refuse = { status: 401 as const, wwwAuthenticate: null };
    expect(await lives.refused(tool, null, first, refuse)).toBe('sign-in');
    now += 11_000;
    expect(await refusal(lives.authorization(tool, null))).toBeInstanceOf(SignInNeeded);
    expect(await lives.stateOf(tool, null)).toMatchObject({
      state: 'ended',
      error: 'Renewing this sign-in was interrupted. Sign in again.',
    });
    expect(refreshes().length).toBe(1);
    upstream.hold = null;
    // Somebody has signed in again before the answer came after all: it must not replace the new tokens.
    await signIn(lives, tool);
    const again = await lives.authorization(tool, null);
    held.resolve();
    await lost;
    expect(await lives.authorization(tool, null)).toBe(again);
    expect(refreshes().length).toBe(1);
  });

  test('a process that has a store for itself need not wait for the lease of the one before', async () => {
    const signIns = replica();
    const tool = await newTool(deps(), upstream.url);
    await signIn(signIns, tool);
    const held = Promise.withResolvers<void>();
    upstream.hold = held.promise;
    now += 3600_000;
    const refreshes = counting();
    const lost = signIns.authorization(tool, null).catch(error => error);
    await until('the refresh token was sent', () => refreshes()[0]?.status === 200);
    await store.db.transaction({}, endLeases);
    expect(await refusal(replica().authorization(tool, null))).toBeInstanceOf(SignInNeeded);
    upstream.hold = null;
    held.resolve();
    await lost;
    expect(refreshes().length).toBe(1);
  });

  test('invalid_grant ends that sign-in alone', async () => {
    const signIns = replica();
    const [ann, bob] = [await newOperator(deps()), await newOperator(deps())];
    const tool = await newTool(deps(), upstream.url, { as: 'person' });
    expect(await refusal(signIns.authorization(tool, null))).toBeInstanceOf(SignInNeeded);
    await signIn(signIns, tool, { personId: ann, login: 'ann' });
    expect(await refusal(signIns.authorization(tool, bob))).toMatchObject({ personId: bob });
    await signIn(signIns, tool, { personId: bob, login: 'bob' });
    const [forAnn, forBob] = [await signIns.authorization(tool, ann), await signIns.authorization(tool, bob)];
    expect(forAnn).not.toBe(forBob);
    // Ann's refresh token is used behind our back, which ends what came of her sign-in at the server.
    const row = await findServerSignIn(store.db, tool.id, ann);
    const tokens = JSON.parse(
      deps().vault.decrypt(row?.tokensEncrypted ?? '', `server sign-in ${tool.id} ${ann}`),
    );
    for (const _ of [1, 2]) {
      await fetch(tokens.server.token_endpoint, {
        method: 'POST',
        headers: { Authorization: `Basic ${btoa(`${tokens.client.id}:${tokens.client.secret}`)}` },
        body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: tokens.refresh }),
      });
    }
    now += 3600_000;
    expect(await refusal(signIns.authorization(tool, ann))).toBeInstanceOf(SignInNeeded);
    expect(await signIns.stateOf(tool, ann)).toMatchObject({
      state: 'ended',
      error: 'The server no longer accepts this sign-in. Sign in again.',
    });
    expect((await findServerSignIn(store.db, tool.id, ann))?.tokensEncrypted).toBeNull();
    expect(await signIns.authorization(tool, bob)).toStartWith('Bearer ');
    expect(await signIns.stateOf(tool, bob)).toMatchObject({ state: 'signed_in', as: 'bob@server.example' });
  });

  test('a refresh that may have been sent is not tried again; one that cannot have been sent is', async () => {
    const signIns = replica();
    const tool = await newTool(deps(), upstream.url);
    await signIn(signIns, tool);
    const first = await signIns.authorization(tool, null);
    now += 3600_000 - 10_000;
    upstream.failWith = 502;
    expect(await signIns.authorization(tool, null)).toBe(first);
    expect(await signIns.stateOf(tool, null)).toMatchObject({ state: 'signed_in' });
    upstream.failWith = null;
    const refreshes = counting();
    now += 20_000;
    expect(await refusal(signIns.authorization(tool, null))).toBeInstanceOf(SignInNeeded);
    expect(refreshes()).toEqual([]);

    const gone = await OAuthUpstream.start();
    const other = await newTool(deps(), gone.url);
    await signIn(signIns, other);
    await gone.close();
    now += 3600_000;
    for (const _ of [1, 2]) {
      expect(await refusal(signIns.authorization(other, null))).toMatchObject({ code: 'not_ready' });
      expect((await findServerSignIn(store.db, other.id, ''))?.refreshing).toBe(0);
    }
    expect(await signIns.stateOf(other, null)).toMatchObject({ state: 'signed_in' });
  });

  test('a header that the server refuses is renewed once, and then a sign-in is needed', async () => {
    const signIns = replica();
    const tool = await newTool(deps(), upstream.url);
    await signIn(signIns, tool);
    const refuse = { status: 401 as const, wwwAuthenticate: 'Bearer error="invalid_token"' };
    now += 5 * MINUTE;
    const first = await signIns.authorization(tool, null);
    const refreshes = counting();
    const both = await Promise.all([1, 2].map(() => signIns.refused(tool, null, first, refuse)));
    expect(both).toEqual(['again', 'again']);
    expect(await signIns.refused(tool, null, first, refuse)).toBe('again');
    expect(refreshes().length).toBe(1);
    const second = await signIns.authorization(tool, null);
    expect(second).not.toBe(first);
    expect(await signIns.refused(tool, null, second, refuse)).toBe('sign-in');
    expect(refreshes().length).toBe(1);
    expect(await refusal(signIns.authorization(tool, null))).toBeInstanceOf(SignInNeeded);
  });

  test('a header that is refused while another replica renews it waits for that', async () => {
    const [here, there] = [replica(), replica()];
    const tool = await newTool(deps(), upstream.url);
    await signIn(here, tool);
    now += 3600_000 - 30_000;
    const held = Promise.withResolvers<void>();
    upstream.hold = held.promise;
    const refreshes = counting();
    const renewed = here.authorization(tool, null);
    await until('the refresh token was sent', () => refreshes()[0]?.status === 200);
    upstream.hold = null;
    const old = await there.authorization(tool, null);
    const refused = there.refused(tool, null, old, { status: 401, wwwAuthenticate: null });
    held.resolve();
    expect(await refused).toBe('again');
    expect(await there.authorization(tool, null)).toBe(await renewed);
    expect(refreshes().length).toBe(1);
  });

  test('repeating a call makes no more tickets', async () => {
    const signIns = replica();
    const [ann, bob] = [await newOperator(deps()), await newOperator(deps())];
    const tool = await newTool(deps(), upstream.url, { as: 'person' });
    const tickets = [ann, ann, bob].map(each => signIns.ticket(tool, each));
    const [a, b, c] = await Promise.all(tickets);
    expect([a === b, a === c]).toEqual([true, false]);
    const secret = (a ?? '').split('/').at(-1) ?? '';
    expect(await signIns.ticketFor(secret)).toMatchObject({ personId: ann, tool: { id: tool.id } });
    now += 120 * MINUTE;
    expect(await signIns.ticketFor(secret)).toBeNull();
    expect(await signIns.ticket(tool, ann)).not.toBe(a as string);
    expect(await store.db.all('SELECT hash FROM server_tickets WHERE tool_id = $1', [tool.id])).toHaveLength(
      1,
    );
  });
});
