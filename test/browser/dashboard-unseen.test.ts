// Nobody approves what they do not see, in a real browser: a card that does not show all of a call leads to the page that
// does, also by the keyboard and for several calls at once; what is gone takes a second step.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { newPerson, type Person } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, launch, PHONE, visit } from '../support/browser.ts';
import { startService, type TestService } from '../support/service.ts';

const RULE = { tool: '*', action: 'require_approval', show: 'all' } as const;
const COMMAND = 'rm -rf / --no-preserve-root';
/** Twenty harmless arguments, and then what matters. */
const PADDED = {
  ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`note_${at}`, 'harmless words '.repeat(32)])),
  command: COMMAND,
};

describe.if(hasBrowser())('what a card does not show', () => {
  let browser: Browser;
  let service: TestService;
  let key: string;
  let approver: Person;
  beforeAll(async () => {
    // Details of more than one large call have no room in the memory.
    [browser, service] = await Promise.all([
      launch(),
      startService({ env: { TOOLGATE_DETAILS_MEMORY: '400000' } }),
    ]);
    key = (await service.newKey([RULE], { name: 'release agent' })).key;
    approver = await newPerson(service, 'approver');
  });
  afterAll(async () => {
    await service?.close();
  });

  const hold = async (args: unknown, token = key): Promise<string> =>
    (await service.check(token, 'prod', 'run', { args })).body.referenceId;
  const statusOf = async (id: string) => (await service.admin('GET', `/approvals/${id}`)).body.status;
  const card = (page: Page, id: string) => page.locator(`[data-id="${id}"]`);
  const use = (work: (page: Page) => Promise<void>, options = {}) =>
    visit(browser, service, approver.cookie, work, options);

  test('cannot be approved from the list, by key or together with others, but on its page, which shows it', async () => {
    const [padded, plain] = [await hold(PADDED), await hold({ command: 'ls -la' })];
    await use(async page => {
      await page.goto('/dashboard/approvals');
      const long = card(page, padded);
      await long.getByText(/^Not everything is shown here: the call has 21 arguments with about /).waitFor();
      expect(await long.getByRole('button', { name: /^Approve/ }).count()).toBe(0);
      await card(page, plain)
        .getByRole('button', { name: /^Approve prod__run/ })
        .waitFor();
      await expectUsable(page);
      await page.getByRole('button', { name: 'Select all 2' }).click();
      await page.getByRole('button', { name: 'Approve 2…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Approve 1 call?' });
      await dialog.getByText('Left out: 1 call has to be read first').waitFor();
      await expectUsable(page);
      await dialog.getByRole('button', { name: 'Approve 1 call' }).click();
      await card(page, plain).getByText('Approved by you').waitFor();
      expect(await statusOf(padded)).toBe('pending');
      await long.focus();
      await page.keyboard.press('a');
      await page.waitForURL(url => url.pathname === `/dashboard/approvals/${padded}`);
      await page.getByText(COMMAND, { exact: true }).waitFor();
      await expectUsable(page);
      await page.getByRole('button', { name: /^Approve prod__run/ }).click();
      await page.getByText('approved by').waitFor();
    });
    expect(await statusOf(padded)).toBe('approved');
  });

  test('is folded on the page with its length, and opens', async () => {
    const id = await hold({ file: 'a.txt', text: `${'first\n'.repeat(500)}the very end` });
    for (const options of [PHONE, DARK])
      await use(async page => {
        await page.goto(`/dashboard/approvals/${id}`);
        await page.getByText('3,012 characters, 501 lines').click();
        await page.locator('.fold[open] .value').getByText('the very end').waitFor();
        await expectUsable(page);
      }, options);
  });

  test('is approved for a while in the narrowest way first', async () => {
    const session = await service.json('POST', '/v1/sessions', key, { label: 'ticket 4711' });
    const id = await hold({ path: '/tmp/a', mode: 'r' }, session.body.token);
    const many = await hold(Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`k${at}`, at])));
    await use(async page => {
      await page.goto('/dashboard/approvals');
      // A grant cannot be bound to all of its values, so it could be a wide one only.
      await card(page, many)
        .getByRole('button', { name: /^Approve prod__run/ })
        .waitFor();
      expect(
        await card(page, many)
          .getByRole('button', { name: /^Approve for a while/ })
          .count(),
      ).toBe(0);
      await card(page, id).getByRole('button', { name: 'Approve for a while…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Approve for a while' });
      await dialog
        .getByText(
          'For 15 minutes, this session of the key release agent may call prod__run without asking, with the values that are shown here and any further arguments, until somebody revokes it.',
        )
        .waitFor();
      await expectUsable(page);
      await dialog.getByLabel('mode').uncheck();
      await dialog.getByText('with the same path and any other arguments').waitFor();
      await dialog.getByRole('button', { name: 'Approve' }).click();
      await card(page, id).getByText('Approved by you').waitFor();
    });
    const { grants } = (await service.admin('GET', '/grants')).body;
    expect(grants[0]).toMatchObject({ referenceId: id, same: ['path'] });
  });

  test('is said to be gone, and then Deny comes first and an approval takes a second step', async () => {
    const id = await hold({ command: 'deploy' });
    // The oldest details go first.
    for (let each = 0; each < 4; each++) await hold({ text: `${each}`.repeat(120_000) });
    await use(async page => {
      await page.goto('/dashboard/approvals');
      const gone = card(page, id);
      await gone.scrollIntoViewIfNeeded();
      await gone.getByText('What this call would do can no longer be shown').waitFor();
      expect(await gone.locator('.answers > *').first().textContent()).toStartWith('Deny');
      expect(await gone.getByRole('button', { name: /^Approve/ }).count()).toBe(0);
      await gone.getByRole('link', { name: /^Open its page/ }).click();
      await page.getByRole('button', { name: 'Approve unseen…' }).click();
      await page.getByRole('dialog', { name: 'Approve without seeing the call?' }).waitFor();
      await expectUsable(page);
      await page.getByRole('button', { name: 'Approve it unseen' }).click();
      await page.getByText('approved by').waitFor();
    });
    expect(await statusOf(id)).toBe('approved');
  });

  test('beyond 256 KiB is held by nobody, and the page says so', async () => {
    const id = await hold({ text: 'x'.repeat(300_000), command: COMMAND });
    await use(async page => {
      await page.goto(`/dashboard/approvals/${id}`);
      await page
        .getByText(/^This call is larger than 256 KiB, which is all that is held of a call\. Of 2 arguments/)
        .waitFor();
      await page.getByRole('button', { name: 'Approve unseen…' }).waitFor();
      expect(await page.locator('.answers > *').first().textContent()).toStartWith('Deny');
      await expectUsable(page);
    });
    expect(await statusOf(id)).toBe('pending');
  });

  test('keeps waiting where nobody can answer, and where too much waits: the inbox and the overview say so', async () => {
    const legal = await service.newKey([{ ...RULE, approvers: { group: 'legal' } }], {
      name: 'legal agent',
    });
    const id = await hold({ contract: 'a' }, legal.key);
    const full = await service.newKey([{ tool: '*', action: 'require_approval' }], { name: 'busy agent' });
    // One more than an agent may have open.
    for (let each = 0; each < 101; each++) await service.check(full.key, 'prod', 'run', {});
    await use(async page => {
      for (const address of ['/dashboard', '/dashboard/approvals']) {
        await page.goto(address);
        await page
          .getByText(
            'Agent busy agent has 100 calls waiting: further ones are denied until some are answered.',
          )
          .waitFor();
        await page.getByText('1 call waits for the group legal.').waitFor();
        await expectUsable(page);
      }
      await page.getByRole('link', { name: 'Show them' }).click();
      await page.getByText('100 waiting', { exact: true }).waitFor();
      await page.goto(`/dashboard/approvals/${id}`);
      await page.getByText('At present nobody can approve it').first().waitFor();
    });
  });
});
