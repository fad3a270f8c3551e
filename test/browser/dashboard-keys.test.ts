// Keys in a real browser, on SQLite: a secret that is shown once cannot be closed by mistake, the list says what one has to
// look after, and a server that is added is really contacted.

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
import { until } from '../support/faults.ts';
import { connect, ECHO, RecordingUpstream } from '../support/mcp.ts';
import { startService, type TestService } from '../support/service.ts';

/** Run in the page: collects what is announced, because each announcement fades after six seconds. */
const COLLECT = `
  window.announced = [];
  const region = document.querySelector('.announcement');
  new MutationObserver(() => window.announced.push(region.textContent))
    .observe(region, { childList: true, characterData: true, subtree: true });
`;
const announced = (page: Page, text: string) =>
  until(`"${text}" is announced`, async () => {
    const all = await page.evaluate<string[]>('window.announced');
    return all.some(each => each.includes(text));
  });

/** A page is a client of the API, which is tested on both engines. */
describe.if(hasBrowser())('keys', () => {
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

  const use = (work: (page: Page) => Promise<void>, options: Look = {}) =>
    visit(browser, service, admin.cookie, work, options);
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  test('a key that is shown once goes only when somebody says that it is stored', async () => {
    await service.newKey([], { name: 'another' });
    await use(async page => {
      await page.goto('/dashboard/policies');
      await page.getByRole('link', { name: 'Keys', exact: true }).click();
      await button(page, 'New key').click();
      const dialog = page.getByRole('dialog', { name: 'New key' });
      await dialog.getByLabel('Name').fill('shown once');
      await button(page, 'Create the key').click();
      const once = page.getByRole('dialog', { name: 'Your new key' });
      const key = await once.locator('.secret code').textContent();
      await button(page, 'Make a command for another machine').click();
      await once.getByText(/^curl -fsS 'http:.*\/connect\.sh\?token=tg_con_.*' \| sh$/).waitFor();
      // On a low screen too.
      await page.setViewportSize({ width: 1280, height: 500 });
      const lowest = await button(page, 'I have stored it').boundingBox();
      expect((lowest?.y ?? 500) + (lowest?.height ?? 0)).toBeLessThanOrEqual(500);
      // The browser lets nobody refuse a second Escape.
      for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Escape');
      await once.getByRole('status').getByText('The key is shown only now').waitFor();
      // Going back would lead to the page before, without the browser's question.
      for (let times = 0; times < 2; times++) await page.goBack();
      await page.mouse.click(2, 2);
      expect(await once.getByRole('button', { name: 'Close' }).count()).toBe(0);
      await once.evaluate('document.querySelector("dialog[open]").close()');
      await once
        .getByText(key ?? '', { exact: true })
        .first()
        .waitFor();
      expect(await once.locator('.secret code').textContent()).toBe(key);
      await expectUsable(page);
      const asked = page.waitForEvent('dialog');
      await page.evaluate('setTimeout(() => location.reload())');
      const question = await asked;
      expect(question.type()).toBe('beforeunload');
      await question.dismiss();
      expect(await once.locator('.secret code').textContent()).toBe(key);
      await button(page, 'I have stored it').click();
      await heading(page, 'shown once');
      expect(await page.content()).not.toContain(key ?? '-');
    });
  });

  test('the list says when each key was last used, when it ends, what changed, and its shadow', async () => {
    const upstream = new RecordingUpstream({ tools: [ECHO, { ...ECHO, name: 'look' }] });
    const soon = new Date(Date.now() + 3 * 86_400_000).toISOString();
    const later = new Date(Date.now() + 100 * 86_400_000).toISOString();
    const rules = [{ tool: '*', action: 'allow' as const }];
    const busy = await service.newKey(rules, { name: 'busy one', expiresAt: soon });
    const quiet = await service.newKey(rules, { name: 'quiet one', expiresAt: later });
    await service.admin('PATCH', `/keys/${busy.keyId}`, { shadowPolicyId: quiet.policyId });
    const tool = await connect(service, busy.keyId, 'eyes', upstream.url);
    const test = () => service.admin('POST', `/keys/${busy.keyId}/connected-tools/${tool}/test`);
    await test();
    upstream.options.tools = [{ ...ECHO, description: 'Something else.' }];
    await test();
    for (const options of [{}, { ...PHONE, ...DARK }]) {
      await use(async page => {
        await page.goto('/dashboard/keys');
        const row = (name: string) => page.locator('tr').filter({ hasText: name });
        const cell = (name: string, head: string) => row(name).locator(`td[data-head="${head}"]`);
        await cell('busy one', 'Expires').locator('.soon').getByText('soon: in 2 d').waitFor();
        await cell('busy one', 'Changed tools').getByText('1 tool').waitFor();
        await cell('busy one', 'Policy').getByRole('link', { name: quiet.policyName }).waitFor();
        await cell('quiet one', 'Expires').getByText('in 99 d').waitFor();
        expect(await cell('quiet one', 'Expires').locator('.soon').count()).toBe(0);
        await cell('quiet one', 'Changed tools').getByText('none').waitFor();
        await cell('quiet one', 'Last used').getByText('never').waitFor();
        await page.locator('.liveness.on').first().waitFor({ state: 'attached' });
        await service.check(busy.key, 'mail', 'send');
        await cell('busy one', 'Last used')
          .getByText(/just now|ago/)
          .waitFor();
        await expectUsable(page);
        await page.getByRole('link', { name: 'busy one' }).click();
        await heading(page, 'busy one');
        await page.locator('.facts').getByText('soon: in 2 d').waitFor();
        await expectUsable(page);
      }, options);
    }
    await use(async page => {
      await page.goto(`/dashboard/keys/${Bun.randomUUIDv7()}`);
      await page.getByText('There is no key with this id').waitFor();
      await page.goto('/dashboard/policies/nowhere');
      await page.getByText('There is no policy with this id').waitFor();
      expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    });
    await upstream.stop();
  });

  test('each tool of a key says what the policy says about it, in a word too', async () => {
    const names = ['get', 'send', 'remove', 'pay', 'other'];
    const upstream = new RecordingUpstream({ tools: names.map(name => ({ ...ECHO, name })) });
    const { keyId, policyId } = await service.newKey([
      { tool: 'bank__get', action: 'allow' },
      { tool: 'bank__send', action: 'require_approval' },
      { tool: 'bank__remove', action: 'deny' },
      { tool: 'bank__pay', action: 'allow', when: 'args.amount < 10' },
    ]);
    await connect(service, keyId, 'bank', upstream.url);
    const { connectedTools } = (await service.admin('GET', `/keys/${keyId}/connected-tools`)).body;
    await service.admin('POST', `/keys/${keyId}/connected-tools/${connectedTools[0].id}/test`);
    const said = async (page: Page, name: string, word: string) =>
      page.locator('.chip').filter({ hasText: name }).getByText(word, { exact: true }).waitFor();
    for (const options of [{}, { ...PHONE, ...DARK }]) {
      await use(async page => {
        await page.goto(`/dashboard/keys/${keyId}`);
        await said(page, 'get', 'allowed');
        await said(page, 'send', 'asks');
        await said(page, 'remove', 'denied');
        await said(page, 'pay', 'depends');
        await said(page, 'other', 'denied');
        await page.getByText('by its arguments, its caller, the time or a limit').waitFor();
        await expectUsable(page);
      }, options);
    }
    await service.admin('PUT', `/policies/${policyId}`, { rules: [{ tool: '*', action: 'allow' }] });
    await use(async page => {
      await page.goto(`/dashboard/keys/${keyId}`);
      for (const name of names) await said(page, name, 'allowed');
    });
    await upstream.stop();
  });

  test('a server that is added is contacted, and the page says what was found', async () => {
    const upstream = new RecordingUpstream({ tools: [ECHO, { ...ECHO, name: 'look' }] });
    const { keyId } = await service.newKey([], { name: 'with servers' });
    const add = async (page: Page, name: string, url: string) => {
      await button(page, 'Add an MCP server').click();
      const dialog = page.getByRole('dialog', { name: 'Add an MCP server' });
      await dialog.getByLabel('Name').fill(name);
      await dialog.getByLabel('Address').fill(url);
      await dialog.getByRole('button', { name: 'Add' }).click();
    };
    await use(async page => {
      // What arrives late moves no button away from under a click.
      const late = Promise.withResolvers<void>();
      await page.route(/\/admin\/v1\/(?!me$|keys\/)/, async route => {
        await late.promise;
        await route.continue();
      });
      await page.goto(`/dashboard/keys/${keyId}`);
      await heading(page, 'with servers');
      const place = await button(page, 'Add an MCP server').boundingBox();
      late.resolve();
      await page.getByText('TOOLGATE_OAUTH is off').waitFor();
      await page.getByText('No session was made with this key').waitFor();
      expect(await button(page, 'Add an MCP server').boundingBox()).toEqual(place);
      await page.evaluate(COLLECT);
      await add(page, 'eyes', upstream.url);
      await announced(page, 'eyes: Connected: 2 tools');
      const eyes = page.locator('.server').filter({ hasText: 'eyes' });
      await eyes.getByText('Connected: 2 tools').waitFor();
      await eyes.locator('.chip').getByText('look').waitFor();
      await upstream.stop();
      await add(page, 'ears', upstream.url);
      await announced(page, 'ears: It does not answer');
      const ears = page.locator('.server').filter({ hasText: 'ears' });
      await ears.getByText('It does not answer').waitFor();
      expect(await ears.getByText('Connected:').count()).toBe(0);
      await expectUsable(page);
    });
  });
});
