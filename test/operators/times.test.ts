// What ends by itself, on a clock that the test moves: sign-ins, invitations, the throttle, the way back. And
// the cookie behind https, which only a service started here can have.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createLog } from '../../src/log.ts';
import { start } from '../../src/main.ts';
import { loadConfig } from '../../src/settings/config.ts';
import { ClockedService, startClocked } from '../approvals/clocked.ts';
import { ASK_ALL } from '../approvals/gate.ts';
import { expectProblem } from '../http/problem.ts';
import { newDataDir, until } from '../support/faults.ts';
import { freePort } from '../support/port.ts';
import { Receiver } from '../support/receiver.ts';
import { ADMIN_TOKEN } from '../support/service.ts';
import { cookieOf, invite, join, newPerson, OWN, PASSWORD, send, signedIn, signIn } from './people.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('as time goes by', () => {
  let service: ClockedService;
  let inbox: Receiver;
  beforeAll(async () => {
    inbox = await Receiver.start();
    const env = { TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32', TOOLGATE_NOTIFY_URL: inbox.url };
    service = await startClocked(env);
  });
  afterAll(async () => {
    await service.close();
    await inbox.close();
  });

  const status = async (cookie: string) => (await send(service, 'GET', '/admin/v1/me', { cookie })).status;

  test('a sign-in ends after 12 hours without use', async () => {
    const { cookie } = await newPerson(service, 'viewer');
    service.advance(12 * HOUR - 1);
    expect(await status(cookie)).toBe(200);
    service.advance(12 * HOUR - 1);
    expect(await status(cookie)).toBe(200);
    service.advance(12 * HOUR);
    expect(await status(cookie)).toBe(401);
  });

  test('a sign-in ends after 7 days, however much it is used', async () => {
    const { cookie } = await newPerson(service, 'viewer');
    for (let hour = 6; hour < 7 * 24; hour += 6) {
      service.advance(6 * HOUR);
      expect(await status(cookie)).toBe(200);
    }
    service.advance(6 * HOUR);
    expect(await status(cookie)).toBe(401);
  });

  test('an ended sign-in is listed no more', async () => {
    const { email } = await newPerson(service, 'viewer');
    service.advance(13 * HOUR);
    const cookie = await signedIn(service, email);
    const { body } = await send(service, 'GET', '/admin/v1/me/sign-ins', { cookie });
    expect(body.signIns).toHaveLength(1);
  });

  test('an invitation ends after 7 days', async () => {
    const early = await invite(service, 'early@example.com', 'viewer');
    const late = await invite(service, 'late@example.com', 'viewer');
    service.advance(7 * 24 * HOUR - 1);
    await join(service, early.token);
    service.advance(1);
    const body = { token: late.token, password: PASSWORD };
    expectProblem(await service.json('POST', '/admin/v1/join', null, body), 410, 'gone');
    expect((await service.request('GET', `/dashboard/join?token=${late.token}`)).status).toBe(410);
  });

  test('the way back from a sign-in is kept for 15 minutes', async () => {
    const { email } = await newPerson(service, 'approver');
    const { key } = await service.newKey(ASK_ALL, { requireSignInToApprove: true });
    await service.check(key, 'prod', 'deploy');
    await until('the link', () => inbox.arrivals.length > 0);
    const link = inbox.arrivals[0]?.json.approveUrl.replace(/^http:\/\/[^/]+/, '') as string;
    for (const [waited, target] of [
      [15 * MINUTE - 1, link],
      [15 * MINUTE, '/dashboard'],
    ] as const) {
      const away = (await service.request('GET', link)).headers.get('location') ?? '';
      const next = new URL(away, service.url).searchParams.get('continue') ?? '';
      service.advance(waited);
      const back = await service.request('POST', '/dashboard/sign-in', {
        headers: { ...OWN, 'Content-Type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ email, password: PASSWORD, continue: next }).toString(),
      });
      expect([back.status, back.headers.get('location')]).toEqual([303, target]);
    }
  });

  test('the throttle opens when the failures are 5 minutes old, as Retry-After says', async () => {
    const { email } = await newPerson(service, 'viewer');
    for (let n = 0; n < 5; n++) {
      expect((await signIn(service, email, 'wrong')).status).toBe(401);
      service.advance(MINUTE / 2);
    }
    const closed = await signIn(service, email);
    expectProblem(closed, 429, 'rate_limited');
    const wait = Number(closed.headers.get('retry-after'));
    expect(wait).toBe(150);
    service.advance(wait * 1000 - 1);
    expect((await signIn(service, email)).status).toBe(429);
    service.advance(1);
    expect((await signIn(service, email)).status).toBe(200);
  });
});

test('behind https the cookie is bound to the host, and the public address counts as ours', async () => {
  const port = await freePort();
  const dataDir = newDataDir();
  const env = {
    TOOLGATE_PORT: String(port),
    TOOLGATE_PUBLIC_URL: 'https://gate.example',
    TOOLGATE_DATA_DIR: dataDir,
    TOOLGATE_ADMIN_TOKEN: ADMIN_TOKEN,
  };
  const running = await start(loadConfig(env, dataDir).config, {
    readConfig: () => loadConfig(env, dataDir).config,
    log: createLog('silent', () => {}),
    onFatal: () => {},
    print: async () => {},
  });
  const service = new ClockedService(`http://127.0.0.1:${port}`, dataDir, { ahead: 0 }, running.stop);
  try {
    const made = await service.admin('POST', '/operators', { email: 'ada@example.com', role: 'admin' });
    expect(made.body.inviteUrl).toStartWith('https://gate.example/dashboard/join?token=');
    await join(service, new URL(made.body.inviteUrl).searchParams.get('token') ?? '');
    const headers = { Origin: 'https://gate.example' };
    const reply = await signIn(service, 'ada@example.com', PASSWORD, { headers });
    expect(reply.headers.get('set-cookie')).toMatch(
      /^__Host-toolgate=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax; Secure$/,
    );
    const cookie = cookieOf(reply);
    const body = { name: 'p', rules: [] };
    expect((await send(service, 'POST', '/admin/v1/policies', { cookie, headers }, body)).status).toBe(201);
    // A page of plain http, which anybody on the network could make, is none of ours.
    const insecure = { cookie, headers: { Origin: 'http://gate.example', Host: 'gate.example' } };
    expect((await send(service, 'POST', '/admin/v1/policies', insecure, body)).status).toBe(403);
    // The name for plain http, which anybody on the network could set, is not taken here.
    const plain = cookie.replace('__Host-toolgate', 'toolgate_session');
    expect((await send(service, 'GET', '/admin/v1/me', { cookie: plain })).status).toBe(401);
  } finally {
    await service.close();
  }
});
