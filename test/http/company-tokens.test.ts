// A company's tokens against the real service, on two replicas: what they open, what they do not, and how they end.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { Toolgate } from '../../clients/typescript/src/index.ts';
import { newDataDir } from '../support/faults.ts';
import { engines, failToStart, startService, type TestService } from '../support/service.ts';
import { AUDIENCE, TokenIssuer } from '../support/token-issuer.ts';

const engine = (await engines()).at(-1);
const other = newDataDir();
let issuer: TokenIssuer;
let services: TestService[];
beforeAll(async () => {
  issuer = await TokenIssuer.start();
  const env = { ...issuer.settings, TOOLGATE_JWT_GROUPS_CLAIM: 'realm.groups' };
  const first = await startService({ ...(engine && { engine }), env });
  services = [first];
  if (engine === 'postgres')
    services.push(await startService({ env, databaseUrl: first.databaseUrl, dataDir: other }));
});
afterAll(async () => {
  await Promise.all(services.map(each => each.close()));
  await issuer.close();
  rmSync(other, { recursive: true, force: true });
});

const RULES = [
  { tool: 'look', action: 'allow' as const },
  { tool: 'ship', action: 'allow' as const, when: "'release' in person.groups" },
  { tool: 'ask', action: 'require_approval' as const },
  { tool: 'mine', action: 'allow' as const, when: "person.email == 'eve@example.com'" },
];

const tokens: string[] = [];
async function tokenOf(sub: string, ...groups: string[]): Promise<string> {
  const token = await issuer.token({ sub, realm: { groups } });
  tokens.push(token);
  return token;
}

/** What each replica decides, or its status where it refuses. */
const outcomes = (token: string, tool: string) =>
  Promise.all(
    services.map(async each => {
      const { status, body } = await each.check(token, 'prod', tool);
      return status === 200 ? body.decision : status;
    }),
  );
const everywhere = (outcome: unknown) => services.map(() => outcome);

test('a token acts for its person, on /v1/check and /mcp and nowhere else', async () => {
  const [service] = services as [TestService];
  const { keyId } = await service.newKey(RULES, { openTo: ['group:dev'] });
  const token = await tokenOf('ann', 'dev');
  expect(await outcomes(token, 'look')).toEqual(everywhere('allow'));
  expect(await outcomes(token, 'ship')).toEqual(everywhere('deny'));
  expect(await outcomes(await tokenOf('ann', 'dev', 'release'), 'ship')).toEqual(everywhere('allow'));
  const { sessions } = (await service.admin('GET', `/sessions?keyId=${keyId}`)).body;
  expect(sessions).toHaveLength(2);
  expect(sessions[0]).toMatchObject({ personEmail: 'ann@example.com', revokedAt: null });
  const { personId } = sessions[0];
  const { entries } = (await service.admin('GET', `/audit?personId=${personId}`)).body;
  expect(entries).toHaveLength(3 * services.length);
  const { operators } = (await service.admin('GET', '/operators')).body;
  expect(operators).toMatchObject([{ id: personId, role: 'user', groups: [], status: 'active' }]);
  await new Toolgate({ key: token, baseUrl: service.url }).guard('prod', 'look');
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const message = { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello };
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/json, text/event-stream' };
  const init = { headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(message) };
  expect((await service.request('POST', '/mcp', init)).status).toBe(200);
  for (const [method, path] of [
    ['GET', '/admin/v1/me'],
    ['GET', '/admin/v1/keys'],
    ['GET', '/v1/sessions'],
    ['POST', '/v1/sessions'],
  ] as const) {
    expect([path, (await service.request(method, path, { headers })).status]).toEqual([path, 401]);
  }
  for (const path of ['/access/v1/evaluation', '/ext-authz/prod', '/v1/hooks/claude-code']) {
    const refused = await service.json('POST', path, token, {});
    expect([path, refused.headers.get('X-Toolgate-Error')]).toEqual([path, 'forbidden']);
  }
});

test('an e-mail that is not called verified decides nothing', async () => {
  const [service] = services as [TestService];
  const { keyId } = await service.newKey(RULES, { openTo: ['group:guests'] });
  const token = (email_verified?: true) =>
    issuer.token({ sub: 'eve', email_verified, realm: { groups: ['guests'] } });
  expect(await outcomes(await token(), 'look')).toEqual(everywhere('allow'));
  expect(await outcomes(await token(), 'mine')).toEqual(everywhere('deny'));
  expect(await outcomes(await token(true), 'mine')).toEqual(everywhere('allow'));
  await service.admin('DELETE', `/keys/${keyId}`);
});

test('a revoked session, a closed key and a removed person count at once, on every replica', async () => {
  const [service] = services as [TestService];
  const { keyId } = await service.newKey(RULES, { openTo: ['person:bob@example.com'] });
  const [first, second] = [await tokenOf('bob'), await tokenOf('bob')];
  expect(await outcomes(first, 'look')).toEqual(everywhere('allow'));
  const { sessions } = (await service.admin('GET', `/sessions?keyId=${keyId}`)).body;
  expect((await service.admin('DELETE', `/sessions/${sessions[0].id}`)).status).toBe(204);
  for (let n = 0; n < 2; n++) expect(await outcomes(first, 'look')).toEqual(everywhere(401));
  expect(await outcomes(second, 'look')).toEqual(everywhere('allow'));
  await service.admin('PATCH', `/keys/${keyId}`, { openTo: [] });
  expect(await outcomes(second, 'look')).toEqual(everywhere(401));
  expect(await outcomes(await tokenOf('bob'), 'look')).toEqual(everywhere(403));
  await service.admin('PATCH', `/keys/${keyId}`, { openTo: ['person:bob@example.com'] });
  expect(await outcomes(second, 'look')).toEqual(everywhere(401));
  const third = await tokenOf('bob');
  expect(await outcomes(third, 'look')).toEqual(everywhere('allow'));
  await service.admin('DELETE', `/operators/${sessions[0].personId}`);
  expect(await outcomes(third, 'look')).toEqual(everywhere(401));
  expect(await outcomes(await tokenOf('bob'), 'look')).toEqual(everywhere(403));
});

test('a question says for whom it is asked', async () => {
  const [service] = services as [TestService];
  await service.newKey(RULES, { openTo: ['group:ops'] });
  const { body } = await service.check(await tokenOf('cem', 'ops'), 'prod', 'ask');
  const approval = (await service.admin('GET', `/approvals/${body.referenceId}`)).body;
  expect(approval).toMatchObject({ personEmail: 'cem@example.com', personId: expect.any(String) });
});

test('wrong tokens cost a refusal, and no token is in the log', async () => {
  const [service] = services as [TestService];
  const wrong = await Promise.all([
    issuer.token({ aud: 'https://other.example' }),
    issuer.token({ exp: 1 }),
    issuer.token({ more: 'x'.repeat(8192) }),
    issuer.token({}, { kid: 'unknown' }),
  ]);
  for (const token of wrong) {
    expect((await service.check(token, 'prod', 'look')).status).toBe(401);
    tokens.push(token);
  }
  const said = services.map(each => each.output).join();
  for (const part of tokens.flatMap(token => token.split('.').slice(1))) expect(said).not.toContain(part);
});

test('issuer and audience go together', async () => {
  for (const env of [{ TOOLGATE_JWT_ISSUER: issuer.url }, { TOOLGATE_JWT_AUDIENCE: AUDIENCE }])
    expect(await failToStart({ env })).toContain('TOOLGATE_JWT_ISSUER and TOOLGATE_JWT_AUDIENCE go together');
});
