// Passkeys in a real browser, with its virtual authenticator: added on the account page, used to sign in, renamed and
// removed; and what the pages say where there are none.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { newPerson, type Person } from '../operators/people.ts';
import {
  DARK,
  expectUsable,
  hasBrowser,
  heading,
  launch,
  PHONE,
  visit,
  visitAlone,
  withDevice,
} from '../support/browser.ts';
import { freePort } from '../support/port.ts';
import { startService, type TestService } from '../support/service.ts';

describe.if(hasBrowser())('passkeys', () => {
  let browser: Browser;
  let service: TestService;
  let person: Person;
  beforeAll(async () => {
    const port = String(await freePort());
    const env = { TOOLGATE_PORT: port, TOOLGATE_PUBLIC_URL: `http://localhost:${port}` };
    [browser, service] = await Promise.all([launch(), startService({ env })]);
    person = await newPerson(service, 'viewer');
  });
  afterAll(() => service?.close());

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  async function add(page: Page, name: string): Promise<void> {
    await page.goto('/dashboard/account');
    await button(page, 'Add a passkey').click();
    await page.getByRole('dialog').getByLabel('Name').fill(name);
    await button(page, 'Go on').click();
  }

  async function signOut(page: Page): Promise<void> {
    await page.context().clearCookies();
    // The page may have noticed, and be on its way to the sign-in.
    await page.goto('/dashboard/account').catch(() => {});
    await heading(page, 'Sign in');
  }

  test('added, used, renamed, removed, and refused from then on', async () => {
    await visit(browser, service, person.cookie, async page => {
      await withDevice(page);
      await page.goto('/dashboard/account');
      await page.getByText('You have no passkey').waitFor();
      await add(page, 'My <laptop>');
      const row = page.getByRole('row', { name: /My <laptop>/ });
      await row.getByText('never').waitFor();
      await expectUsable(page);

      // The device has one already.
      await add(page, 'Once more');
      await page.getByRole('alert').getByText('on this device already').waitFor();

      await signOut(page);
      await expectUsable(page);
      await button(page, 'Sign in with a passkey').click();
      await heading(page, 'Your account');
      expect(await row.getByText('never').count()).toBe(0);

      await row.getByRole('button', { name: 'Rename' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill('Desk');
      await button(page, 'Save').click();
      const desk = page.getByRole('row', { name: /Desk/ });
      await desk.getByRole('button', { name: 'Remove' }).click();
      await expectUsable(page);
      await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
      await page.getByText('You have no passkey').waitFor();

      await signOut(page);
      await button(page, 'Sign in with a passkey').click();
      await page.getByRole('alert').getByText('This passkey is not known here').waitFor();
      await expectUsable(page);
    });
  });

  test('without a passkey, or without a lock, the page says so and the password still works', async () => {
    await visit(browser, service, null, async page => {
      await withDevice(page, false);
      await page.goto('/dashboard/sign-in');
      await button(page, 'Sign in with a passkey').click();
      await page.getByRole('alert').getByText('No passkey was chosen').waitFor();
      expect(await button(page, 'Sign in with a passkey').isEnabled()).toBe(true);
      await expectUsable(page);
    });
    await visit(browser, service, person.cookie, async page => {
      await withDevice(page, false);
      await add(page, 'No lock');
      await page.getByRole('alert').getByText('No passkey was used').waitFor();
    });
  });

  test('in the dark and on a phone it is as usable', async () => {
    for (const options of [DARK, PHONE]) {
      await visit(
        browser,
        service,
        person.cookie,
        async page => {
          await page.goto('/dashboard/account');
          await button(page, 'Add a passkey').click();
          await expectUsable(page);
          await signOut(page);
          await button(page, 'Sign in with a passkey').waitFor();
          await expectUsable(page);
        },
        options,
      );
    }
  });

  test('without script, without WebAuthn, and under another address there is no button', async () => {
    const shown = (page: Page) => button(page, 'Sign in with a passkey').isVisible();
    await visitAlone(
      browser,
      service,
      null,
      async page => {
        await page.goto('/dashboard/sign-in');
        expect(await shown(page)).toBe(false);
        expect(await button(page, 'Sign in').isVisible()).toBe(true);
      },
      { javaScriptEnabled: false },
    );
    await visit(browser, service, person.cookie, async page => {
      await page.addInitScript('delete window.PublicKeyCredential');
      await page.goto('/dashboard/account');
      await page.getByText('This browser cannot use passkeys').waitFor();
      expect(await button(page, 'Add a passkey').count()).toBe(0);
      await signOut(page);
      expect(await shown(page)).toBe(false);
    });
    const elsewhere = Object.create(service, {
      url: { value: service.url.replace('localhost', '127.0.0.1') },
    }) as TestService;
    await visit(browser, elsewhere, person.cookie, async page => {
      await page.goto('/dashboard/account');
      await page.getByText(`Passkeys work at ${service.url}`).waitFor();
      await page.goto('/dashboard/sign-in');
      expect(await shown(page)).toBe(false);
    });
  });
});
