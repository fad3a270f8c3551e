// People of the role `user` in a real browser, on SQLite: the pages about oneself and no others; and what admins and
// approvers see of people.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { startOAuth } from '../oauth/connect.ts';
import { connected } from '../operators/connected.ts';
import { newPerson, type Person, send } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, PHONE, visit } from '../support/browser.ts';
import { startService, type TestService } from '../support/service.ts';
import { suiteWhenChanged } from '../support/when-changed.ts';

const suite = suiteWhenChanged('dashboard/**', 'src/http/**', 'src/guard/people/**');

const OWN_PAGES = ['My connections', 'My calls', 'My approvals', 'Account'];

/** A page is a client of the API, which is tested on both engines. */
suite.if(hasBrowser())('people', () => {
  let browser: Browser;
  let service: TestService;
  let admin: Person;
  let ann: Person;
  let keyId: string;
  beforeAll(async () => {
    [browser, service] = await Promise.all([launch(), startOAuth()]);
    [admin, ann] = await Promise.all([newPerson(service, 'admin'), newPerson(service, 'user')]);
    await service.admin('PATCH', `/operators/${ann.id}`, { groups: ['dev'] });
    const rules = [
      { tool: 'look', action: 'allow' as const },
      { tool: 'ship', action: 'require_approval' as const, reason: 'Releases need a person.' },
    ];
    ({ keyId } = await service.newKey(rules, { name: 'shared key', openTo: ['group:dev'] }));
  });
  afterAll(() => service?.close());

  const nav = (page: Page) => page.locator('.unfolded nav').getByRole('link');
  const confirm = (page: Page, action: string) =>
    page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click();

  test('a user lands on their connections, has only pages of their own, and asks for nothing else', async () => {
    const one = await connected(service, ann, keyId, 'Desk Client');
    await service.check(one.token, 'prod', 'look');
    const { referenceId } = (await service.check(one.token, 'prod', 'ship')).body;
    await visit(browser, service, ann.cookie, async page => {
      const refused: string[] = [];
      page.on('response', response => {
        if (response.status() === 403) refused.push(response.url());
      });
      await page.goto('/dashboard');
      await heading(page, 'My connections');
      await page.waitForURL('**/dashboard/connections');
      expect((await nav(page).allTextContents()).map(text => text.trim())).toEqual(OWN_PAGES);
      await page.getByRole('row').filter({ hasText: 'Desk Client' }).getByText('shared key').waitFor();
      await page.getByText(`${service.url}/mcp`, { exact: true }).waitFor();
      await expectUsable(page);

      await nav(page).filter({ hasText: 'My calls' }).click();
      await heading(page, 'My calls');
      await page
        .getByRole('row')
        .filter({ hasText: 'prod__look' })
        .getByText('allow', { exact: true })
        .waitFor();
      await page.getByLabel('Decision').selectOption('pending');
      await page.getByRole('row').filter({ hasText: 'prod__look' }).waitFor({ state: 'detached' });
      await expectUsable(page);

      await nav(page).filter({ hasText: 'My approvals' }).click();
      const row = page.getByRole('row').filter({ hasText: 'ship' });
      await row.getByText('waiting').waitFor();
      await expectUsable(page);
      await service.admin('POST', `/approvals/${referenceId}/resolve`, {
        action: 'deny',
        note: 'Not today.',
      });
      // The page reads again by itself while something waits.
      await row.getByText('denied').waitFor();
      await row.getByText('Not today.').waitFor();

      await nav(page).filter({ hasText: 'Account' }).click();
      await heading(page, 'Your account');
      await page.goto(`/dashboard/keys/${keyId}`);
      await page.getByText('There is no such page').waitFor();
      await page.getByRole('link', { name: 'Go to the start page' }).click();
      await heading(page, 'My connections');
      expect(refused).toEqual([]);

      await page.getByRole('button', { name: 'Disconnect' }).click();
      await expectUsable(page);
      await confirm(page, 'Disconnect');
      await page.getByText('Nothing is connected').waitFor();
      expect((await service.check(one.token, 'prod', 'look')).status).toBe(401);
    });
  });

  test('on a phone and in the dark too', async () => {
    await connected(service, ann, keyId, 'A client with a rather long name, version 2.14');
    for (const options of [PHONE, DARK])
      await visit(
        browser,
        service,
        ann.cookie,
        async page => {
          for (const path of ['connections', 'calls', 'my-approvals']) {
            await page.goto(`/dashboard/${path}`);
            await page.getByRole('row').nth(1).waitFor({ state: 'attached' });
            await expectUsable(page);
          }
        },
        options,
      );
  });

  test('an admin opens a key to people, sees whose its sessions are and ends one', async () => {
    const { token } = await connected(service, ann, keyId, 'Pocket Client');
    await visit(browser, service, admin.cookie, async page => {
      await page.goto(`/dashboard/keys/${keyId}`);
      const panel = page.locator('.panel').filter({ hasText: 'Open to people' });
      await panel.getByText('group dev').waitFor();
      await panel.getByRole('button', { name: 'Change who' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Groups').fill('ops');
      await dialog.getByLabel('Groups').press('Enter');
      await dialog.getByText('ops', { exact: true }).waitFor();
      await expectUsable(page);
      // What was typed and not added is added when the form is sent.
      await dialog.getByLabel('People').fill('Not an address');
      await confirm(page, 'Save');
      await dialog.getByRole('alert').getByText('must be group:<name> or person:<e-mail>').waitFor();
      await dialog.getByRole('button', { name: 'Remove Not an address' }).click();
      await dialog.getByLabel('People').fill('Zoe@example.com');
      await confirm(page, 'Save');
      await dialog.waitFor({ state: 'detached' });
      await panel.getByText('zoe@example.com').waitFor();
      const { keys } = (await service.admin('GET', '/keys?limit=1000')).body;
      const { openTo } = keys.find((key: { id: string }) => key.id === keyId);
      expect(openTo).toEqual(['group:dev', 'group:ops', 'person:zoe@example.com']);

      const row = page.getByRole('row').filter({ hasText: 'Pocket Client' });
      await row.getByText(ann.email).waitFor();
      await expectUsable(page);
      await row.getByRole('button', { name: 'Revoke' }).click();
      await confirm(page, 'Revoke');
      await row.getByText('revoked').waitFor();
      expect((await service.check(token, 'prod', 'look')).status).toBe(401);
    });
  });

  test('the inbox, an approval’s own page and the audit log say for whom a call was made', async () => {
    const { token } = await connected(service, ann, keyId, 'Desk Client');
    const { referenceId } = (await service.check(token, 'prod', 'ship')).body;
    const { key } = await service.newKey([{ tool: '*', action: 'allow' }]);
    await service.check(key, 'prod', 'by_key');
    await visit(browser, service, admin.cookie, async page => {
      await page.goto('/dashboard/approvals');
      await page.locator('.question').getByText(ann.email).first().waitFor();
      await page.goto(`/dashboard/approvals/${referenceId}`);
      await page.getByRole('link', { name: ann.email }).click();
      await heading(page, 'Audit');
      await page.waitForURL(`**/audit?personId=${ann.id}`);
      await page.getByText(`for ${ann.email}`).first().waitFor();
      expect(await page.getByLabel('Person').inputValue()).toBe(ann.id);
      expect(await page.getByText('by_key').count()).toBe(0);
      await expectUsable(page);
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await page.getByText('by_key', { exact: true }).waitFor();

      await page.getByRole('link', { name: admin.email }).first().click();
      await heading(page, 'Your account');
      const tabs = page.getByRole('navigation', { name: 'Yours' }).getByRole('link');
      expect((await tabs.allTextContents()).toSorted()).toEqual(OWN_PAGES.toSorted());
      await tabs.filter({ hasText: 'My connections' }).click();
      await page.getByText('Nothing is connected').waitFor();
      await expectUsable(page);
    });
  });

  test('where clients cannot sign in, both pages that are about it say so', async () => {
    const off = await startService();
    try {
      const other = await newPerson(off, 'admin');
      const id = (await off.newKey([])).keyId;
      await visit(browser, off, other.cookie, async page => {
        await page.goto('/dashboard/connections');
        await page.getByText('Clients cannot sign in to this service').waitFor();
        await page.goto(`/dashboard/keys/${id}`);
        await page.getByText('TOOLGATE_OAUTH is off, so clients cannot sign in').waitFor();
        await page.getByText('Nobody: only whoever has the key can use it.').waitFor();
        await expectUsable(page);
      });
    } finally {
      await off.close();
    }
  });

  test('somebody is invited as a user, and the page behind the link says what that means', async () => {
    await visit(browser, service, admin.cookie, async page => {
      await page.goto('/dashboard/operators?new');
      await page.getByLabel('E-mail').fill('new@example.com');
      await page.getByLabel('Role', { exact: true }).selectOption('user');
      await confirm(page, 'Make the link');
      const link = (await page.locator('.secret code').textContent()) ?? '';
      const { status, text } = await send(service, 'GET', new URL(link).pathname + new URL(link).search);
      expect(status).toBe(200);
      expect(text).toContain('in the role user: you can use agents and MCP clients with this service');
    });
  });
});
