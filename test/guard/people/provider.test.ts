// What is learnt about a single sign-on provider is kept; one that failed is left alone for a moment, and not longer.

import { expect, test } from 'bun:test';
import { Provider } from '../../../src/guard/people/provider.ts';
import { until } from '../../support/faults.ts';
import { refusal } from '../../support/refusal.ts';

const RETRY_MS = 2000;
const BINDING = { redirectUri: 'https://gate.example/callback', state: 's', nonce: 'n', verifier: 'v' };

test('a provider that was down when it was first asked is asked again some seconds later, and then kept', async () => {
  const asked: number[] = [];
  let up = false;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: request => {
      asked.push(performance.now());
      const issuer = new URL(request.url).origin;
      if (!up) return new Response(null, { status: 503 });
      return Response.json({ issuer, authorization_endpoint: `${issuer}/authorize` });
    },
  });
  const provider = new Provider(
    {
      oidcIssuer: server.url.origin,
      oidcClientId: 'toolgate',
      oidcClientSecret: null,
      oidcScopes: 'openid',
      oidcRoles: [],
      oidcRoleClaim: 'groups',
      oidcGroupsClaim: null,
      oidcDefaultRole: null,
      oidcAllowedDomains: [],
    },
    { allowPrivate: true },
  );
  const address = () => provider.addressFor(BINDING);
  await refusal(address());
  up = true;
  await until('it is asked again', () =>
    address().then(
      () => true,
      () => false,
    ),
  );
  expect(asked).toHaveLength(2);
  const [first = 0, second = 0] = asked;
  expect(second - first).toBeGreaterThanOrEqual(RETRY_MS);
  for (let n = 0; n < 5; n++) expect(await address()).toStartWith(`${server.url.origin}/authorize?`);
  expect(asked).toHaveLength(2);
  await server.stop(true);
});
