// The first steps on the overview, in a real browser: they tick themselves, and go away when all are done or when somebody
// dismisses them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { newPerson, type Person } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, PHONE, visit } from '../support/browser.ts';
import { startService, type TestService } from '../support/service.ts';

/** A page is a client of the API, which is tested on both engines. */
describe.if(hasBrowser())('the first steps', () => {
  let browser: Browser;
  let service: TestService;
  let admin: Person;
  beforeAll(async () => {
    [browser, service] = await Promise.all([launch(), startService()]);
    admin = await newPerson(service, 'admin');
  });
  afterAll(async () => {
    await service?.close();
  });

  const steps = (page: Page) => page.getByRole('heading', { name: /^First steps/ });
  const stepsDone = (page: Page, count: number) =>
    page.getByRole('heading', { name: `First steps: ${count} of 7 done` }).waitFor();
  const isDone = (page: Page, name: string) =>
    page.locator('.checklist li.done').filter({ hasText: name }).waitFor();

  test('whoever dismisses them does not see them again in this browser; only admins see them', async () => {
    for (const options of [{}, { ...DARK, ...PHONE }]) {
      await visit(
        browser,
        service,
        admin.cookie,
        async page => {
          await page.goto('/dashboard');
          await stepsDone(page, 2);
          await isDone(page, 'Create the first operator');
          await isDone(page, 'Make a key');
          await expectUsable(page);
          await page.getByRole('button', { name: 'Dismiss' }).click();
          await steps(page).waitFor({ state: 'detached' });
          await page.reload();
          await page.getByText('No verdict in the last 24 hours').waitFor();
          expect(await steps(page).count()).toBe(0);
        },
        options,
      );
    }
    const viewer = await newPerson(service, 'viewer');
    await visit(browser, service, viewer.cookie, async page => {
      await page.goto('/dashboard');
      await page.getByText('No verdict in the last 24 hours').waitFor();
      expect(await steps(page).count()).toBe(0);
    });
  });

  test('each ticks itself; when all are done they are gone, and nothing is asked for them', async () => {
    await visit(browser, service, admin.cookie, async page => {
      await page.goto('/dashboard');
      await stepsDone(page, 2);
      await page.locator('.liveness.on').first().waitFor({ state: 'attached' });
      for (const [step, link, title] of [
        ['Write a policy', 'write another', 'New policy'],
        ['Make the first call', 'audit log', 'Audit'],
        ['Answer the first', 'Approvals', 'Approvals'],
        ['Register a webhook', 'register its address', 'Webhooks'],
      ] as const) {
        await page
          .locator('.checklist li')
          .filter({ hasText: step })
          .getByRole('link', { name: link })
          .click();
        await heading(page, title);
        await page.getByRole('link', { name: 'Overview' }).first().click();
        await stepsDone(page, 2);
      }
      const { key } = await service.newKey([{ tool: '*', action: 'require_approval' }]);
      const made = await service.admin('POST', '/webhooks', { url: `${service.url}/nowhere` });
      expect(made.status).toBe(201);
      await page.getByRole('link', { name: 'Audit' }).first().click();
      await page.getByRole('link', { name: 'Overview' }).first().click();
      await stepsDone(page, 4);
      await isDone(page, 'Write a policy');
      await isDone(page, 'Register a webhook');
      const { referenceId } = (await service.check(key, 'mail', 'send')).body;
      await stepsDone(page, 6);
      await isDone(page, 'Connect a client');
      await isDone(page, 'Make the first call');
      await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'approve' });
      await steps(page).waitFor({ state: 'detached' });
      const asked: string[] = [];
      page.on('request', request => asked.push(request.url()));
      await page.reload();
      await page.getByText('Top tools').waitFor();
      expect(asked.filter(url => url.includes('/admin/v1/webhooks'))).toEqual([]);
      expect(await steps(page).count()).toBe(0);
    });
  });
});
