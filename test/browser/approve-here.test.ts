// A person at a client is sent to the page of the approval that their call waits for: the official SDKs of both eras call, a
// real browser on a phone opens what they were told, somebody signs in there and answers, and the client goes on. In whose
// name the call was made, and who may answer, counts as everywhere.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitationCompleteNotificationSchema,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/sdk/types.js';
import type { Browser, Page } from 'playwright-core';
import { connected, startOAuth } from '../oauth/connect.ts';
import { newPerson, PASSWORD, type Person } from '../operators/people.ts';
import { expectUsable, hasBrowser, heading, launch, PHONE, visitAlone } from '../support/browser.ts';
import { connect, RecordingUpstream } from '../support/mcp.ts';
import { refusal } from '../support/refusal.ts';
import type { TestService } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: two SDKs with types of their own
type Any = any;

interface Calling {
  /** Resolves with the address that the person at the client is sent to. */
  sent: Promise<string>;
  /** The result, once the client has gone on. */
  result: Promise<Any>;
}

type Sdk = (
  url: URL,
  token: string,
  name: string,
  args: Any,
) => Promise<Calling & { close: () => Promise<void> }>;

const ME = { name: 'An SDK', version: '1' };
const OPENS = { capabilities: { elicitation: { url: {} } } };
const bearer = (token: string) => ({ requestInit: { headers: { Authorization: `Bearer ${token}` } } });

/** The application opens the address of the error, and calls again when it is told that somebody has answered. */
const older: Sdk = async (url, token, name, args) => {
  const client = new ClientV1(ME, OPENS);
  const complete = Promise.withResolvers<string>();
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
    complete.resolve(params.elicitationId),
  );
  await client.connect(new HttpV1(url, bearer(token)) as Any);
  const call = () => client.callTool({ name, arguments: args });
  const error = (await refusal(call())) as UrlElicitationRequiredError;
  expect(error).toBeInstanceOf(UrlElicitationRequiredError);
  const [asked] = error.elicitations;
  const goOn = async () => {
    expect(await complete.promise).toBe(asked?.elicitationId as string);
    return call();
  };
  return { sent: Promise.resolve(asked?.url as string), result: goOn(), close: () => client.close() };
};

/** The SDK asks the application to open the address, and calls again by itself. */
const newer: Sdk = async (url, token, name, args) => {
  const client: Any = new ClientV2(ME, { ...OPENS, versionNegotiation: { mode: 'auto' } } as Any);
  const sent = Promise.withResolvers<string>();
  client.setRequestHandler('elicitation/create', async ({ params }: Any) => {
    expect(params.mode).toBe('url');
    sent.resolve(params.url);
    return { action: 'accept' };
  });
  await client.connect(new HttpV2(url, bearer(token)));
  return {
    sent: sent.promise,
    result: client.callTool({ name, arguments: args }),
    close: () => client.close(),
  };
};

describe.if(hasBrowser())('approving at the client', () => {
  const upstream = new RecordingUpstream();
  const reached = (n: string) => upstream.calls.filter(each => each.params.arguments?.n === n);
  let browser: Browser;
  let service: TestService;
  let approver: Person;
  beforeAll(async () => {
    [browser, service] = await Promise.all([launch(), startOAuth()]);
    approver = await newPerson(service, 'approver');
  });
  afterAll(async () => {
    await service?.close();
    await upstream.stop();
  });

  const address = () => new URL(`${service.url}/mcp`);

  /** Opens the page on a phone on which nobody is signed in, and signs in there. */
  const asPerson = ({ email }: Person, url: string, use: (page: Page) => Promise<void>) =>
    visitAlone(
      browser,
      service,
      null,
      async page => {
        await page.goto(url);
        await page.getByLabel('E-mail').fill(email);
        await page.getByLabel('Password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await heading(page, 'up__echo');
        expect(page.url()).toBe(url);
        await use(page);
      },
      PHONE,
    );
  const button = (page: Page, name: RegExp) => page.getByRole('button', { name });
  const approve = async (page: Page) => {
    await button(page, /^Approve up__echo$/).click();
    await page.getByText('approved', { exact: true }).first().waitFor();
  };

  for (const [era, sdk] of Object.entries({ '2025-11-25': older, '2026-07-28': newer }))
    test(`${era}: whoever may answer signs in on a phone and approves, and the call runs once`, async () => {
      const rules = [{ tool: '*', action: 'require_approval' as const, ask: 'Say {n}?' }];
      const { key, keyId } = await service.newKey(rules, { approveHere: true });
      await connect(service, keyId, 'up', upstream.url);
      const n = crypto.randomUUID();
      const client = await sdk(address(), key, 'up__echo', { n });
      await asPerson(approver, await client.sent, async page => {
        await page.getByText(`Say ${n}?`).waitFor();
        await expectUsable(page);
        expect(reached(n)).toEqual([]);
        await approve(page);
        expect((await client.result).content[0].text).toBe(JSON.stringify({ n }));
        await page.getByText('spent: the call was allowed').waitFor();
      });
      expect(reached(n)).toHaveLength(1);
      await client.close();
    });

  test('nobody approves a call in their own name, nor one that a group answers to which they do not belong', async () => {
    const rule = { tool: '*', action: 'require_approval' as const, approvers: { group: 'finance' } };
    const [owner, member] = [await newPerson(service, 'approver'), await newPerson(service, 'approver')];
    for (const { id } of [owner, member])
      await service.admin('PATCH', `/operators/${id}`, { groups: ['finance'] });
    const { keyId } = await service.newKey([rule], { approveHere: true, openTo: [`person:${owner.email}`] });
    await connect(service, keyId, 'up', upstream.url);
    const { access_token: token } = await connected(service, owner);
    const n = crypto.randomUUID();
    const client = await newer(address(), token, 'up__echo', { n });
    const url = await client.sent;
    await asPerson(owner, url, async page => {
      await page.getByText('This call was made in your own name, so somebody else has to answer.').waitFor();
      expect(await button(page, /^(Approve|Deny)/).count()).toBe(0);
      await expectUsable(page);
    });
    await asPerson(approver, url, async page => {
      await page.getByText('Only operators of the group finance answer this call.').waitFor();
      expect(await button(page, /^(Approve|Deny)/).count()).toBe(0);
      await expectUsable(page);
    });
    expect(reached(n)).toEqual([]);
    await asPerson(member, url, approve);
    expect((await client.result).content[0].text).toBe(JSON.stringify({ n }));
    expect(reached(n)).toHaveLength(1);
    await client.close();
  });
});
