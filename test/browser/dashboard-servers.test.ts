// Servers that want OAuth, in a real browser: an admin adds one, signs in at its own pages and sees its tools.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { newPerson, type Person } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, launch, PHONE } from '../support/browser.ts';
import { OAuthUpstream } from '../support/oauth-upstream.ts';
import { startService, type TestService } from '../support/service.ts';

const TOOLS = [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }];

describe.if(hasBrowser())('servers that want OAuth', () => {
  let browser: Browser;
  let service: TestService;
  let upstream: OAuthUpstream;
  let admin: Person;
  beforeAll(async () => {
    [browser, service, upstream] = await Promise.all([
      launch(),
      startService(),
      OAuthUpstream.start({ tools: TOOLS }),
    ]);
    admin = await newPerson(service, 'admin');
  });
  afterAll(async () => {
    await service?.close();
    await upstream?.close();
  });

  /** Uses a page that also goes to the server's own pages; on ours, the policy of the page must hold. */
  async function use(
    person: Person,
    work: (page: Page) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> {
    const context = await browser.newContext({ baseURL: service.url, ...options });
    const faults: string[] = [];
    try {
      const [name = '', value = ''] = person.cookie.split('=');
      await context.addCookies([{ name, value, url: service.url }]);
      const page = await context.newPage();
      page.on('console', message => {
        const own = page.url().startsWith(service.url);
        if (own && /content security policy/i.test(message.text())) faults.push(message.text());
      });
      page.on('pageerror', error => faults.push(error.message));
      await work(page);
      expect(faults).toEqual([]);
    } finally {
      await context.close();
    }
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  /** The pages of the server's provider. */
  async function signInAt(page: Page, login: string): Promise<void> {
    await page.locator('input[name=login]').fill(login);
    await page.locator('input[name=password]').fill('any');
    await button(page, 'Sign-in').click();
    await button(page, 'Continue').click();
  }

  test('a server behind OAuth is connected by one click and its tools appear', async () => {
    const { keyId } = await service.newKey([], { name: 'behind OAuth' });
    await use(admin, async page => {
      await page.goto(`/dashboard/keys/${keyId}`);
      await button(page, 'Add an MCP server').click();
      const dialog = page.getByRole('dialog', { name: 'Add an MCP server' });
      await dialog.getByLabel('Name').fill('eyes');
      await dialog.getByLabel('Address').fill(upstream.url);
      await dialog.getByLabel('Sign-in').selectOption('key');
      await dialog.getByText('An app of your own, and scopes').click();
      // A part of the address would do at some services, and let their answers go to other servers too.
      await dialog.getByText('an address that Edit shows once this is saved').waitFor();
      expect(await dialog.getByText('/oauth/callback').count()).toBe(0);
      await expectUsable(page);
      await button(page, 'Add').click();
      await page.getByText('sign in needed').waitFor();
      await button(page, 'Connect').click();
      await page.getByRole('heading', { name: 'Sign in to a server' }).waitFor();
      await expectUsable(page);
      await button(page, `Go to ${new URL(upstream.issuer).host}`).click();
      await signInAt(page, 'ann');
      await page.waitForURL(`**/dashboard/keys/${keyId}**`);
      await page.getByText('signed in').waitFor();
      await page.locator('.chip').getByText('look').waitFor();
      await expectUsable(page);
    });
    await use(
      admin,
      async page => {
        await page.goto(`/dashboard/keys/${keyId}`);
        await page.getByText('signed in').waitFor();
        await button(page, 'Edit').click();
        const dialog = page.getByRole('dialog', { name: 'Edit eyes' });
        await dialog.getByText('An app of your own, and scopes').click();
        await dialog.getByText(`${service.url}/oauth/callback/`).waitFor();
        await dialog.getByLabel('Name').fill('ears');
        await dialog.getByLabel('Headers').fill('X-Region: eu');
        await expectUsable(page);
        await dialog.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('heading', { name: /^ears/ }).waitFor();
        await page.getByText('with headers of its own').waitFor();
        await page.getByText('signed in').waitFor();
        await page.locator('.chip').getByText('look').waitFor();
        await page.locator('.server').getByRole('button', { name: 'Sign out' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
        await page.getByText('sign in needed').waitFor();
      },
      { ...PHONE, ...DARK },
    );
  });

  test('to a server that keys share, an admin signs in on its own page', async () => {
    const { keyId } = await service.newKey([], { name: 'has a shared one' });
    await use(admin, async page => {
      await page.goto('/dashboard/tool-servers?new');
      const dialog = page.getByRole('dialog', { name: 'Add a tool server' });
      await dialog.getByLabel('Name').fill('shared-eyes');
      await dialog.getByLabel('Address').fill(upstream.url);
      await dialog.getByLabel('Sign-in').selectOption('key');
      await dialog.getByText('The calls of all keys that use it use that account.').waitFor();
      await button(page, 'Add').click();
      await page.getByText('Somebody has to sign in to it first.').waitFor();
      await expectUsable(page);
      await button(page, 'Connect').click();
      await button(page, `Go to ${new URL(upstream.issuer).host}`).click();
      await signInAt(page, 'cy');
      await page.waitForURL('**/dashboard/tool-servers/**');
      await page.getByText('cy@server.example').waitFor();
      await page.getByText('1 tool to look at').waitFor();
      await button(page, 'Give it to a key').click();
      await page.getByRole('dialog').getByLabel('Key').selectOption('has a shared one');
      await button(page, 'Give').click();
      await page.getByRole('link', { name: 'has a shared one' }).click();
      // The key's page shows the sign-in, and leaves it to the page of the server.
      await page.waitForURL(`**/dashboard/keys/${keyId}`);
      await page.locator('.server').getByText('cy@server.example').waitFor();
      expect(await page.locator('.server').getByRole('button', { name: 'Sign out' }).count()).toBe(0);
      await page.getByRole('link', { name: 'Look at its tools' }).click();
      await page.locator('.page-head').getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
      await page.getByText('sign in needed').first().waitFor();
      await expectUsable(page);
    });
  });

  test('a person signs in to a server for themselves, and out again', async () => {
    const { keyId } = await service.newKey([], { name: 'for people' });
    const ann = await newPerson(service, 'user');
    await service.admin('PATCH', `/keys/${keyId}`, { openTo: [`person:${ann.email}`] });
    const tool = { name: 'own-eyes', transport: 'http', url: upstream.url, auth: 'oauth' };
    await service.admin('POST', `/keys/${keyId}/connected-tools`, { ...tool, oauth: { as: 'person' } });
    await use(admin, async page => {
      await page.goto(`/dashboard/keys/${keyId}`);
      await page.getByText('Everybody signs in to it for themselves.').waitFor();
      expect(await button(page, 'Connect').count()).toBe(0);
    });
    await use(
      ann,
      async page => {
        await page.goto('/dashboard/connections');
        await page.getByText('sign in needed').waitFor();
        await button(page, 'Connect').click();
        await button(page, `Go to ${new URL(upstream.issuer).host}`).click();
        await signInAt(page, 'bea');
        await page.getByRole('heading', { name: 'Signed in' }).waitFor();
        await expectUsable(page);
        await page.getByRole('link', { name: 'My connections' }).click();
        await page.getByText('bea@server.example').waitFor();
        await expectUsable(page);
        await page.locator('.server').getByRole('button', { name: 'Sign out' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
        await page.getByText('sign in needed').waitFor();
      },
      PHONE,
    );
  });
});
