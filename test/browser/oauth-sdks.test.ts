// The official SDKs as clients that know nothing but the address of /mcp. They find the authorization server from the 401,
// register, send the person through our sign-in and consent pages in a real browser, and get their code on a loopback
// address. They call tools under the person's policy, renew their tokens themselves, and are refused after a revocation.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Browser, BrowserContext } from 'playwright-core';
import { type ClockedService, startClocked } from '../approvals/clocked.ts';
import { connectable } from '../oauth/connect.ts';
import { PASSWORD, type Person } from '../operators/people.ts';
import { hasBrowser, heading, launch } from '../support/browser.ts';
import { connect, RecordingUpstream } from '../support/mcp.ts';
import { freePort } from '../support/port.ts';
import { refusal } from '../support/refusal.ts';

// biome-ignore lint/suspicious/noExplicitAny: two SDKs with types of their own
type Any = any;

interface Sdk {
  transport: (url: URL, authProvider: Any) => Any;
  client: () => Any;
  /** Version 1 takes the code alone; version 2 compares `iss` too. */
  finish: (transport: Any, answer: URLSearchParams) => Promise<void>;
  /** What the client gives as its client_id, in place of a registration. */
  document?: string;
  /** How the consent page names it. */
  name: string;
}

const ME = { name: 'An SDK', version: '1' };
const V2 = {
  transport: (url: URL, authProvider: Any) => new HttpV2(url, { authProvider }),
  finish: (transport: HttpV2, answer: URLSearchParams) => transport.finishAuth(answer),
};
const SDKS: Record<string, Sdk> = {
  'version 1': {
    name: ME.name,
    transport: (url, authProvider) => new HttpV1(url, { authProvider }),
    client: () => new ClientV1(ME),
    finish: (transport: HttpV1, answer) => transport.finishAuth(answer.get('code') ?? ''),
  },
  'version 2': { ...V2, name: ME.name, client: () => new ClientV2(ME) },
  'version 2, newer era, with a document': {
    ...V2,
    // The service has a copy of it, for when it cannot be fetched.
    document: 'https://claude.ai/oauth/claude-code-client-metadata',
    name: 'Claude Code',
    client: () => new ClientV2(ME, { versionNegotiation: { mode: 'auto' } } as Any),
  },
};

/** What an application keeps for the SDK. */
class Kept {
  readonly clientMetadataUrl: string | undefined;
  readonly redirectUrl: string;
  client: Any;
  token: Any;
  discovered: Any;
  verifier = '';
  asked: URL | null = null;

  constructor(redirectUrl: string, document: string | undefined) {
    this.redirectUrl = redirectUrl;
    this.clientMetadataUrl = document;
  }
  get clientMetadata() {
    return { client_name: ME.name, redirect_uris: [this.redirectUrl] };
  }
  state = () => 'the state';
  clientInformation = () => this.client;
  saveClientInformation = (client: Any) => {
    this.client = client;
  };
  tokens = () => this.token;
  saveTokens = (token: Any) => {
    this.token = token;
  };
  redirectToAuthorization = (url: URL) => {
    this.asked = url;
  };
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier: string) => {
    this.verifier = verifier;
  };
  discoveryState = () => this.discovered;
  saveDiscoveryState = (state: Any) => {
    this.discovered = state;
  };
  invalidateCredentials = (which: string) => {
    if (which === 'tokens' || which === 'all') this.token = undefined;
  };
}

describe.if(hasBrowser())('an SDK with nothing but the address', () => {
  const upstream = new RecordingUpstream({
    tools: ['read', 'wipe'].map(name => ({ name, inputSchema: { type: 'object' } })),
  });
  let browser: Browser;
  let service: ClockedService;
  let person: Person;
  let keyId: string;
  /** The client's own listener. */
  let listener: Bun.Server<undefined>;
  let redirect: string;

  beforeAll(async () => {
    browser = await launch();
    const port = await freePort();
    service = await startClocked({
      TOOLGATE_PORT: String(port),
      TOOLGATE_PUBLIC_URL: `http://127.0.0.1:${port}`,
      TOOLGATE_OAUTH: 'on',
    });
    ({ person, keyId } = await connectable(service, [
      { tool: 'files__read', action: 'allow', when: 'person.email.endsWith("@example.com")' },
    ]));
    await connect(service, keyId, 'files', upstream.url);
    listener = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('You can go back.') });
    redirect = `http://127.0.0.1:${listener.port}/callback`;
  });
  afterAll(async () => {
    await listener?.stop(true);
    await service?.close();
    upstream.stop();
  });

  /** What the client is sent back with, after the person has signed in and agreed. */
  async function throughTheBrowser(context: BrowserContext, url: URL, name: string) {
    const page = await context.newPage();
    await page.goto(url.href);
    await heading(page, 'Sign in');
    await page.getByLabel('E-mail').fill(person.email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await heading(page, `Connect ${name}?`);
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByText('You can go back.').waitFor();
    return new URL(page.url()).searchParams;
  }

  for (const [version, sdk] of Object.entries(SDKS))
    test(version, async () => {
      const kept = new Kept(redirect, sdk.document);
      const mcp = new URL(`${service.url}/mcp`);
      const first = sdk.transport(mcp, kept);
      expect(((await refusal(sdk.client().connect(first))) as Error).constructor.name).toBe(
        'UnauthorizedError',
      );
      if (kept.asked === null) throw new Error('nobody was sent to the authorization server');
      expect(kept.asked.searchParams.get('resource')).toBe(mcp.href);
      expect(kept.client.client_id).toStartWith(sdk.document ?? 'tgc_');

      const context = await browser.newContext();
      const answer = await throughTheBrowser(context, kept.asked, sdk.name);
      await context.close();
      expect(answer.get('state')).toBe('the state');
      await sdk.finish(first, answer);

      const client = sdk.client();
      await client.connect(sdk.transport(mcp, kept));
      const call = (name: string) => client.callTool({ name, arguments: { by: version } });
      const listed = (await client.listTools()).tools.map((tool: Any) => tool.name);
      expect(listed).toContain('files__read');
      const before = upstream.calls.length;
      expect((await call('files__read')).content[0].text).toBe(JSON.stringify({ by: version }));
      expect((await call('files__wipe')).isError).toBe(true);
      expect(upstream.calls.length).toBe(before + 1);
      const [denied, allowed] = (await service.admin('GET', '/audit?limit=2')).body.entries;
      expect([denied.decision, allowed.decision]).toEqual(['deny', 'allow']);
      expect([denied.personId, allowed.personId]).toEqual([person.id, person.id]);

      const { access_token: ended } = kept.token;
      service.advance(15 * 60_000);
      expect((await call('files__read')).content[0].text).toBe(JSON.stringify({ by: version }));
      expect(kept.token.access_token).not.toBe(ended);

      const { sessions } = (await service.admin('GET', `/sessions?keyId=${keyId}&limit=1`)).body;
      expect(sessions[0]).toMatchObject({ personEmail: person.email, clientName: sdk.name });
      kept.asked = null;
      expect((await service.admin('DELETE', `/sessions/${sessions[0].id}`)).status).toBe(204);
      await refusal(call('files__read'));
      expect(upstream.calls.length).toBe(before + 2);
      // The SDK knows that only a new sign-in helps.
      expect(kept.asked).not.toBeNull();
      await client.close();
    });
});
