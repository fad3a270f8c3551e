// The shadow of a key and the policy that its calls suggest, in a real browser, on SQLite: set, compared, promoted; suggested
// and opened in the editor.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { newPerson, type Person } from '../operators/people.ts';
import {
  DARK,
  expectUsable,
  hasBrowser,
  heading,
  type Look,
  launch,
  PHONE,
  visit,
} from '../support/browser.ts';
import { startService, type TestService } from '../support/service.ts';

/** A page is a client of the API, which is tested on both engines. */
describe.if(hasBrowser())('before a policy decides', () => {
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

  const use = (work: (page: Page) => Promise<void>, options: Look = {}, who = admin) =>
    visit(browser, service, who.cookie, work, options);
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  test('a shadow is set, its differences are shown with examples, and it is promoted', async () => {
    const { key, keyId, policyName } = await service.newKey([{ tool: '*', action: 'allow' }], {
      name: 'open',
    });
    const strict = await service.newKey([
      { tool: 'mail__*', action: 'allow' },
      { tool: 'bank__*', action: 'require_approval' },
    ]);
    const shown = async () => (await service.admin('GET', `/keys/${keyId}`)).body;
    await use(async page => {
      await page.goto(`/dashboard/keys/${keyId}`);
      await heading(page, 'open');
      await page.getByRole('link', { name: 'Shadow' }).click();
      await page.getByText('This key has no shadow').waitFor();
      await expectUsable(page);
      await page.getByLabel('Shadow').selectOption(strict.policyName);
      await button(page, 'Set the shadow').click();
      await page.getByText('The shadow judged no call in the last 7 days').waitFor();
      await expectUsable(page);
      expect((await shown()).shadowPolicyId).toBe(strict.policyId);
      for (const [server, tool] of [
        ['mail', 'send'],
        ['bank', 'pay'],
        ['bank', 'pay'],
        ['files', 'read'],
      ] as const)
        expect((await service.check(key, server, tool)).body.decision).toBe('allow');
      await button(page, 'Compare again').click();
      await page.getByText('3 of 4 calls would be decided otherwise; on 1 both agree.').waitFor();
      const row = page.locator('tbody tr').filter({ hasText: 'pay' });
      await row.getByText('pending').waitFor();
      expect(await row.locator('td[data-head="Calls"]').textContent()).toBe('2');
      await expectUsable(page);
      await row.getByRole('link', { name: 'Audit entry 1' }).click();
      await page.waitForURL('**/dashboard/audit?entry=*');
      const entry = page.getByRole('dialog', { name: 'Audit entry' });
      await entry.getByText(`by ${strict.policyName}, version 1, rule 1`).waitFor();
      await expectUsable(page);
      await page.goBack();
      await page.getByRole('link', { name: 'All of them in the audit log' }).click();
      await heading(page, 'Audit');
      expect(await page.getByLabel('Shadow').inputValue()).toBe('differs');
      await page.locator('tbody tr').nth(2).waitFor();
      expect(await page.locator('tbody tr').count()).toBe(3);
      await expectUsable(page);
      await page.goBack();
      await button(page, 'Promote').click();
      const dialog = page.getByRole('dialog', { name: 'Promote the shadow?' });
      await dialog.getByText(`in place of “${policyName}”`).waitFor();
      await dialog.getByText('2 calls').waitFor();
      await dialog.getByText('1 call:').waitFor();
      await expectUsable(page);
      await dialog.getByRole('button', { name: 'Promote' }).click();
      await page.getByText('This key has no shadow').waitFor();
    });
    expect(await shown()).toMatchObject({ policyId: strict.policyId, shadowPolicyId: null });
    expect((await service.check(key, 'files', 'read')).body.decision).toBe('deny');
  });

  test('a shadow is ended; on a phone in the dark the page fits; a viewer is offered nothing', async () => {
    const { key, keyId } = await service.newKey([{ tool: '*', action: 'allow' }], { name: 'watched' });
    const { policyId } = await service.newKey([]);
    await service.admin('PATCH', `/keys/${keyId}`, { shadowPolicyId: policyId });
    await service.check(key, 'a-server-with-a-long-name', 'a_tool_with_a_name_that_is_even_longer_than_that');
    const path = `/dashboard/keys/${keyId}?view=shadow`;
    await use(
      async page => {
        await page.goto(path);
        await page.getByText('1 of 1 call would be decided otherwise').waitFor();
        for (const name of ['Promote', 'End the shadow']) expect(await button(page, name).count()).toBe(0);
        await expectUsable(page);
      },
      { ...PHONE, ...DARK },
      await newPerson(service, 'viewer'),
    );
    await use(async page => {
      await page.goto(path);
      await button(page, 'End the shadow').click();
      await page.getByRole('dialog').getByRole('button', { name: 'End' }).click();
      await page.getByText('This key has no shadow').waitFor();
    }, PHONE);
    expect((await service.admin('GET', `/keys/${keyId}`)).body.shadowPolicyId).toBeNull();
  });

  test('a policy from the calls of a key is shown, and opened in the editor unsaved', async () => {
    const { key, keyId, policyId, policyName } = await service.newKey([{ tool: '*', action: 'allow' }], {
      name: 'busy',
    });
    await service.check(key, 'mail', 'send');
    await service.check(key, 'mail', 'list');
    for (const options of [{ ...PHONE, ...DARK }, {}]) {
      await use(async page => {
        await page.goto(`/dashboard/keys/${keyId}`);
        await page.getByRole('link', { name: 'Suggest a policy' }).click();
        const text = page.getByLabel('The suggested policy');
        await text.waitFor();
        expect(await text.inputValue()).toContain('mail__send');
        await page.getByLabel('Look at the calls of the').selectOption('Last 24 hours');
        await text.waitFor();
        await expectUsable(page);
        await page.getByRole('link', { name: 'Open in the editor' }).click();
        await heading(page, policyName);
        await page.getByText('called in the last 24 hours. Nothing is saved yet.').waitFor();
        await page.locator('.cm-content').getByText('mail__send').first().waitFor();
      }, options);
    }
    expect((await service.admin('GET', `/policies/${policyId}`)).body.version).toBe(1);
  });
});
