// The search of the audit log in a real browser: suggestions by keyboard and pointer, parts and patterns, exact names,
// new verdicts that belong to a search, and the log on a phone.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { newPerson, type Person } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, launch, PHONE, visit } from '../support/browser.ts';
import { until } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';

const NARROW = { viewport: { width: 360, height: 740 } };

describe.if(hasBrowser())('searching the audit log', () => {
  let browser: Browser;
  let service: TestService;
  let person: Person;
  let key: string;
  beforeAll(async () => {
    [browser, service] = await Promise.all([launch(), startService({ engine: 'sqlite' })]);
    person = await newPerson(service, 'viewer');
    ({ key } = await service.newKey([{ tool: '*', action: 'allow' }], { name: 'agent' }));
    for (const [server, tool] of [
      ['github', 'merge_pull_request'],
      ['github', 'get_issue'],
      ['ci', 'merge'],
      ['mail', `send_${'long_name_'.repeat(9)}`],
    ] as const)
      await service.check(key, server, tool);
  });
  afterAll(() => service?.close());

  const tool = (page: Page) => page.getByRole('combobox', { name: 'Tool', exact: true });
  const options = (page: Page) => page.getByRole('option').filter({ hasText: '__' });
  const rows = (page: Page, text: string) => page.locator('tbody tr').filter({ hasText: text });
  const showsOnly = (page: Page, ...names: string[]) =>
    until(`only ${names} are shown`, async () => {
      const shown = await page.locator('tbody tr .tool').allTextContents();
      return shown.length === names.length && names.every(name => shown.includes(name));
    });

  test('names are suggested while one types, and taken with the keyboard', async () => {
    await visit(browser, service, person.cookie, async page => {
      await page.goto('/dashboard/audit');
      await tool(page).pressSequentially('MERGE');
      // Until the last letter is answered, the names for those before it are shown.
      await until('both names are offered alone', async () => {
        const names = await options(page).allTextContents();
        return names.join() === 'ci__merge,github__merge_pull_request';
      });
      expect(await tool(page).getAttribute('aria-expanded')).toBe('true');
      await page.keyboard.press('ArrowUp');
      const last = await options(page).last().getAttribute('id');
      expect(await tool(page).getAttribute('aria-activedescendant')).toBe(last);
      expect(await options(page).last().getAttribute('aria-selected')).toBe('true');
      await expectUsable(page);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.waitForURL(url => url.search === '?tool=github__merge_pull_request');
      await showsOnly(page, 'github__merge_pull_request');
      expect(await options(page).count()).toBe(0);
      await tool(page).fill('ci');
      await options(page).first().waitFor();
      await page.keyboard.press('Escape');
      await options(page).first().waitFor({ state: 'detached' });
      expect(await tool(page).inputValue()).toBe('ci');
      await tool(page).fill('issue');
      await options(page).first().click();
      await page.waitForURL(url => url.search === '?tool=github__get_issue');
    });
  });

  test('parts and patterns find tools, and a name finds that tool and says so', async () => {
    await visit(browser, service, person.cookie, async page => {
      await page.goto('/dashboard/audit');
      await tool(page).fill('GitHub');
      await page.keyboard.press('Enter');
      await showsOnly(page, 'github__merge_pull_request', 'github__get_issue');
      await tool(page).fill('*_issue');
      await page.keyboard.press('Enter');
      await showsOnly(page, 'github__get_issue');
      await tool(page).fill('merge');
      await page.keyboard.press('Enter');
      await showsOnly(page, 'ci__merge');
      await page.getByRole('link', { name: 'Show all tools whose names contain it' }).click();
      await showsOnly(page, 'ci__merge', 'github__merge_pull_request');
      expect(await tool(page).inputValue()).toBe('*merge*');
      await page.goBack();
      await until('the text is back', async () => (await tool(page).inputValue()) === 'merge');
    });
  });

  test('a new verdict appears if its tool is searched for', async () => {
    await visit(browser, service, person.cookie, async page => {
      await page.goto('/dashboard/audit?tool=LIVE');
      await page.getByText('No entry matches').waitFor();
      await page.getByText('Live', { exact: true }).first().waitFor();
      await service.check(key, 'other', 'thing');
      await service.check(key, 'alive', 'thing');
      await rows(page, 'alive__thing').waitFor();
      expect(await rows(page, 'other__thing').count()).toBe(0);
    });
  });

  for (const [name, options] of [
    ['a phone', { ...PHONE, ...DARK }],
    ['a narrow phone', NARROW],
  ] as const) {
    test(`nothing is wider than the screen of ${name}`, async () => {
      await visit(
        browser,
        service,
        person.cookie,
        async page => {
          await page.goto('/dashboard/audit');
          await rows(page, 'get_issue').waitFor();
          await expectUsable(page);
          const inner = await page.evaluate(
            "[...document.querySelectorAll('.table')].every(each => each.scrollWidth <= each.clientWidth)",
          );
          expect(inner).toBe(true);
          await tool(page).fill('e');
          await page.getByRole('listbox').waitFor();
          await expectUsable(page);
        },
        options,
      );
    });
  }
});
