// The audit log and the overview in a real browser: filters by link, by hand and by the back
// button, one entry's details, pages, exports, and both keeping up with what happens.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { newPerson, type Person } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, PHONE, visit } from '../support/browser.ts';
import { until } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged } from '../support/when-changed.ts';

const engineNames = await enginesWhenChanged('src/store/**');
const PAGE = 50;

describe.if(hasBrowser()).each(engineNames)('what the guard did, on %s', engine => {
  // How a page looks does not depend on the engine, and axe takes a second each time.
  const looksRight = engine === 'sqlite' ? expectUsable : async () => {};
  let browser: Browser;
  let service: TestService;
  let person: Person;
  let reader: { key: string; keyId: string };
  let writer: { key: string; keyId: string };
  beforeAll(async () => {
    [browser, service] = await Promise.all([
      launch(),
      startService({ engine, env: { TOOLGATE_CHECKPOINT_INTERVAL: '1s' } }),
    ]);
    person = await newPerson(service, 'viewer');
    reader = await service.newKey([{ tool: 'files__read', action: 'allow' }], { name: 'reader' });
    writer = await service.newKey([{ tool: '*', action: 'allow' }], { name: 'writer' });
    const session = await service.json('POST', '/v1/sessions', writer.key, { label: 'a run' });
    await service.check(reader.key, 'files', 'delete');
    await service.check(session.body.token, 'mail', 'send');
    const many = Array.from({ length: PAGE + 5 }, () => service.check(reader.key, 'files', 'read'));
    await Promise.all(many);
  });
  afterAll(async () => {
    await service?.close();
  });

  const rows = (page: Page, text: string) => page.locator('tbody tr').filter({ hasText: text });
  const shows = (page: Page, text: string) => rows(page, text).first().waitFor();
  const gone = (page: Page, text: string) => rows(page, text).first().waitFor({ state: 'detached' });

  test('filters stand in the address, and the back button takes them back', async () => {
    await visit(browser, service, person.cookie, async page => {
      await page.goto(`/dashboard/audit?decision=deny&keyId=${reader.keyId}`);
      await shows(page, 'files__delete');
      expect(await page.locator('tbody tr').count()).toBe(1);
      expect(await page.getByLabel('Decision').inputValue()).toBe('deny');
      await page
        .getByLabel('Key', { exact: true })
        .getByRole('option', { name: 'reader' })
        .waitFor({ state: 'attached' });
      expect(await page.getByLabel('Key', { exact: true }).inputValue()).toBe(reader.keyId);
      await looksRight(page);
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await shows(page, 'files__read');
      await page.getByLabel('Tool').fill('send');
      await page.getByLabel('Tool').press('Enter');
      await shows(page, 'mail__send');
      await gone(page, 'files__read');
      await page.waitForURL(url => url.href === `${service.url}/dashboard/audit?tool=send`);
      await page.getByLabel('Time').selectOption('Last hour');
      await page.waitForURL(url => url.href.endsWith('?tool=send&within=1h'));
      await page.getByLabel('Decision').selectOption('Pending');
      await page.getByText('No entry matches').waitFor();
      await page.goBack();
      await shows(page, 'mail__send');
      await page.goBack();
      await page.goBack();
      await shows(page, 'files__read');
      await until('the field is empty', async () => (await page.getByLabel('Tool').inputValue()) === '');
      await page.goBack();
      await shows(page, 'files__delete');
      await gone(page, 'files__read');
    });
  });

  test('an entry opens with all that is known, closes by Escape and by going back, and leads to others', async () => {
    await visit(browser, service, person.cookie, async page => {
      await page.goto('/dashboard/audit?tool=mail__send');
      await rows(page, 'mail__send').getByRole('link').first().click();
      const dialog = page.getByRole('dialog', { name: 'Audit entry' });
      await dialog.getByText(/Rule 0 of policy/).waitFor();
      await page.waitForURL(url => url.href.includes('&entry='));
      await looksRight(page);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await page.waitForURL(url => url.href.endsWith('?tool=mail__send'));
      await page.goForward();
      await dialog.getByText(/Rule 0 of policy/).waitFor();
      await until('it is sealed', async () => {
        await page.reload();
        const state = dialog.getByText(/not yet|under the newest signature/);
        return /newest signature/.test((await state.textContent()) ?? '');
      });
      const download = page.waitForEvent('download');
      await dialog.getByRole('link', { name: 'download the proof' }).click();
      const proof = await Bun.file(await (await download).path()).json();
      expect(proof.entry).toMatchObject({ serverName: 'mail', toolName: 'send' });
      await dialog.getByText('writer').waitFor();
      const session = dialog.getByText('Session').locator('..');
      await session.getByRole('link', { name: 'show all' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.waitForURL(url => url.href.includes('/dashboard/audit?sessionId='));
      await shows(page, 'mail__send');
      expect(await page.locator('tbody tr').count()).toBe(1);
      await page.goto(`/dashboard/audit?entry=${Bun.randomUUIDv7()}`);
      await page.getByRole('alert').filter({ hasText: 'no audit entry' }).waitFor();
    });
  });

  test('an entry says what became of the result, and nothing of it', async () => {
    const { key } = await service.newKey(
      [{ tool: 'crm__*', action: 'allow' }],
      {},
      {
        results: [{ tool: 'crm__*', hide: 'email' }],
      },
    );
    const { body: verdict } = await service.check(key, 'crm', 'get');
    const result = { content: [{ type: 'text', text: 'canary-91 of ann@example.com and bob@example.com' }] };
    const { toolCallId } = verdict;
    expect((await service.json('POST', '/v1/results', key, { toolCallId, result })).status).toBe(200);
    await until('its outcome is recorded', async () => {
      const { body } = await service.admin('GET', `/audit/${toolCallId}`);
      return body.forwarded !== null;
    });
    await visit(browser, service, person.cookie, async page => {
      await page.goto(`/dashboard/audit?entry=${toolCallId}`);
      const dialog = page.getByRole('dialog', { name: 'Audit entry' });
      await dialog.getByText('hidden: 2 email').waitFor();
      expect(await dialog.textContent()).not.toMatch(/canary|ann@/);
    });
  });

  test('older entries are a click away, and what is shown can be taken along', async () => {
    await visit(browser, service, person.cookie, async page => {
      await page.goto(`/dashboard/audit?tool=files__read&keyId=${reader.keyId}`);
      await shows(page, 'files__read');
      expect(await page.locator('tbody tr').count()).toBe(PAGE);
      await page.getByRole('button', { name: 'Show more' }).click();
      await page.getByRole('button', { name: 'Show more' }).waitFor({ state: 'detached' });
      expect(await page.locator('tbody tr').count()).toBe(PAGE + 5);
      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Export CSV' }).click();
      const text = await Bun.file(await (await download).path()).text();
      expect(text.trimEnd().split('\n')).toHaveLength(PAGE + 6);
      expect(text).not.toContain('mail');
    });
  });

  test('a new verdict appears by itself where it belongs, and moves nothing under who reads further down', async () => {
    const { key } = await service.newKey([{ tool: '*', action: 'deny', reason: 'Not now.' }]);
    await visit(browser, service, person.cookie, async page => {
      await page.goto('/dashboard/audit?decision=deny');
      await shows(page, 'files__delete');
      await page.getByText('Live', { exact: true }).first().waitFor();
      await service.check(writer.key, 'other', 'allowed');
      await service.check(key, 'live', engine);
      await shows(page, `live__${engine}`);
      expect(await rows(page, 'other__allowed').count()).toBe(0);
      await page.goto('/dashboard/audit');
      await shows(page, 'files__read');
      await page.getByText('Live', { exact: true }).first().waitFor();
      await page.mouse.wheel(0, 2000);
      await page.waitForFunction('() => scrollY > 500');
      await service.check(key, 'late', engine);
      await page.getByRole('button', { name: 'Show 1 new entry' }).click();
      await shows(page, `late__${engine}`);
    });
  });

  test('a filter that the service refuses is explained in place', async () => {
    await visit(browser, service, person.cookie, async page => {
      await page.goto('/dashboard/audit?sessionId=nonsense');
      const alert = page.getByRole('alert');
      await alert.waitFor();
      expect(await alert.textContent()).toContain('sessionId must be a UUID');
      await looksRight(page);
    });
  });

  test('the overview counts along, and each figure leads to its entries', async () => {
    const ask = [{ tool: '*', action: 'require_approval' } as const];
    const { key } = await service.newKey(ask);
    await visit(browser, service, person.cookie, async page => {
      await page.goto('/dashboard');
      await heading(page, 'Overview');
      const waited = page.getByRole('link', { name: /^Waited/ });
      await waited.waitFor();
      await page.getByText('Live', { exact: true }).first().waitFor();
      const figure = async (tile: typeof waited) => Number(await tile.locator('.figure').textContent());
      const before = await figure(waited);
      await service.check(key, 'prod', `deploy_${engine}`);
      await waited.getByText(String(before + 1), { exact: true }).waitFor();
      await shows(page, `prod__deploy_${engine}`);
      await page
        .getByRole('link', { name: /^Waiting now/ })
        .getByText('Open the inbox')
        .waitFor();
      await page.getByRole('group', { name: /\d+ allowed, \d+ waited, \d+ denied/ }).waitFor();
      await page.getByText('Figures').click();
      await looksRight(page);
      await page.getByLabel('Window').selectOption('Last 7 days');
      await page.getByRole('heading', { name: 'Verdicts, last 7 days' }).waitFor();
      await page.waitForURL(url => url.href.endsWith('/dashboard?window=7d'));
      await waited.click();
      await heading(page, 'Audit');
      await shows(page, `prod__deploy_${engine}`);
      await page.waitForURL(url => url.href.endsWith('/dashboard/audit?decision=pending&within=7d'));
    });
  });

  test('both are usable on a phone in the dark', async () => {
    await visit(
      browser,
      service,
      person.cookie,
      async page => {
        await page.goto('/dashboard');
        await shows(page, 'files__read');
        await looksRight(page);
        // Few rows: axe looks at every cell of every one.
        await page.goto('/dashboard/audit?decision=deny');
        await shows(page, 'files__delete');
        await looksRight(page);
      },
      { ...PHONE, ...DARK },
    );
  });
});
