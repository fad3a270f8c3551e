// Credentials: their form, and every way in which one is refused. Missing, malformed, unknown, revoked and
// expired ones look the same from outside.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mintToken } from '../../src/guard/secrets.ts';
import { sql } from '../support/faults.ts';
import { ADMIN_TOKEN, type Reply, startService, type TestService } from '../support/service.ts';
import { expectNoVerdict, expectProblem } from './problem.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const ALLOW = [{ tool: '*', action: 'allow' as const }];
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** CRC32 (IEEE) in six base62 digits, written apart from the product's own. */
function checksum(text: string): string {
  let crc = 0xffff_ffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1;
  }
  let rest = (crc ^ 0xffff_ffff) >>> 0;
  let digits = '';
  for (let n = 0; n < 6; n++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

function expectToken(token: string, prefix: string): void {
  expect(token).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{49}$`));
  expect(token.slice(-6)).toBe(checksum(token.slice(0, -6)));
}

describe('the form of a token', () => {
  test('is its prefix, 43 random characters and a CRC32 of what precedes', async () => {
    const { key } = await service.newKey(ALLOW);
    expectToken(key, 'tg_key_');
    expectToken((await service.json('POST', '/v1/sessions', key)).body.token, 'tg_ses_');
    for (const kind of ['key', 'session', 'approval', 'admin'] as const) {
      const { token, prefix } = mintToken(kind);
      expectToken(token, prefix.slice(0, 7));
      expect(token).toStartWith(prefix);
      expect(prefix).toHaveLength(13);
    }
  });

  test('never repeats', () => {
    expect(new Set(Array.from({ length: 1000 }, () => mintToken('key').token)).size).toBe(1000);
  });
});

function refused(reply: Reply): void {
  expectProblem(reply, 401, 'unauthenticated');
  expectNoVerdict(reply);
}

const check = (authorization: string | null) =>
  service.request('POST', '/v1/check', {
    headers: {
      'Content-Type': 'application/json',
      ...(authorization === null ? {} : { Authorization: authorization }),
    },
    body: '{"serverName":"s","toolName":"t"}',
  });

describe('401', () => {
  test('no credential, and none that can be read', async () => {
    const { key } = await service.newKey(ALLOW);
    const wrong = [
      null,
      '',
      'Bearer',
      'Bearer ',
      key,
      `Basic ${key}`,
      `Bearer ${key} x`,
      `Bearer ${key},${key}`,
      `Token ${key}`,
    ];
    for (const authorization of wrong) refused(await check(authorization));
    expect((await check(`bearer ${key}`)).status).toBe(200);
  });

  test('malformed tokens: another length, another checksum, another prefix', async () => {
    const { key } = await service.newKey(ALLOW);
    const flipped = key.slice(0, 20) + (key[20] === 'A' ? 'B' : 'A') + key.slice(21);
    for (const token of [
      'x',
      key.slice(0, -1),
      `${key}0`,
      flipped,
      key.replace('tg_key_', 'tg_ses_'),
      key.toUpperCase(),
    ]) {
      refused(await check(`Bearer ${token}`));
    }
  });

  test('well-formed tokens that nobody was given, and tokens of other kinds', async () => {
    for (const kind of ['key', 'session', 'approval', 'admin'] as const) {
      refused(await check(`Bearer ${mintToken(kind).token}`));
    }
    refused(await check(`Bearer ${ADMIN_TOKEN}`));
  });

  test('a key in the query or in a cookie is none', async () => {
    const { key } = await service.newKey(ALLOW);
    const init = { headers: { 'Content-Type': 'application/json', Cookie: `key=${key}` }, body: '{}' };
    refused(await service.request('POST', `/v1/check?key=${key}&access_token=${key}`, init));
  });

  test('unknown and dead ones look the same', async () => {
    const { key, keyId } = await service.newKey(ALLOW);
    const session = (await service.json('POST', '/v1/sessions', key)).body.token as string;
    await service.admin('DELETE', `/keys/${keyId}`);
    const tokens = [mintToken('key').token, mintToken('session').token, key, session];
    const bodies = await Promise.all(tokens.map(token => check(`Bearer ${token}`)));
    expect(new Set(bodies.map(reply => JSON.stringify({ ...reply.body, requestId: '' }))).size).toBe(1);
  });

  test('a revoked key and its sessions, at once, used before or not', async () => {
    const { key, keyId } = await service.newKey(ALLOW);
    const mint = async () => (await service.json('POST', '/v1/sessions', key)).body.token as string;
    const [used, unused] = [await mint(), await mint()];
    for (const token of [key, used]) expect((await service.check(token, 's', 't')).status).toBe(200);
    expect((await service.admin('DELETE', `/keys/${keyId}`)).status).toBe(204);
    for (const token of [key, used, unused]) refused(await service.check(token, 's', 't'));
    refused(await service.json('GET', '/v1/sessions', key));
    refused(await service.json('POST', '/v1/sessions', key));
  });

  test('an expired key and its sessions, as soon as expiresAt is in the past', async () => {
    const { key, keyId } = await service.newKey(ALLOW);
    const session = (await service.json('POST', '/v1/sessions', key)).body.token;
    for (const token of [key, session]) expect((await service.check(token, 's', 't')).status).toBe(200);
    const past = new Date(Date.now() - 1000).toISOString();
    expect((await service.admin('PATCH', `/keys/${keyId}`, { expiresAt: past })).status).toBe(200);
    for (const token of [key, session]) refused(await service.check(token, 's', 't'));
    refused(await service.json('POST', '/v1/sessions', key));
    await service.admin('PATCH', `/keys/${keyId}`, { expiresAt: null });
    expect((await service.check(key, 's', 't')).status).toBe(200);
  });

  test('an expired session, used before or not', async () => {
    const { key } = await service.newKey(ALLOW);
    const [used, unused] = [
      (await service.json('POST', '/v1/sessions', key)).body,
      (await service.json('POST', '/v1/sessions', key)).body,
    ];
    expect((await service.check(used.token, 's', 't')).status).toBe(200);
    const both = `'${used.id}', '${unused.id}'`;
    await sql(service.databaseUrl, `UPDATE sessions SET expires_at = ${Date.now()} WHERE id IN (${both})`);
    for (const { token } of [used, unused]) refused(await service.check(token, 's', 't'));
    expect((await service.json('GET', '/v1/sessions', key)).body.sessions).toEqual([]);
  });

  test('the administration without its token, or with an agent’s dead credential', async () => {
    expectProblem(await service.json('GET', '/admin/v1/keys', null), 401, 'unauthenticated');
    expectProblem(await service.json('GET', '/admin/v1/keys', `${ADMIN_TOKEN}x`), 401, 'unauthenticated');
    expectProblem(
      await service.json('GET', '/admin/v1/keys', mintToken('admin').token),
      401,
      'unauthenticated',
    );
    const { key, keyId } = await service.newKey(ALLOW);
    await service.admin('DELETE', `/keys/${keyId}`);
    expectProblem(await service.json('GET', '/admin/v1/keys', key), 401, 'unauthenticated');
  });
});

describe('403', () => {
  test('a session token where only a key may act', async () => {
    const { key } = await service.newKey(ALLOW);
    const { token, id } = (await service.json('POST', '/v1/sessions', key)).body;
    expectProblem(await service.json('POST', '/v1/sessions', token), 403, 'forbidden');
    expectProblem(await service.json('GET', '/v1/sessions', token), 403, 'forbidden');
    expectProblem(await service.json('DELETE', `/v1/sessions/${id}`, token), 403, 'forbidden');
    expect((await service.json('GET', '/v1/sessions', key)).body.sessions).toHaveLength(1);
  });

  test('an agent’s credential in the administration', async () => {
    const { key } = await service.newKey(ALLOW);
    const { token } = (await service.json('POST', '/v1/sessions', key)).body;
    for (const credential of [key, token]) {
      expectProblem(await service.json('GET', '/admin/v1/keys', credential), 403, 'forbidden');
      const rules = { name: 'mine', rules: ALLOW };
      expectProblem(await service.json('POST', '/admin/v1/policies', credential, rules), 403, 'forbidden');
    }
  });
});
