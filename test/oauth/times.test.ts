// What ends with time, on a clock that the test moves: codes, forms, access tokens, the two minutes in which a refresh token
// may be repeated, and connections that are not used or are old.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { forgetTokens } from '../../src/guard/people/oauth-tokens.ts';
import { insertCode, insertOAuthToken } from '../../src/store/oauth.ts';
import { type ClockedService, startClocked } from '../approvals/clocked.ts';
import { depsAt } from '../guard/deps.ts';
import type { Person } from '../operators/people.ts';
import { NOW, onEachEngine } from '../store/stores.ts';
import { freePort } from '../support/port.ts';
import {
  allowed,
  asking,
  authorize,
  codeFor,
  connectable,
  connected,
  consent,
  exchange,
  fieldsOf,
  form,
  from,
  newClient,
  refresh,
} from './connect.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let service: ClockedService;
let person: Person;
let keyId: string;
let clientId: string;
beforeAll(async () => {
  const port = await freePort();
  service = await startClocked({
    TOOLGATE_PORT: String(port),
    TOOLGATE_PUBLIC_URL: `http://127.0.0.1:${port}`,
    TOOLGATE_OAUTH: 'on',
    TOOLGATE_TRUSTED_PROXIES: '127.0.0.1',
  });
  ({ person, keyId } = await connectable(service));
  clientId = await newClient(service);
});
afterAll(() => service.close());

const latestSession = async () =>
  (await service.admin('GET', `/sessions?keyId=${keyId}&limit=1`)).body.sessions[0];

test('an access token ends after 15 minutes, although it is remembered', async () => {
  const { access_token: token } = await connected(service, person, clientId);
  service.advance(15 * MINUTE - 1);
  expect(await allowed(service, token)).toBe(true);
  service.advance(1);
  expect(await allowed(service, token)).toBe(false);
});

test('a code ends after a minute, and the form of the page after an hour', async () => {
  const code = await codeFor(service, person, clientId);
  service.advance(MINUTE);
  expect((await exchange(service, clientId, code)).body.error).toBe('invalid_grant');
  const page = await authorize(service, asking(clientId), person.cookie);
  service.advance(60 * MINUTE);
  expect((await consent(service, person.cookie, { ...fieldsOf(page), answer: 'connect' })).status).toBe(403);
});

test('a refresh token gives the same successor for two minutes; after them it ends everything', async () => {
  const tokens = await connected(service, person, clientId);
  const first = (await refresh(service, clientId, tokens.refresh_token)).body;
  service.advance(2 * MINUTE);
  const again = (await refresh(service, clientId, tokens.refresh_token)).body;
  expect([again.refresh_token, again.access_token]).toEqual([first.refresh_token, first.access_token]);
  expect(again.expires_in).toBe(13 * 60);
  service.advance(1);
  expect((await refresh(service, clientId, tokens.refresh_token)).body.error).toBe('invalid_grant');
  expect(await allowed(service, first.access_token)).toBe(false);
  expect((await refresh(service, clientId, first.refresh_token)).body.error).toBe('invalid_grant');
  expect((await latestSession()).revokedBecause).toContain('stolen');
  const [change] = (await service.admin('GET', '/changes?limit=1')).body.changes;
  expect(change).toMatchObject({ action: 'session.revoke', actor: 'system' });
  expect(change.detail.because).toContain('stolen');
});

test('only failures at the token endpoint are limited for an address', async () => {
  const headers = from();
  const fail = async () =>
    (await form(service, '/oauth/token', { grant_type: 'x', client_id: 'x' }, headers)).status;
  const statuses: number[] = [];
  for (let count = 0; count < 101; count++) statuses.push(await fail());
  expect([new Set(statuses.slice(0, 100)), statuses.at(-1)]).toEqual([new Set([400]), 429]);
  service.advance(MINUTE);
  expect(await fail()).toBe(400);
});

test('a connection ends after 14 days without use, and after 90 in any case', async () => {
  const unused = await connected(service, person, clientId);
  let { refresh_token: token } = await connected(service, person, clientId);
  service.advance(14 * DAY - 1);
  token = (await refresh(service, clientId, token)).body.refresh_token;
  const { createdAt, lastUsedAt } = await latestSession();
  expect(Date.parse(lastUsedAt) - Date.parse(createdAt)).toBe(14 * DAY - 1);
  service.advance(1);
  expect((await refresh(service, clientId, unused.refresh_token)).body.error).toBe('invalid_grant');
  for (let days = 14; days < 84; days += 7) {
    service.advance(7 * DAY);
    const { status, body } = await refresh(service, clientId, token);
    expect([days, status]).toEqual([days, 200]);
    token = body.refresh_token;
  }
  service.advance(6 * DAY - 5 * MINUTE);
  const last = (await refresh(service, clientId, token)).body;
  expect(last.expires_in).toBe(5 * 60);
  service.advance(5 * MINUTE);
  expect(await allowed(service, last.access_token)).toBe(false);
  expect((await refresh(service, clientId, last.refresh_token)).body.error).toBe('invalid_grant');
});

await onEachEngine(store => {
  test('what has ended is removed, a little at a time', async () => {
    const code = {
      clientId: 'c',
      clientName: 'c',
      redirectUri: 'r',
      personId: 'p',
      keyId: 'k',
      challenge: 'x',
      sessionId: null,
    };
    await store.db.transaction({}, async tx => {
      await insertCode(tx, { ...code, expiresAt: NOW - DAY }, 'old');
      await insertCode(tx, { ...code, expiresAt: NOW - DAY + 1 }, 'used lately');
      for (let at = 0; at < 501; at++)
        await insertOAuthToken(
          tx,
          { sessionId: 's', kind: 'refresh', createdAt: 0, expiresAt: at === 500 ? NOW + 1 : NOW },
          `token ${at}`,
        );
    });
    const deps = depsAt(store.db);
    const chore = forgetTokens();
    expect([await chore(deps), await chore(deps), await chore(deps)]).toEqual([true, false, false]);
    const left = async (table: string) =>
      (await store.db.all<{ hash: string }>(`SELECT hash FROM ${table}`)).map(({ hash }) => hash);
    expect([await left('oauth_codes'), await left('oauth_tokens')]).toEqual([['used lately'], ['token 500']]);
  });
});
