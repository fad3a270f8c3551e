// A real browser on the dashboard: pages of a person who is signed in, and what such a page must never do,
// counted while it is used: break its policy, fail in its script, speak to somebody else.

import { expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Result } from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium,
  type Page,
} from 'playwright-core';
import { CHROMIUM } from './chromium.ts';
import { need } from './need.ts';
import type { TestService } from './service.ts';

/**
 * Chromium loads pages of its own behind the address bar of every window, which cost more than ours, and keeps a process
 * ready that no test uses. The last list of switched-off features is the one that counts, so this one repeats what
 * Playwright's own list needs here.
 */
const WITHOUT = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'PreloadTopChromeWebUI',
  'SpareRendererForSitePerProcess',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'IsolateOrigins',
  'site-per-process',
];
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  // The pages of one context share a process, which keeps what it has compiled.
  '--renderer-process-limit=1',
  '--disable-site-isolation-trials',
  `--disable-features=${WITHOUT.join(',')}`,
];

/** Whether there is one; left out loudly where there is none. */
export const hasBrowser = (): boolean => need(CHROMIUM !== undefined, 'Chromium (or TOOLGATE_TEST_CHROMIUM)');

/** A machine that reads it from a slow disk, beside other tests, takes its time. */
const LAUNCH_MS = 120_000;

let shared: Promise<Browser> | undefined;

/** One browser for the whole test process. Nobody closes it: it ends with the process. */
export function launch(): Promise<Browser> {
  shared ??= chromium.launch({ executablePath: CHROMIUM ?? '', args: ARGS, timeout: LAUNCH_MS });
  return shared;
}

export const PHONE = { viewport: { width: 390, height: 844 } };
export const DARK = { colorScheme: 'dark' as const };
const WIDE = { viewport: { width: 1280, height: 720 }, colorScheme: 'light' as const };

/**
 * The service answers pages up to so many milliseconds late, as on a busy machine. A test that then fails has not waited
 * for what it looks at.
 */
const LATE_MS = Number(process.env['TOOLGATE_TEST_LATE_MS'] ?? 0);

/** How a page is looked at; wide and light by default. */
export type Look = Pick<BrowserContextOptions, 'viewport' | 'colorScheme'>;

/** The context of the visits to one service. */
interface Kept {
  service: TestService;
  context: BrowserContext;
  /** Keeps the process of the context alive between two visits. */
  devtools: CDPSession;
  busy: boolean;
}

let kept: Kept | undefined;

/**
 * Uses a page with this cookie (null: nobody is signed in), then looks at what it did. The visits to a service take turns
 * in one context, which costs half: nothing is left of the visit before but the files that the browser has cached.
 */
export async function visit(
  browser: Browser,
  service: TestService,
  cookie: string | null,
  use: (page: Page) => Promise<void>,
  look: Look = {},
): Promise<void> {
  if (kept?.busy === true) return visitAlone(browser, service, cookie, use, look);
  const own = await keptFor(browser, service);
  own.busy = true;
  try {
    await own.context.clearCookies();
    await own.devtools.send('Storage.clearDataForOrigin', {
      origin: service.url,
      storageTypes: 'local_storage',
    });
    await watched(own.context, service, cookie, async page => {
      const { viewport, colorScheme } = { ...WIDE, ...look };
      await Promise.all([
        page.setViewportSize(viewport ?? WIDE.viewport),
        page.emulateMedia({ colorScheme }),
      ]);
      await use(page);
    });
  } finally {
    own.busy = false;
    const [, ...used] = own.context.pages();
    await Promise.all(used.map(page => page.close()));
  }
}

async function keptFor(browser: Browser, service: TestService): Promise<Kept> {
  if (kept?.service === service) return kept;
  await kept?.context.close();
  const context = await browser.newContext({ baseURL: service.url });
  const devtools = await context.newCDPSession(await context.newPage());
  kept = { service, context, devtools, busy: false };
  return kept;
}

/** The same in a context of its own: nothing is cached, and the context may be changed. */
export async function visitAlone(
  browser: Browser,
  service: TestService,
  cookie: string | null,
  use: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await browser.newContext({ baseURL: service.url, ...options });
  try {
    await watched(context, service, cookie, use);
  } finally {
    await context.close();
  }
}

async function watched(
  context: BrowserContext,
  service: TestService,
  cookie: string | null,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const faults: string[] = [];
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
  if (LATE_MS > 0)
    await page.route('**/admin/v1/**', async route => {
      await Bun.sleep(Math.random() * LATE_MS);
      await route.continue().catch(() => {});
    });
  await use(page);
  expect(faults).toEqual([]);
}

/** A device for passkeys with a lock, or one without: it cannot tell who is there. */
export async function withDevice(page: Page, verifies = true): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: verifies,
      automaticPresenceSimulation: true,
    },
  });
}

export const heading = (page: Page, name: string) =>
  page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();

const AXE = readFileSync(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir), 'utf8');

/** The rules that compare colours, of a text and its background or of a link and the words around it. */
const COLOURS = ['color-contrast', 'link-in-text-block'];

/** Of a long table it looks at the first rows: the others are set alike, and it takes as long for each. */
const WITHOUT_ROWS = { exclude: [['tbody > tr:nth-child(n + 9)']] };

/** What takes long to be read again fades for that time, and has to be looked at once it is there: null. */
const LOOK = `async (...given) => {
  const fades = () => document.querySelector('.read.again') !== null;
  let faded = fades();
  const watch = new MutationObserver(() => { faded ||= fades(); });
  watch.observe(document, { subtree: true, attributes: true, attributeFilter: ['class'] });
  const { violations } = await axe.run(...given);
  watch.disconnect();
  return faded && violations.length > 0 ? null : violations;
}`;

/**
 * What axe finds wrong on a page. Our pages have no frames, so it looks at the page alone, and no media, so it loads
 * nothing. Where the things are that it finds right, nobody wants to know, and to say it takes longer than to find them.
 */
export async function violationsOf(page: Page, look: 'all' | 'structure' = 'all'): Promise<string[]> {
  const rules = Object.fromEntries(COLOURS.map(rule => [rule, { enabled: look === 'all' }]));
  const options = { resultTypes: ['violations'], selectors: false, preload: false, rules };
  const given = [WITHOUT_ROWS, options].map(each => JSON.stringify(each)).join();
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  let found: Result[] | null = null;
  while (found === null) found = await page.evaluate(`(${LOOK})(${given})`);
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html).join(' ')}`);
}

/** Nothing that axe finds wrong, and nothing to scroll sideways to. */
export async function expectUsable(page: Page): Promise<void> {
  expect(await violationsOf(page)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
}
