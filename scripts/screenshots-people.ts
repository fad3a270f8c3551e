// Somebody who has connected clients, for the pictures of the pages about oneself.

/** Sends JSON with a bearer token, and throws if it is refused. */
export type Post = (path: string, token: string, body: unknown) => Promise<Record<string, string>>;

const TEAM = `name: team
rules:
  - { tool: "github__get_*", action: allow }
  - { tool: "github__search_*", action: allow }
  - { tool: "github__merge_*", action: require_approval, reason: Merging needs a second pair of eyes. }
`;
const CALLS = ['get_issue', 'search_code', 'delete_branch', 'merge_pull_request'];
const REDIRECT = 'http://localhost/callback';
const VERIFIER = crypto.randomUUID() + crypto.randomUUID();

/** Two clients are connected and make some calls. Returns the person's cookie. */
export async function connectClients(url: string, post: Post, admin: string): Promise<string> {
  const email = 'developer@example.com';
  const { inviteUrl = '' } = await post('/admin/v1/operators', admin, { email, role: 'user' });
  const token = new URL(inviteUrl).searchParams.get('token');
  const joined = await fetch(`${url}/admin/v1/join`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token, password: crypto.randomUUID() }),
  });
  const cookie = (joined.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const { id: policyId } = await post('/admin/v1/policies', admin, { text: TEAM });
  await post('/admin/v1/keys', admin, { name: 'team tools', policyId, openTo: [`person:${email}`] });
  for (const name of ['Claude Code', 'Cursor']) {
    const access = await connectClient(url, post, cookie, name);
    for (const toolName of CALLS) await post('/v1/check', access, { serverName: 'github', toolName });
  }
  return cookie;
}

/** The way of a client to its access token. */
async function connectClient(url: string, post: Post, cookie: string, name: string): Promise<string> {
  const { client_id = '' } = await post('/oauth/register', '', {
    client_name: name,
    redirect_uris: [REDIRECT],
  });
  const challenge = new Bun.CryptoHasher('sha256').update(VERIFIER).digest('base64url');
  const asked = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const page = await (await fetch(`${url}/oauth/authorize?${asked}`, { headers: { cookie } })).text();
  const hidden = page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  const fields = Object.fromEntries(
    Array.from(hidden, ([, field = '', value = '']) => [field, plain(value)]),
  );
  const consent = await fetch(`${url}/oauth/authorize`, {
    method: 'POST',
    headers: { cookie, 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ ...fields, answer: 'connect' }),
    redirect: 'manual',
  });
  const code = new URL(consent.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const given = { client_id, code, redirect_uri: REDIRECT, code_verifier: VERIFIER };
  const tokens = await fetch(`${url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'authorization_code', ...given }),
  });
  return ((await tokens.json()) as { access_token: string }).access_token;
}

/** An attribute's value without its escapes. */
const plain = (value: string): string => value.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
