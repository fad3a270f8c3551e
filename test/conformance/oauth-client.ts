// The command that the conformance runner starts as the client of one scenario. It registers the scenario's server as a
// Connected Tool of a running Toolgate, signs in to it as an admin's browser would, and lists and calls its tools through
// the gateway, again after each sign-in that a call turns out to need. What it does is then seen by the scenario's server.

const [url = ''] = process.argv.slice(-1);
const {
  TOOLGATE_URL: gateway = '',
  TOOLGATE_TOKEN: token = '',
  TOOLGATE_COOKIE: signedIn = '',
} = process.env;
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}');
/** More sign-ins than any scenario needs: whether they end is up to the gateway. */
const MOST_SIGN_INS = 6;

// biome-ignore lint/suspicious/noExplicitAny: whatever the gateway answers
type Any = any;

// Some suites have scenarios about other things too.
if (!process.env['MCP_CONFORMANCE_SCENARIO']?.startsWith('auth/')) process.exit(0);

/** Requests are limited by address, and many scenarios run at once. */
const from = Array.from(crypto.getRandomValues(new Uint8Array(3))).join('.');
const OWN = { 'X-Forwarded-For': `10.${from}`, 'Sec-Fetch-Site': 'same-origin', Accept: 'text/html' };

async function api(method: string, path: string, body?: unknown): Promise<Any> {
  const response = await fetch(gateway + path, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

/** Goes to the server's authorization server, which agrees at once, and back to the gateway. */
async function signIn(path: string): Promise<void> {
  const { url: page } = await api('POST', path);
  const begun = await fetch(page, {
    method: 'POST',
    redirect: 'manual',
    headers: { ...OWN, Cookie: signedIn, Origin: gateway },
  });
  const cookie = begun.headers.getSetCookie().map(each => each.split(';')[0]);
  let to = begun.headers.get('location');
  if (begun.status !== 303 || to === null)
    throw new Error(`no sign-in: ${begun.status} ${await begun.text()}`);
  for (let hops = 0; to !== null && hops < 10; hops++) {
    const ours = to.startsWith(gateway);
    const response: Response = await fetch(to, {
      redirect: 'manual',
      headers: ours ? { ...OWN, Cookie: [signedIn, ...cookie].join('; ') } : {},
    });
    if (response.status >= 400)
      throw new Error(`${to.split('?')[0]}: ${response.status} ${await response.text()}`);
    if (ours) return;
    to = response.headers.get('location') && new URL(response.headers.get('location') ?? '', to).href;
  }
  throw new Error('the authorization server did not lead back');
}

async function asClient(key: string, method: string, params: Any): Promise<Any> {
  const response = await fetch(`${gateway}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      Accept: 'application/json',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...(params.name && { 'Mcp-Name': params.name }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
  const { result, error } = (await response.json()) as Any;
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
  return result;
}

const needsSignIn = (result: Any): boolean =>
  result.isError === true && String(result.content?.[0]?.text).includes('has to sign in');

const policy = { name: `conformance ${crypto.randomUUID()}`, rules: [{ tool: '*', action: 'allow' }] };
const { id: policyId } = await api('POST', '/admin/v1/policies', policy);
const made = await api('POST', '/admin/v1/keys', { name: 'conformance', policyId });
const tool = await api('POST', `/admin/v1/keys/${made.id}/connected-tools`, {
  name: 'conf',
  transport: 'http',
  url,
  auth: 'oauth',
  oauth: {
    as: 'key',
    ...(context.client_id && { clientId: context.client_id, clientSecret: context.client_secret }),
  },
});
const connect = `/admin/v1/keys/${made.id}/connected-tools/${tool.id}/connect`;
// Some scenarios let `initialize` pass without a token and refuse what comes after it.
let signIns = 0;
for (let waiting = ['']; waiting.length > 0; ) {
  if (signIns++ >= MOST_SIGN_INS) throw new Error('the sign-ins do not end');
  await signIn(connect);
  const { tools } = await asClient(made.key, 'tools/list', {});
  waiting = [];
  for (const { name } of tools.length > 0 ? tools : [{ name: 'conf__test-tool' }]) {
    if (needsSignIn(await asClient(made.key, 'tools/call', { name, arguments: {} }))) waiting.push(name);
  }
}
console.log(`done after ${signIns} sign-ins`);

export {};
