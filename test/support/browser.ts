// A real browser on the dashboard: pages of a person who is signed in, and what such a page must never do,
// counted while it is used: break its policy, fail in its script, speak to somebody else.

import { expect } from 'bun:test';
import { existsSync } from 'node:fs';
import axe, { type Result } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { need } from './need.ts';
import type { TestService } from './service.ts';

const CHROMIUM = [
  process.env['TOOLGATE_TEST_CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(path => path !== '' && existsSync(path));
const ARGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

/** Whether there is one; left out loudly where there is none. */
export const hasBrowser = (): boolean => need(CHROMIUM !== undefined, 'Chromium (or TOOLGATE_TEST_CHROMIUM)');

/** A machine that reads it from a slow disk, beside other tests, takes its time. */
const LAUNCH_MS = 120_000;

export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM ?? '', args: ARGS, timeout: LAUNCH_MS });

export const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 } };
export const DARK: BrowserContextOptions = { colorScheme: 'dark' };

/** Uses a page with this cookie (null: nobody is signed in), then looks at what it did. */
export async function visit(
  browser: Browser,
  service: TestService,
  cookie: string | null,
  use: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await browser.newContext({ baseURL: service.url, ...options });
  const faults: string[] = [];
  try {
    if (cookie !== null) {
      const [name = '', value = ''] = cookie.split('=');
      await context.addCookies([{ name, value, url: service.url }]);
    }
    const page = await context.newPage();
    page.on('console', message => {
      if (/content security policy/i.test(message.text())) faults.push(message.text());
    });
    page.on('pageerror', error => faults.push(`script failed: ${error.stack ?? error.message}`));
    page.on('request', request => {
      if (!request.url().startsWith(service.url) && !request.url().startsWith('data:'))
        faults.push(`asked somebody else: ${request.url()}`);
    });
    await use(page);
    expect(faults).toEqual([]);
  } finally {
    await context.close();
  }
}

export const heading = (page: Page, name: string) =>
  page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();

/** What axe finds wrong on a page. Our pages have no frames, so it looks at the page alone. */
export async function violations(page: Page): Promise<Result[]> {
  await page.evaluate(axe.source);
  return page.evaluate('axe.run().then(({ violations }) => violations)');
}

/** Nothing that axe finds wrong, and nothing to scroll sideways to. */
export async function expectUsable(page: Page): Promise<void> {
  expect((await violations(page)).map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
}
