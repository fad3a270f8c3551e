// Which company tokens are accepted, and what the issuer can do to the service: it is a server of others.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { RequestListener } from 'node:http';
import { base64url, SignJWT } from 'jose';
import { CompanyIssuer, MAX_COMPANY_TOKEN } from '../../../src/guard/people/company-issuer.ts';
import { until } from '../../support/faults.ts';
import { refusal } from '../../support/refusal.ts';
import { AUDIENCE, TokenIssuer } from '../../support/token-issuer.ts';

let issuer: TokenIssuer;
beforeAll(async () => {
  issuer = await TokenIssuer.start();
});
afterAll(() => issuer.close());

const failures: string[] = [];
function verifier(of = issuer, more: { cooldownMs?: number } = {}): CompanyIssuer {
  const settings = { jwtIssuer: of.url, jwtAudience: AUDIENCE };
  return new CompanyIssuer(settings, { allowPrivate: true }, error => failures.push(String(error)), more);
}

const said = async (work: Promise<unknown>) => {
  const { code, message, cause } = (await refusal(work)) as {
    code: string;
    message: string;
    cause?: unknown;
  };
  expect(cause).toBeUndefined();
  return `${code}: ${message}`;
};

test('a token of every asymmetric algorithm is accepted, with its claims', async () => {
  for (const alg of ['RS256', 'PS256', 'ES256', 'ES384', 'ES512', 'Ed25519']) {
    const other = await TokenIssuer.start(alg);
    const token = await other.token({ sub: 'bo', aud: ['elsewhere', AUDIENCE] });
    const it = verifier(other);
    expect(it.mayBe(token)).toBe(true);
    expect(await it.verify(token, Date.now())).toMatchObject({ sub: 'bo', email: 'bo@example.com' });
    // Metadata and keys are asked for once.
    for (let n = 0; n < 5; n++) await it.verify(await other.token(), Date.now());
    expect(other.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
    await other.close();
  }
});

test('the metadata of RFC 8414 is used where there is none of OpenID Connect, also with a path', async () => {
  const other = await TokenIssuer.start();
  const url = `${other.url}/tenant`;
  const metadata = JSON.stringify({ issuer: url, jwks_uri: `${other.url}/keys` });
  other.answers.set('/.well-known/oauth-authorization-server/tenant', (_, response) =>
    response.end(metadata),
  );
  const it = new CompanyIssuer({ jwtIssuer: url, jwtAudience: AUDIENCE }, { allowPrivate: true }, () => {});
  expect(await it.verify(await other.token({ iss: url }), Date.now())).toMatchObject({ iss: url });
  expect(other.asked[0]).toBe('/tenant/.well-known/openid-configuration');
  await other.close();
});

test('a wrong token is refused, and why; the answer has nothing of it', async () => {
  const now = Math.floor(Date.now() / 1000);
  const it = verifier();
  const foreign = await TokenIssuer.start();
  const [key, strange] = [issuer.keys[0]!, foreign.keys[0]!];
  const cases: [string, Promise<string>][] = [
    ['it is of another issuer', issuer.token({ iss: `${issuer.url}/` })],
    ['it is for another audience', issuer.token({ aud: `${AUDIENCE}/more` })],
    ['it is for another audience', issuer.token({ aud: undefined })],
    ['it has ended', issuer.token({ exp: now - 1 })],
    ['it has ended', issuer.token({ exp: now - 100 })],
    ['it does not say when it ends', issuer.token({ exp: undefined })],
    ['it does not say when it ends', issuer.token({ exp: 1e15 })],
    ['it is not valid yet', issuer.token({ nbf: now + 60 })],
    ['it names no subject', issuer.token({ sub: '' })],
    ['it names no subject', issuer.token({ sub: 'x'.repeat(256) })],
    ['it is of another type', issuer.token({}, { typ: 'logout+jwt' })],
    ['it is bound to a key of its owner', issuer.token({ cnf: { jkt: 'x' } })],
    ['its signature does not fit', issuer.token({}, { alg: key.alg, kid: key.kid }, strange)],
    ['the issuer has no such key', issuer.token({}, { kid: 'secret-kid' })],
    ['the issuer has no such key', foreign.token({ iss: issuer.url })],
  ];
  for (const [why, token] of cases) {
    const told = await said(it.verify(await token, Date.now()));
    expect(told).toBe(`unauthenticated: The company token is not accepted: ${why}.`);
  }
  // It ends exactly when it says.
  const ending = await issuer.token({ exp: now + 60 });
  await it.verify(ending, (now + 60) * 1000 - 1);
  expect(await said(it.verify(ending, (now + 60) * 1000))).toContain('it has ended');
  await it.verify(await issuer.token({ exp: 253_402_300_799 }), Date.now());
  // Clocks may differ a little.
  await it.verify(await issuer.token({ nbf: now + 20 }), Date.now());
  await foreign.close();
});

test('a token without a signature, or signed with what everybody can know, is none', async () => {
  const it = verifier();
  const { jwk, kid } = issuer.keys[0]!;
  const [, payload = '', signature = ''] = (await issuer.token()).split('.');
  const header = (value: object) => base64url.encode(JSON.stringify(value));
  const secrets = [JSON.stringify(jwk), jwk.x!, base64url.decode(jwk.x!), Buffer.alloc(32)];
  const forged = await Promise.all([
    ...['none', 'NONE', '', undefined, 'HS256', 'RSA-OAEP'].flatMap(alg =>
      [signature, 'x'].map(async end => `${header({ alg, kid, typ: 'JWT' })}.${payload}.${end}`),
    ),
    ...secrets.map(secret =>
      new SignJWT(JSON.parse(Buffer.from(payload, 'base64url').toString()))
        .setProtectedHeader({ alg: 'HS256', kid })
        .sign(typeof secret === 'string' ? new TextEncoder().encode(secret.padEnd(32)) : secret),
    ),
  ]);
  for (const token of forged) {
    expect(it.mayBe(token)).toBe(false);
    expect(await said(it.verify(token, Date.now()))).toStartWith('unauthenticated: ');
  }
});

test('only what may be a token of the issuer costs more than a glance', async () => {
  const it = verifier();
  const token = await issuer.token();
  const [header, payload, signature] = token.split('.');
  const long = await issuer.token({ more: 'x'.repeat(MAX_COMPANY_TOKEN) });
  const others = [
    '',
    'ey',
    '..',
    'ey.ey.',
    `${token}.x`,
    `${token} `,
    `${header}.${payload}.`,
    `ey.ey.${signature}`,
  ];
  for (const other of [...others, long, await issuer.token({ iss: 'https://other.example' })]) {
    expect([other, it.mayBe(other)]).toEqual([other, false]);
  }
  expect(it.mayBe(token)).toBe(true);
});

test('a new key is found, and keys are fetched again at most every so often', async () => {
  const other = await TokenIssuer.start();
  const now = Date.now();
  const patient = verifier(other);
  const eager = verifier(other, { cooldownMs: 0 });
  const old = await other.token();
  await Promise.all([patient.verify(old, now), eager.verify(old, now)]);
  await other.newKey('RS256');
  const token = await other.token();
  await eager.verify(token, now);
  // The key of this one is shown no more.
  expect(await said(eager.verify(old, now))).toContain('the issuer has no such key');
  const before = other.asked.length;
  for (let n = 0; n < 20; n++) {
    const unknown = await other.token({}, { kid: `unknown-${n}` });
    expect(await said(patient.verify(unknown, now))).toContain('the issuer has no such key');
  }
  expect(other.asked.length).toBe(before);
  await other.close();
});

test('an issuer that cannot be asked is not asked again for a moment, and nobody waits for it', async () => {
  const other = await TokenIssuer.start();
  const now = Date.now();
  const token = await other.token();
  const it = verifier(other);
  other.answers.set('*', (_, response) => response.writeHead(503).end());
  failures.length = 0;
  const told = 'not_ready: The issuer of company tokens cannot be asked just now. Try again.';
  for (let n = 0; n < 10; n++) expect(await said(it.verify(token, now))).toBe(told);
  expect(other.asked).toHaveLength(1);
  expect(failures).toEqual(['Error: the issuer answered 503']);
  other.answers.delete('*');
  await until('it is asked again', () =>
    it.verify(token, now).then(
      () => true,
      () => false,
    ),
  );
  // Once it is known, it may be down.
  await other.close();
  await it.verify(token, now);
});

test('what a hostile issuer answers is bounded, and redirects are not followed', async () => {
  const metadata = '/.well-known/openid-configuration';
  const text =
    (body: string): RequestListener =>
    (_, response) =>
      void response.end(body);
  const about = (value: object) => text(JSON.stringify(value));
  const cases: [why: string, path: string, answer: (url: string) => RequestListener][] = [
    [
      'names another issuer',
      metadata,
      () => about({ issuer: 'https://x.example', jwks_uri: 'https://x.example/' }),
    ],
    ['no usable jwks_uri', metadata, url => about({ issuer: url })],
    ['no usable jwks_uri', metadata, url => about({ issuer: url, jwks_uri: 'file:///etc/passwd' })],
    ['has no metadata', metadata, () => (_, response) => response.writeHead(400).end()],
    [
      'answered 302',
      metadata,
      url => (_, response) => response.writeHead(302, { Location: `${url}/keys` }).end(),
    ],
    [
      'answered 302',
      '/keys',
      url => (_, response) => response.writeHead(302, { Location: `${url}/k` }).end(),
    ],
    ['lists no keys', '/keys', () => text('<html>')],
    ['too many keys', '/keys', () => about({ keys: Array(101).fill({}) })],
    ['is too large', '/keys', () => text(`{"keys":[],"x":"${'x'.repeat(256 * 1024)}"}`)],
    [
      'is too large',
      '/keys',
      () => (_, response) => {
        // It never ends, unless the other side hangs up.
        const more = () => response.destroyed || response.write('x'.repeat(65_536), more);
        more();
      },
    ],
  ];
  for (const [why, path, answer] of cases) {
    const other = await TokenIssuer.start();
    other.answers.set(path, answer(other.url));
    failures.length = 0;
    expect(await said(verifier(other).verify(await other.token(), Date.now()))).toStartWith('not_ready: ');
    expect(failures.join()).toContain(why);
    await other.close();
  }
  // A private address is asked only where private networks are allowed.
  const settings = { jwtIssuer: issuer.url, jwtAudience: AUDIENCE };
  const strict = new CompanyIssuer(settings, { allowPrivate: false }, () => {});
  const before = issuer.asked.length;
  expect(await said(strict.verify(await issuer.token(), Date.now()))).toStartWith('not_ready: ');
  expect(issuer.asked.length).toBe(before);
});
