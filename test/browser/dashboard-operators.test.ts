// Webhooks, operators, settings and one's own account in a real browser, on SQLite; and what a role may not
// do, by page and by API.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import {
  newPerson,
  OTHER_PASSWORD,
  PASSWORD,
  type Person,
  send,
  signedIn,
  signIn,
} from '../operators/people.ts';
import { expectUsable, hasBrowser, heading, launch, visit } from '../support/browser.ts';
import { Receiver, verifies } from '../support/receiver.ts';
import { startService, type TestService } from '../support/service.ts';
import { suiteWhenChanged } from '../support/when-changed.ts';

const suite = suiteWhenChanged('dashboard/**', 'src/http/**', 'src/guard/people/**');

const PAGES = ['policies', 'keys', 'webhooks', 'operators', 'settings', 'account'];

/** A page is a client of the API, which is tested on both engines. */
suite.if(hasBrowser())('looking after things', () => {
  let browser: Browser;
  let service: TestService;
  let admin: Person;
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await Receiver.start();
    [browser, service] = await Promise.all([launch(), startService()]);
    admin = await newPerson(service, 'admin');
  });
  afterAll(async () => {
    await service?.close();
    await receiver?.close();
  });

  const use = (work: (page: Page) => Promise<void>, who = admin) => visit(browser, service, who.cookie, work);
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  /** Says yes in the dialog that is open. */
  async function confirm(page: Page, name: string): Promise<void> {
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  test('a webhook: registered, tried, told, told again, given a new secret, switched off and on, deleted', async () => {
    const { key } = await service.newKey([{ tool: '*', action: 'require_approval' }]);
    await use(async page => {
      await page.goto('/dashboard/webhooks');
      await page.getByText('No webhook is registered').waitFor();
      await expectUsable(page);
      await button(page, 'New webhook').click();
      await page.getByLabel('Address').fill(`${receiver.url}/hooks`);
      await page.getByLabel('A waiting call is answered').uncheck();
      await expectUsable(page);
      await button(page, 'Register').click();
      const secret = (await page.locator('.secret code').textContent()) ?? '';
      expect(secret).toStartWith('whsec_');
      await button(page, 'I have stored it').click();
      await heading(page, new URL(receiver.url).host);
      await button(page, 'Send a test event').click();
      await page.getByText(/^It answered 200 after/).waitFor();
      expect(receiver.events.map(each => verifies(secret, each))).toEqual([true]);
      receiver.answer = (_, earlier) => (earlier === 0 ? 503 : 200);
      await service.check(key, 'mail', 'send');
      await page.getByText(/^2 attempts, the last .* answered 200/).click();
      await page.getByText(/answered 503 after/).waitFor();
      await expectUsable(page);
      await button(page, 'Redeliver').click();
      await page.getByText(/^3 attempts/).waitFor();
      await button(page, 'New secret').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Make it' }).click();
      await page.getByText(/^whsec_/).waitFor();
      expect(await page.locator('.secret code').textContent()).not.toBe(secret);
      await button(page, 'I have stored it').click();
      await page.getByText(/signs too until/).waitFor();
      await button(page, 'Switch off').click();
      await confirm(page, 'Switch off');
      await page.getByText('switched off by an operator').waitFor();
      await button(page, 'Switch on').click();
      await button(page, 'Switch off').waitFor();
      await button(page, 'Delete').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('No webhook is registered').waitFor();
    });
  });

  test('an operator: invited by a link that works, given another role, removed', async () => {
    await use(async page => {
      await page.goto('/dashboard/operators');
      await button(page, 'Invite').click();
      await page.getByLabel('E-mail').fill('colleague@example.com');
      await page.getByLabel('Role', { exact: true }).selectOption('approver');
      await expectUsable(page);
      await button(page, 'Make the link').click();
      const link = (await page.locator('.secret code').textContent()) ?? '';
      const token = new URL(link).searchParams.get('token');
      const joined = await service.json('POST', '/admin/v1/join', null, { token, password: PASSWORD });
      expect(joined.body).toMatchObject({ email: 'colleague@example.com', role: 'approver' });
      await button(page, 'I have stored it').click();
      await page.reload();
      const row = page.locator('tr').filter({ hasText: 'colleague@example.com' });
      await row.getByText('active').waitFor();
      await row.getByLabel('Role of colleague@example.com').selectOption('viewer');
      await page.getByText('becomes viewer').waitFor();
      await expectUsable(page);
      await confirm(page, 'Change');
      expect((await signIn(service, 'colleague@example.com')).body.role).toBe('viewer');
      await row.getByRole('button', { name: 'Change the groups of colleague@example.com' }).click();
      await page.getByLabel('Groups', { exact: true }).fill('finance\n\n on call \n');
      await expectUsable(page);
      await confirm(page, 'Save');
      await row.getByText('on call', { exact: true }).waitFor();
      expect((await signIn(service, 'colleague@example.com')).body.groups).toEqual(['finance', 'on call']);
      await row.getByRole('button', { name: 'Remove' }).click();
      await confirm(page, 'Remove');
      await row.waitFor({ state: 'detached' });
      expect((await signIn(service, 'colleague@example.com')).status).toBe(401);
    });
  });

  test('settings are shown with their origin and found by a search that stands in the address', async () => {
    await use(async page => {
      await page.goto('/dashboard/settings?search=changed');
      await page.getByText('TOOLGATE_DATA_DIR').waitFor();
      expect(await page.getByText('TOOLGATE_LOG_LEVEL').count()).toBe(0);
      await page.locator('tr').filter({ hasText: 'TOOLGATE_ADMIN_TOKEN' }).getByText('********').waitFor();
      await expectUsable(page);
      await page.getByLabel('Find a setting').fill('approval');
      await page.getByText('TOOLGATE_APPROVAL_TIMEOUT').waitFor();
      await page.waitForURL(url => url.href.endsWith('?search=approval'));
    });
  });

  test('the account: a wrong password and two that differ are said in place, the other sign-ins end', async () => {
    const person = await newPerson(service, 'viewer');
    const other = await signedIn(service, person.email);
    await use(async page => {
      await page.goto('/dashboard');
      await page.getByRole('link', { name: person.email }).first().click();
      await heading(page, 'Your account');
      await page.getByText('this one').waitFor();
      expect(await page.locator('tbody tr').count()).toBe(2);
      await expectUsable(page);
      const change = async (now: string, wanted: string, again = wanted) => {
        await page.getByLabel('Current password').fill(now);
        await page.getByLabel('New password', { exact: true }).fill(wanted);
        await page.getByLabel('New password again').fill(again);
        await button(page, 'Change the password').click();
      };
      await change(PASSWORD, OTHER_PASSWORD, PASSWORD);
      await page.getByRole('alert').getByText('not the same').waitFor();
      await change('nonsense', OTHER_PASSWORD);
      await page.getByRole('alert').getByText('is not your password').waitFor();
      await change(PASSWORD, OTHER_PASSWORD);
      await page.getByText('Your password is changed').waitFor();
      expect((await send(service, 'GET', '/admin/v1/me', { cookie: other })).status).toBe(401);
      await button(page, 'Sign out everywhere').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
      await heading(page, 'Sign in');
    }, person);
  });

  test('a viewer and an approver see it all and are offered nothing that they may not do', async () => {
    const { policyId, keyId } = await service.newKey([{ tool: '*', action: 'allow' }], { name: 'seen' });
    const hook = await service.admin('POST', '/webhooks', { url: `${receiver.url}/hooks` });
    const deeper = [`policies/${policyId}`, `keys/${keyId}`, `webhooks/${hook.body.id}`];
    const forms = ['policies/new', 'keys?new', 'webhooks?new', 'operators?new'];
    for (const role of ['viewer', 'approver'] as const) {
      const person = await newPerson(service, role);
      await use(async page => {
        for (const path of [...PAGES, ...deeper, ...forms]) {
          await page.goto(`/dashboard/${path}`);
          await page.getByRole('heading', { level: 1 }).waitFor();
          await page.locator('.loading').first().waitFor({ state: 'detached' });
          const offered = await page
            .locator('main button:visible:enabled, main .button:visible')
            .allTextContents();
          const harmless = /^(Copy id|Read again|Its audit log|Sign out everywhere|Change the password)$/;
          expect([path, offered.filter(words => !harmless.test(words.trim()))]).toEqual([path, []]);
        }
        await page.goto(`/dashboard/policies/${policyId}`);
        await page.locator('.cm-content').click();
        await page.keyboard.insertText('# not mine');
        expect(await page.locator('.cm-content').textContent()).not.toContain('not mine');
      }, person);
      const from = { cookie: person.cookie };
      const changes: [string, string, unknown][] = [
        ['POST', '/policies', { name: 'x', rules: [] }],
        ['PUT', `/policies/${policyId}`, { rules: [] }],
        ['POST', '/keys', { name: 'x', policyId }],
        ['DELETE', `/keys/${keyId}`, undefined],
        ['POST', '/webhooks', { url: receiver.url }],
        ['POST', `/webhooks/${hook.body.id}/rotate-secret`, {}],
        ['POST', '/operators', { email: 'x@example.com', role: 'admin' }],
      ];
      for (const [method, path, body] of changes) {
        const reply = await send(service, method, `/admin/v1${path}`, from, body);
        expect([role, method, path, reply.status]).toEqual([role, method, path, 403]);
      }
    }
  });
});
