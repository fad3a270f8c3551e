// The consent page in a real browser: a client on loopback sends a person there, the person signs in and decides, and the
// browser really arrives at the client, which the page's policy must not prevent. Pictures are taken with
// TOOLGATE_TEST_PICTURES=<folder>.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { allowed, asking, connectable, exchange, newClient, register, startOAuth } from '../oauth/connect.ts';
import { newPerson, PASSWORD, type Person } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, PHONE } from '../support/browser.ts';
import type { TestService } from '../support/service.ts';

const PICTURES = process.env['TOOLGATE_TEST_PICTURES'];

describe.if(hasBrowser())('the consent page', () => {
  let browser: Browser;
  let service: TestService;
  let person: Person;
  /** The client's own listener, at which the browser has to arrive. */
  let client: Bun.Server<undefined>;
  let redirect: string;

  beforeAll(async () => {
    browser = await launch();
    service = await startOAuth();
    ({ person } = await connectable(service));
    client = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('arrived') });
    redirect = `http://127.0.0.1:${client.port}/callback`;
  });
  afterAll(async () => {
    await client.stop(true);
    await service.close();
  });

  async function visit(
    options: BrowserContextOptions,
    cookie: string | null,
    use: (page: Page) => Promise<void>,
  ) {
    const context = await browser.newContext({ baseURL: service.url, ...options });
    try {
      const [name = '', value = ''] = (cookie ?? '').split('=');
      if (cookie !== null) await context.addCookies([{ name, value, url: service.url }]);
      const page = await context.newPage();
      const refused: string[] = [];
      page.on('console', message => {
        if (/content security policy/i.test(message.text())) refused.push(message.text());
      });
      await use(page);
      expect(refused).toEqual([]);
    } finally {
      await context.close();
    }
  }

  const open = (page: Page, clientId: string, more: Record<string, string> = {}) =>
    page.goto(
      `/oauth/authorize?${new URLSearchParams(asking(clientId, { redirect_uri: redirect, ...more }))}`,
    );

  const picture = async (page: Page, name: string): Promise<void> => {
    if (PICTURES !== undefined)
      await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
  };

  test('a person signs in, connects, and arrives at the client with a code that works', async () => {
    const { body } = await register(service, { client_name: 'Claude Code', redirect_uris: [redirect] });
    await visit({}, null, async page => {
      await open(page, body.client_id);
      await heading(page, 'Sign in');
      await page.getByLabel('E-mail').fill(person.email);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await heading(page, 'Connect Claude Code?');
      await picture(page, 'light');
      await page.getByRole('button', { name: 'Connect', exact: true }).click();
      await page.getByText('arrived').waitFor();
      const arrived = new URL(page.url());
      expect([arrived.searchParams.get('state'), arrived.searchParams.get('iss')]).toEqual([
        'the state',
        service.url,
      ]);
      const code = arrived.searchParams.get('code') ?? '';
      const tokens = await exchange(service, body.client_id, code, { redirect_uri: redirect });
      expect(await allowed(service, tokens.body.access_token)).toBe(true);
    });
  });

  test('a denial arrives too, and the pages read well in the dark and on a phone', async () => {
    const chooser = await newPerson(service, 'approver');
    const openTo = [`person:${chooser.email}`];
    for (const name of ['Tickets and orders', 'Payments']) await service.newKey([], { name, openTo });
    const longName = 'A client whose name is so long that it takes more than a line on the screen of a phone';
    const { body } = await register(service, { client_name: longName, redirect_uris: [redirect] });
    await visit({ ...DARK, ...PHONE }, chooser.cookie, async page => {
      await open(page, body.client_id);
      await heading(page, `Connect ${longName}?`);
      await expectUsable(page);
      await picture(page, 'phone-dark');
      await page.getByRole('button', { name: 'Connect', exact: true }).click();
      expect(await page.getByLabel('Key').evaluate(each => each.matches(':invalid'))).toBe(true);
      await page.getByRole('button', { name: 'Do not connect' }).click();
      await page.getByText('arrived').waitFor();
      expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
    });
    const id = 'https://vscode.dev/oauth/client-metadata.json';
    await visit(DARK, person.cookie, async page => {
      await open(page, id, { redirect_uri: 'https://vscode.dev/redirect' });
      await heading(page, 'Connect Visual Studio Code?');
      await expectUsable(page);
      await picture(page, 'dark');
    });
    const nobody = await newPerson(service, 'user');
    await visit(PHONE, nobody.cookie, async page => {
      await open(page, await newClient(service), { redirect_uri: 'http://localhost:1/callback' });
      await heading(page, 'No key is open to you');
      await expectUsable(page);
      await picture(page, 'no-key-phone');
    });
    await visit({}, person.cookie, async page => {
      await open(page, 'unknown');
      await heading(page, 'This client cannot be connected');
      await expectUsable(page);
      await picture(page, 'wrong-client');
    });
  });

  test('a page of another origin cannot frame it', async () => {
    const address = `${service.url}/oauth/authorize?${new URLSearchParams(asking(await newClient(service)))}`;
    await using evil = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () =>
        new Response(`<iframe id="f" src="${address.replaceAll('&', '&amp;')}"></iframe>`, {
          headers: { 'Content-Type': 'text/html' },
        }),
    });
    const context = await browser.newContext();
    const [name = '', value = ''] = person.cookie.split('=');
    await context.addCookies([{ name, value, url: service.url }]);
    const page = await context.newPage();
    await page.goto(evil.url.href, { waitUntil: 'load' });
    const [, frame] = page.frames();
    expect(await frame?.locator('button').count()).toBe(0);
    await context.close();
  });
});
