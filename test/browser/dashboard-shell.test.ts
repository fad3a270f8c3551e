// The dashboard's frame in a real browser, on SQLite: the way in and out, what a person sees of a wrong
// password and of too many, deep links, light and dark; and from outside: framing, forgery, files, their size.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { newPerson, PASSWORD, type Person, send } from '../operators/people.ts';
import {
  DARK,
  expectUsable,
  hasBrowser,
  heading,
  launch,
  PHONE,
  visit,
  visitAlone,
} from '../support/browser.ts';
import { startService, type TestService } from '../support/service.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
  "trusted-types 'none'";
/** Of script, gzipped, for whichever page is opened first. */
const MOST_BYTES = 47_000;

/** Where the keyboard is; a page takes it there after it was drawn. */
const IN_MAIN = "() => document.activeElement.id === 'main'";

const withBrowser = hasBrowser();

/** A page is a client of the API, which is tested on both engines. */
describe.if(withBrowser)('the way in', () => {
  let browser: Browser;
  let service: TestService;
  let admin: Person;
  beforeAll(async () => {
    // Behind a proxy every browser may have an address of its own, and its own count of failures.
    const env = { TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32' };
    [browser, service] = await Promise.all([launch(), startService({ env })]);
    admin = await newPerson(service, 'admin');
  });
  afterAll(async () => {
    await service?.close();
  });

  const at = (ip: string) => ({ extraHTTPHeaders: { 'X-Forwarded-For': ip } });

  async function fillIn(page: Page, email: string, password: string): Promise<void> {
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  test('a deep link leads through the sign-in and back to itself, and signing out ends it', async () => {
    await visitAlone(
      browser,
      service,
      null,
      async page => {
        await page.goto('/dashboard/audit?decision=deny');
        await heading(page, 'Sign in');
        await fillIn(page, admin.email, 'not the password');
        expect(await page.getByRole('alert').textContent()).toContain('wrong');
        await fillIn(page, admin.email, PASSWORD);
        await heading(page, 'Audit');
        await page.waitForURL(url => url.href === `${service.url}/dashboard/audit?decision=deny`);
        await page.getByText(admin.email).first().waitFor();
        await page.getByRole('button', { name: 'Sign out' }).click();
        await heading(page, 'Sign in');
        await page.goto('/dashboard');
        await heading(page, 'Sign in');
      },
      at('10.9.0.1'),
    );
  });

  test('too many wrong passwords close the door for a while, and the page says for how long', async () => {
    const person = await newPerson(service, 'viewer');
    await visitAlone(
      browser,
      service,
      null,
      async page => {
        await page.goto('/dashboard');
        for (let attempt = 0; attempt < 5; attempt++) {
          // The alert of the attempt before stands there until the new page does.
          const answered = page.waitForEvent('load');
          await fillIn(page, person.email, `wrong ${attempt}`);
          await answered;
          await page.getByRole('alert').waitFor();
        }
        const answered = page.waitForResponse(response => response.request().method() === 'POST');
        await fillIn(page, person.email, PASSWORD);
        const response = await answered;
        expect(response.status()).toBe(429);
        expect(Number(response.headers()['retry-after'])).toBeGreaterThan(0);
        await page
          .getByRole('alert')
          .filter({ hasText: /too many/i })
          .waitFor();
        await expectUsable(page);
      },
      at('10.9.0.2'),
    );
  });

  test('a sign-in that ends while the page is open leads to the sign-in and back', async () => {
    const person = await newPerson(service, 'viewer');
    await visit(browser, service, person.cookie, async page => {
      await page.goto('/dashboard/approvals?view=history');
      await page.getByText('None yet').waitFor();
      await send(service, 'POST', '/admin/v1/sign-out', person);
      // If the page asks something by itself first, there is nothing left to click.
      const link = page.getByRole('link', { name: 'Grants' });
      const led = heading(page, 'Sign in');
      await Promise.race([link.click().catch(() => {}), led]);
      await led;
    });
  });
});

describe.if(withBrowser)('a first start', () => {
  test('its link makes the first operator, who is then signed in to pages that say what to do next', async () => {
    const [browser, service] = await Promise.all([launch(), startService()]);
    try {
      const link = /\S+\/dashboard\/setup\?token=\S+/.exec(service.output)?.[0] ?? '';
      for (const options of [PHONE, DARK]) {
        await visit(
          browser,
          service,
          null,
          async page => {
            await page.goto('/dashboard');
            await page.getByText('open the set-up link that the service printed').waitFor();
            await expectUsable(page);
            for (const wrong of ['/dashboard/setup', `${link.slice(0, -1)}-`]) {
              expect((await page.goto(wrong))?.status()).toBe(410);
              await heading(page, 'This set-up link does not work');
              await page.getByText('restart the service to get a fresh one').waitFor();
              await expectUsable(page);
            }
            await page.goto(link);
            await expectUsable(page);
          },
          options,
        );
      }
      const fill = async (page: Page, password: string) => {
        await page.getByLabel('Password').fill(password);
        await page.getByRole('button', { name: 'Create operator' }).click();
      };
      await visit(browser, service, null, async page => {
        await page.goto(link);
        await page.getByLabel('E-mail').fill('first@example.com');
        await fill(page, 'first@example.com');
        await page.getByRole('alert').filter({ hasText: 'Password' }).waitFor();
        await expectUsable(page);
        expect(await page.getByLabel('E-mail').inputValue()).toBe('first@example.com');
        await fill(page, PASSWORD);
        await page.getByRole('heading', { name: 'No verdict in the last 24 hours' }).waitFor();
        await expectUsable(page);
        await page.getByRole('link', { name: 'Approvals' }).first().click();
        await page.getByText('Nothing waits for an answer').waitFor();
        await page.getByRole('link', { name: 'Grants' }).click();
        await page.getByText('No grant is open').waitFor();
        await page.getByRole('link', { name: 'Audit' }).first().click();
        await page.getByText('No verdict yet').waitFor();
        await expectUsable(page);
        expect((await page.goto(link))?.status()).toBe(410);
        await page.getByText('There is an admin already').waitFor();
        await page.getByRole('link', { name: 'Go to the dashboard' }).click();
        await page.getByRole('heading', { name: 'No verdict in the last 24 hours' }).waitFor();
      });
      await visit(browser, service, null, async page => {
        await page.goto('/dashboard');
        await heading(page, 'Sign in');
        expect(await page.getByText('set-up link').count()).toBe(0);
      });
    } finally {
      await service.close();
    }
  });
});

describe.if(withBrowser)('the frame', () => {
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

  test('the way around: navigation, back, an unknown page, colours that stay', async () => {
    await visit(browser, service, admin.cookie, async page => {
      await page.goto('/dashboard');
      await heading(page, 'Overview');
      await page.getByRole('link', { name: 'Audit' }).first().click();
      await heading(page, 'Audit');
      await page.waitForFunction("() => document.title === 'Audit · Toolgate'");
      await page.goBack();
      await heading(page, 'Overview');
      await page.getByRole('button', { name: 'Colours: system' }).click();
      await page.getByRole('button', { name: 'Colours: light' }).click();
      await page.reload();
      await page.getByRole('button', { name: 'Colours: dark' }).waitFor();
      await page.waitForFunction("() => document.documentElement.dataset.theme === 'dark'");
      await page.goto('/dashboard/nowhere');
      await heading(page, 'Not found');
      await expectUsable(page);
    });
  });

  test('on a phone the menu unfolds, leads on and folds again', async () => {
    await visit(
      browser,
      service,
      admin.cookie,
      async page => {
        await page.goto('/dashboard');
        await heading(page, 'Overview');
        await page.getByText('Menu').click();
        await expectUsable(page);
        await page.getByRole('link', { name: 'Approvals' }).first().click();
        await heading(page, 'Approvals');
        await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'hidden' });
        await expectUsable(page);
      },
      PHONE,
    );
  });

  test('it can be walked with the keyboard alone', async () => {
    await visit(browser, service, admin.cookie, async page => {
      await page.goto('/dashboard');
      await heading(page, 'Overview');
      await page.keyboard.press('Tab');
      await page.waitForFunction("() => document.activeElement.textContent === 'Skip to the page'");
      await page.keyboard.press('Enter');
      await page.waitForFunction(IN_MAIN);
      await page.getByRole('link', { name: 'Approvals' }).first().focus();
      await page.keyboard.press('Enter');
      await heading(page, 'Approvals');
      await page.waitForFunction(IN_MAIN);
    });
  });

  test('a page that cannot be had or fails is said in its place, and the others still open', async () => {
    await visit(browser, service, admin.cookie, async page => {
      await page.goto('/dashboard');
      await heading(page, 'Overview');
      await page.route('**/dashboard/assets/*.js', route => route.abort());
      await page.route('**/readyz', route => route.abort());
      await page.getByRole('link', { name: 'Approvals' }).first().click();
      await heading(page, 'Something went wrong');
      await expectUsable(page);
      await page.unroute('**/dashboard/assets/*.js');
      await page.getByRole('button', { name: 'Try again' }).click();
      await heading(page, 'Approvals');
      const nonsense = JSON.stringify({ entries: [{}], nextCursor: null });
      await page.route('**/admin/v1/audit', route => route.fulfill({ status: 200, body: nonsense }));
      await page.getByRole('link', { name: 'Audit' }).first().click();
      await heading(page, 'Something went wrong');
      await expectUsable(page);
      await page.getByRole('link', { name: 'Approvals' }).first().click();
      await heading(page, 'Approvals');
    });
  });

  test('a page that nobody has visited appears by itself when the service is back, and so does its data', async () => {
    await visitAlone(browser, service, admin.cookie, async page => {
      await page.goto('/dashboard');
      await heading(page, 'Overview');
      await page.context().setOffline(true);
      await page.getByRole('link', { name: 'Webhooks' }).first().click();
      await heading(page, 'Something went wrong');
      await page.context().setOffline(false);
      await heading(page, 'Webhooks');
      await page.getByText('No webhook is registered').waitFor();
      await page.route('**/admin/v1/keys?**', route => route.abort());
      await page.route('**/admin/v1/keys', route => route.abort());
      await page.getByRole('link', { name: 'Keys' }).first().click();
      await page.getByRole('alert').getByText('The service cannot be reached').waitFor();
      await page.unrouteAll();
      await page.getByRole('link', { name: 'default' }).first().waitFor();
    });
  });

  test('whichever page is opened first, its script is small', async () => {
    const pages = [
      'approvals',
      'audit',
      'runs',
      'policies',
      'keys',
      'webhooks',
      'notifications',
      'operators',
    ];
    pages.push('tool-servers', 'changes', 'health', 'settings', 'account');
    await visit(browser, service, admin.cookie, async page => {
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Network.enable');
      await devtools.send('Network.setCacheDisabled', { cacheDisabled: true });
      let bytes = 0;
      page.on('response', async response => {
        if (!response.url().endsWith('.js')) return;
        expect(response.headers()['content-encoding']).toBe('gzip');
        bytes += Number(response.headers()['content-length']);
      });
      for (const path of ['/dashboard', ...pages.map(name => `/dashboard/${name}`)]) {
        bytes = 0;
        await page.goto(path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        expect(bytes).toBeGreaterThan(5000);
        expect(bytes).toBeLessThan(MOST_BYTES);
      }
    });
  });

  test('files are named by their content, kept for ever, and gzipped only for who takes that', async () => {
    const frame = await send(service, 'GET', '/dashboard', { cookie: admin.cookie });
    const names = [...frame.text.matchAll(/"(\/dashboard\/assets\/[^"]+)"/g)].map(found => found[1] ?? '');
    expect(names.map(name => name.split('.').at(-1)).sort()).toEqual(['css', 'js']);
    for (const name of names) {
      const plain = await fetch(service.url + name, { headers: { 'Accept-Encoding': 'identity' } });
      expect(plain.headers.get('content-encoding')).toBeNull();
      expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(plain.headers.get('vary')).toBe('Accept-Encoding');
      const zipped = await fetch(service.url + name, { headers: { 'Accept-Encoding': 'gzip' } });
      expect(await zipped.text()).toBe(await plain.text());
    }
    expect((await send(service, 'GET', '/dashboard/assets/nothing.js')).status).toBe(404);
  });

  test('who types the address alone, or one slash more, gets there', async () => {
    for (const path of ['/', '/dashboard/']) {
      const reply = await send(service, 'GET', path, { headers: { Accept: 'text/html,*/*;q=0.8' } });
      expect([reply.status, reply.headers.get('location')]).toEqual([303, '/dashboard']);
      expect((await send(service, 'GET', path)).status).toBe(404);
    }
  });

  test('a stranger who asks for page after page is led to the sign-in, and at some point not back', async () => {
    const location = async () =>
      (await send(service, 'GET', '/dashboard/keys')).headers.get('location') ?? '';
    expect(await location()).toMatch(/^\/dashboard\/sign-in\?continue=[\w-]+$/);
    // More than two minutes' worth, should the minute turn meanwhile.
    const all = await Promise.all(Array.from({ length: 210 }, location));
    expect(all).toContain('/dashboard/sign-in');
  });

  test('the frame is under a strict policy, and another site cannot frame it', async () => {
    const frame = await send(service, 'GET', '/dashboard/audit', { cookie: admin.cookie });
    expect(frame.headers.get('content-security-policy')).toBe(POLICY);
    expect(frame.headers.get('cache-control')).toBe('no-store');
    expect(frame.text).not.toMatch(/<style|<script>|style=|onload=/);
    const evil = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => html(`<iframe src="${service.url}/dashboard"></iframe>`),
    });
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      const refused = page.waitForEvent('console', message => /frame-ancestors/.test(message.text()));
      await page.goto(evil.url.href);
      await refused;
    } finally {
      await context.close();
      await evil.stop(true);
    }
  });

  test('a page of another origin can neither read nor change anything with the person’s cookie', async () => {
    const evil = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => html('<p>Evil</p>') });
    const context = await browser.newContext();
    try {
      const [name = '', value = ''] = admin.cookie.split('=');
      await context.addCookies([{ name, value, url: service.url }]);
      const page = await context.newPage();
      await page.goto(evil.url.href);
      const tried = (method: string, path: string, type: string) =>
        page.evaluate(
          `fetch('${service.url}${path}', { method: '${method}', credentials: 'include', mode: 'no-cors',
             headers: { 'Content-Type': '${type}' }, ${method === 'GET' ? '' : "body: '{}'"} })
             .then(response => response.type, () => 'refused')`,
        );
      expect(await tried('POST', '/admin/v1/policies', 'text/plain')).toBe('opaque');
      expect(await tried('GET', '/admin/v1/keys', 'text/plain')).toBe('opaque');
      const operators = { email: 'evil@example.com', role: 'admin' };
      await page.setContent(
        `<form method="post" enctype="text/plain" action="${service.url}/admin/v1/operators">
<input name='${JSON.stringify(operators).slice(0, -1)},"x":"' value='"}'><button>Win</button></form>`,
      );
      const answered = page.waitForResponse(response => response.url().endsWith('/operators'));
      await page.getByRole('button').click();
      expect((await answered).status()).toBe(403);
      const { body } = await service.admin('GET', '/operators?limit=1000');
      expect(JSON.stringify(body)).not.toContain('evil@');
    } finally {
      await context.close();
      await evil.stop(true);
    }
  });
});

const html = (markup: string): Response =>
  new Response(`<!doctype html><title>Elsewhere</title>${markup}`, {
    headers: { 'Content-Type': 'text/html' },
  });
