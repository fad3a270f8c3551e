// The pages for changes, notifications, shipping and health in a real browser: who changed what, with links that lead
// there; how each channel does, and a test message by hand; how far the audit log was shipped; what the doctor found.
// Both widths.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { newPerson, type Person } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, PHONE, visit } from '../support/browser.ts';
import { newDataDir, until } from '../support/faults.ts';
import { Receiver } from '../support/receiver.ts';
import { startService, type TestService } from '../support/service.ts';

const SIZES = [
  ['on a wide screen', {}],
  ['on a phone in the dark', { ...PHONE, ...DARK }],
] as const;

describe.if(hasBrowser())('changes and notifications', () => {
  let browser: Browser;
  let service: TestService;
  let receiver: Receiver;
  let shipped: Receiver;
  let dataDir: string;
  let viewer: Person;
  let admin: Person;
  beforeAll(async () => {
    receiver = await Receiver.start();
    shipped = await Receiver.start();
    dataDir = newDataDir();
    const config = join(dataDir, 'toolgate.yaml');
    const to = (url: string) => ({ type: 'http', url });
    writeFileSync(
      config,
      JSON.stringify({
        channels: { desk: to(receiver.url), pager: to('http://127.0.0.1:1/') },
        shipping: { archive: to(shipped.url), siem: to('http://127.0.0.1:1/') },
      }),
    );
    const env = { TOOLGATE_CONFIG: config };
    [browser, service] = await Promise.all([launch(), startService({ engine: 'sqlite', env })]);
    viewer = await newPerson(service, 'viewer');
    admin = await newPerson(service, 'admin');
    const notify = ['desk', 'pager'];
    const { key } = await service.newKey([{ tool: '*', action: 'require_approval', notify }], {
      name: 'asking agent',
    });
    const { referenceId } = (await service.check(key, 's', 't')).body;
    await until('both were tried', async () => {
      const { channels } = (await service.admin('GET', '/notifications/channels')).body;
      const states = channels.map(({ name, state }: Record<string, string>) => `${name} ${state}`);
      return states.includes('desk ok') && states.includes('pager failing');
    });
    await service.admin('POST', `/approvals/${referenceId}/resolve`, { action: 'deny' });
  });
  afterAll(async () => {
    await service?.close();
    await receiver?.close();
    await shipped?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const row = (page: Page, ...texts: string[]) =>
    texts.reduce((rows, text) => rows.filter({ hasText: text }), page.locator('tbody tr')).first();

  for (const [where, options] of SIZES) {
    test(`who changed what is listed, and leads there, ${where}`, async () => {
      await visit(
        browser,
        service,
        viewer.cookie,
        async page => {
          await page.goto('/dashboard/changes');
          await heading(page, 'Changes');
          const answer = row(page, 'Call denied', 'the admin token');
          await answer.getByRole('link', { name: /__/ }).waitFor();
          expect(await answer.getByRole('link', { name: /__/ }).getAttribute('title')).toStartWith('Id: ');
          await row(page, 'Operator invited', viewer.email).waitFor();
          await expectUsable(page);
          await row(page, 'Key created', 'asking agent').getByRole('link', { name: 'asking agent' }).click();
          await heading(page, 'asking agent');
        },
        options,
      );
    });

    test(`each channel says how it does, and is tested by hand, ${where}`, async () => {
      await visit(
        browser,
        service,
        admin.cookie,
        async page => {
          await page.goto('/dashboard/notifications');
          await heading(page, 'Notifications');
          await row(page, 'desk', 'works').waitFor();
          await row(page, 'pager', 'failing').waitFor();
          await expectUsable(page);
          const arrived = receiver.arrivals.length;
          await row(page, 'desk').getByRole('button', { name: 'Send a test' }).click();
          await page.getByText('The test message by desk was sent.').first().waitFor({ state: 'attached' });
          expect(receiver.arrivals.length).toBe(arrived + 1);
          await row(page, 'pager').getByRole('button', { name: 'Send a test' }).click();
          await row(page, 'pager').getByRole('alert').getByText('Not sent: ').waitFor();
          await expectUsable(page);
        },
        options,
      );
    });

    test(`what is wrong stands first, with what to do, and can be looked at again, ${where}`, async () => {
      await visit(
        browser,
        service,
        admin.cookie,
        async page => {
          await page.goto('/dashboard/health');
          await heading(page, 'Health');
          await page.getByText('Bad: 2; warnings: ').waitFor();
          await page.locator('nav a', { hasText: 'Health2 bad' }).first().waitFor({ state: 'attached' });
          const worst = page.locator('tbody tr').first();
          await worst.filter({ hasText: 'channel pager' }).getByText('Is channels.pager.url right').waitFor();
          await row(page, 'channel desk', 'good').waitFor();
          await expectUsable(page);
          const answered = page.waitForResponse(response => response.url().endsWith('/admin/v1/doctor'));
          await page.getByRole('button', { name: 'Look again' }).click();
          expect((await answered).status()).toBe(200);
        },
        options,
      );
    });
  }

  test('each target of shipping says how far it has come', async () => {
    await until('both were tried', async () => {
      const { targets } = (await service.admin('GET', '/shipping')).body;
      return targets.map(({ state }: Record<string, string>) => state).join() === 'ok,failing';
    });
    for (const [, options] of SIZES) {
      await visit(
        browser,
        service,
        viewer.cookie,
        async page => {
          await page.goto('/dashboard/shipping');
          await heading(page, 'Shipping');
          await row(page, 'archive', 'works', 'entry 0').waitFor();
          await row(page, 'siem', 'failing', '1 entry', 'connection refused').waitFor();
          await expectUsable(page);
        },
        options,
      );
    }
  });

  test('who may not administer sees no health', async () => {
    await visit(browser, service, viewer.cookie, async page => {
      await page.goto('/dashboard/health');
      await page.getByText('Only admins can look at this').waitFor();
      expect(await page.getByRole('link', { name: 'Health' }).count()).toBe(0);
    });
  });

  test('who may not administer sees no button', async () => {
    await visit(browser, service, viewer.cookie, async page => {
      await page.goto('/dashboard/notifications');
      await row(page, 'desk', 'works').waitFor();
      expect(await page.getByRole('button', { name: 'Send a test' }).count()).toBe(0);
    });
  });
});
