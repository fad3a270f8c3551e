// The inbox under a busy hand, in a real browser, on SQLite: nothing moves under the pointer, one click answers one call,
// the keyboard suffices, hundreds of calls stay usable, several are answered together, and a page in the background
// notifies whoever wants it.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { newPerson, type Person, send } from '../operators/people.ts';
import { DARK, expectUsable, hasBrowser, heading, launch, visit, visitAlone } from '../support/browser.ts';
import { until } from '../support/faults.ts';
import { startService, type TestService } from '../support/service.ts';
import { suiteWhenChanged } from '../support/when-changed.ts';

const suite = suiteWhenChanged('dashboard/**', 'src/http/**', 'src/guard/approvals/**');

const ASK = [{ tool: '*', action: 'require_approval', reason: 'Ask first.' } as const];
const MANY = 500;

suite.if(hasBrowser())('the inbox', () => {
  let browser: Browser;
  let service: TestService;
  let key: string;
  let approver: Person;
  beforeAll(async () => {
    const env = { TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '1000' };
    [browser, service] = await Promise.all([launch(), startService({ env })]);
    key = (await service.newKey(ASK, { name: 'release agent' })).key;
    approver = await newPerson(service, 'approver');
  });
  afterAll(async () => {
    await service?.close();
  });

  interface Held {
    tool: string;
    referenceId: string;
  }

  async function hold(toolName = `deploy_${crypto.randomUUID().slice(0, 8)}`): Promise<Held> {
    const { body } = await service.check(key, 'prod', toolName);
    return { tool: `prod__${toolName}`, referenceId: body.referenceId };
  }

  async function holdSome(count: number): Promise<Held[]> {
    const held: Held[] = [];
    for (let at = 0; at < count; at++) held.push(await hold());
    return held;
  }

  const statusOf = async ({ referenceId }: Held): Promise<string> =>
    (await service.admin('GET', `/approvals/${referenceId}`)).body.status;
  const statuses = (held: Held[]) => Promise.all(held.map(statusOf));
  const denied = (held: Held) =>
    service.admin('POST', `/approvals/${held.referenceId}/resolve`, { action: 'deny' });

  /** No test finds what another has left behind. */
  async function denyAll(): Promise<void> {
    const { body } = await service.admin('GET', '/approvals?status=pending&limit=1000');
    await Promise.all(body.approvals.map(denied));
  }

  const card = (page: Page, { tool }: { tool: string }) =>
    page.locator('.question').filter({ hasText: tool });
  const inFocus = (page: Page): Promise<string> =>
    page.evaluate("document.activeElement.querySelector('h2')?.textContent ?? ''");
  const stills = (page: Page) => page.locator('.questions:not([data-moved])').waitFor();

  async function opened(page: Page, query = ''): Promise<void> {
    await page.goto(`/dashboard/approvals${query}`);
    await page.locator('.liveness.on').first().waitFor({ state: 'attached' });
    await page.locator('.question, .alike').first().waitFor();
  }

  async function middleOf(page: Page, held: Held, name: string): Promise<[number, number]> {
    const box = await card(page, held).getByRole('button', { name }).first().boundingBox();
    if (box === null) throw new Error(`${name} of ${held.tool} is not there`);
    return [box.x + box.width / 2, box.y + box.height / 2];
  }

  test('a double click answers the one call that was aimed at, whatever comes or goes meanwhile', async () => {
    const held = await holdSome(5);
    const [aimed, other] = [held[4] as Held, held[3] as Held];
    const use = async (page: Page) => {
      await opened(page);
      // What is loaded later would move something.
      await until('all are loaded', async () => (await page.locator('.not-yet').count()) === 0);
      await stills(page);
      const at = await middleOf(page, aimed, 'Approve');
      await page.mouse.move(...at);
      await holdSome(2);
      await page.getByRole('button', { name: 'Show 2 new' }).waitFor();
      expect(await middleOf(page, aimed, 'Approve')).toEqual(at);
      await page.mouse.dblclick(...at);
      await card(page, aimed).getByText('Approved by you').waitFor();
      expect(await statuses(held)).toEqual(['pending', 'pending', 'pending', 'pending', 'approved']);

      // Somebody else is faster: the card ends in its place, and the click meets nothing.
      const there = await middleOf(page, other, 'Deny');
      await page.mouse.move(...there);
      await service.admin('POST', `/approvals/${other.referenceId}/resolve`, { action: 'approve' });
      await card(page, other).getByText('Approved by the admin token').waitFor();
      await page.mouse.click(...there);
      expect(await statuses(held)).toEqual(['pending', 'pending', 'pending', 'approved', 'approved']);
      await expectUsable(page);
      expect(await page.locator('.question h2').allTextContents()).toEqual(
        held.map(({ tool }) => tool).reverse(),
      );

      await page.getByRole('button', { name: 'Clear answered' }).click();
      await card(page, aimed).waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Show 2 new' }).click();
      await until('the new ones are shown', async () => (await page.locator('.question').count()) === 5);
    };
    // All of them are on the screen.
    await visit(browser, service, approver.cookie, use, { viewport: { width: 1280, height: 2400 } });
    await denyAll();
  });

  test('a click right after the list has moved is ignored', async () => {
    const first = await hold();
    await visitAlone(browser, service, approver.cookie, async page => {
      await page.clock.install();
      await opened(page);
      await card(page, first).getByText('Ask first.').waitFor();
      const second = await hold();
      await page.getByRole('button', { name: 'Show 1 new' }).waitFor();
      // From here on, the page has no time in which the list could have come to rest.
      await page.clock.pauseAt(new Date(Date.now() + 60_000));
      await page.getByRole('button', { name: 'Show 1 new' }).click();
      await card(page, second).waitFor();
      const at = await middleOf(page, second, 'Deny');
      const asked: string[] = [];
      page.on('request', request => request.method() === 'POST' && asked.push(request.url()));
      await page.mouse.dblclick(...at);
      expect(asked).toEqual([]);
      await page.clock.resume();
      await card(page, second).getByRole('button', { name: 'Deny' }).click();
      await card(page, second).getByText('Denied by you').waitFor();
      expect(await statuses([first, second])).toEqual(['pending', 'denied']);
    });
    await denyAll();
  });

  test('the keyboard suffices, and the focus stays where the answer was', async () => {
    const held = (await holdSome(5)).reverse();
    const [first, second, third, fourth, fifth] = held as [Held, Held, Held, Held, Held];
    await visit(browser, service, approver.cookie, async page => {
      await opened(page);
      const enabled = (at: Held) =>
        card(page, at)
          .getByRole('button', { name: `Approve ${at.tool}`, disabled: false })
          .waitFor();
      const press = (...keys: string[]) => Promise.all(keys.map(each => page.keyboard.press(each)));
      await press('j');
      expect(await inFocus(page)).toBe(first.tool);
      await press('j', 'j', 'k');
      expect(await inFocus(page)).toBe(second.tool);
      await enabled(second);
      // A second press finds nothing more to answer.
      await press('a', 'a');
      await card(page, second).getByText('Approved by you').waitFor();
      expect(await inFocus(page)).toBe(second.tool);
      await press('j', 'd');
      await card(page, third).getByText('Denied by you').waitFor();
      expect(await inFocus(page)).toBe(third.tool);
      await press('j', 'n');
      await page.keyboard.type('add a day, and ask again');
      await expectUsable(page);
      expect(await statuses(held)).toEqual(['pending', 'approved', 'denied', 'pending', 'pending']);
      await page.keyboard.press('Tab');
      await enabled(fourth);
      await page.keyboard.press('Enter');
      await card(page, fourth).getByText('Approved by you').waitFor();
      expect(await inFocus(page)).toBe(fourth.tool);
      // Somebody else is faster: what the person goes on writing answers nothing.
      await press('j', 'n');
      await page.keyboard.type('Take bac');
      await denied(fifth);
      await card(page, fifth).getByText('Denied by the admin token').waitFor();
      await page.keyboard.type('kkkkkad');
      expect(await inFocus(page)).toBe(fifth.tool);
      expect(await statusOf(first)).toBe('pending');
      await press('Escape', 'k', 'k', 'k', 'k', 'x');
      await page.getByText('1 selected').waitFor();
      await press('x', '?');
      await page.getByText('1 selected').waitFor({ state: 'detached' });
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
      await expectUsable(page);
      await press('d');
      await page.getByLabel('Use these shortcuts').press('Space');
      await press('Escape', 'd');
      expect(await statusOf(first)).toBe('pending');
    });
    const { body } = await service.admin('GET', `/approvals/${fourth.referenceId}`);
    expect(body.note).toBe('add a day, and ask again');
    await denyAll();
  });

  test('a card shows what the call would do, what is known about it, and who may answer', async () => {
    const rules = [
      { tool: 'payments__*', show: ['amount', 'customer.name'], ask: 'Refund {amount} to {customer.name}?' },
      { tool: 'accounts__*', show: 'all', approvers: { group: 'finance', count: 2 } },
    ] as const;
    const agent = await service.newKey(
      rules.map(rule => ({ ...rule, action: 'require_approval', reason: 'Refunds are looked at.' })),
      { name: 'support agent' },
    );
    const session = await service.json('POST', '/v1/sessions', agent.key, { label: 'ticket 4711' });
    const args = { amount: 250, customer: { name: 'Erika \u202EMustermann' } };
    await service.check(session.body.token, 'payments', 'refund', { args });
    const closing = await service.check(agent.key, 'accounts', 'close', { args: { iban: 'secret number' } });
    const [finance, other] = [await newPerson(service, 'approver'), await newPerson(service, 'approver')];
    for (const { id } of [finance, other])
      await service.admin('PATCH', `/operators/${id}`, { groups: ['finance'] });
    await visit(browser, service, approver.cookie, async page => {
      await opened(page);
      const refund = card(page, { tool: 'payments__refund' });
      await refund.getByText('Refund 250 to Erika \\u{202E}Mustermann?').waitFor();
      await refund.getByText('customer.name').waitFor();
      await refund.getByText('session ticket 4711').waitFor();
      await refund.getByText('not asked in the last 30 days').waitFor();
      await refund.getByRole('button', { name: 'Approve for a while…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Approve for a while' });
      await dialog.getByLabel('In this session only').check();
      await dialog.getByLabel('amount (250)').check();
      await expectUsable(page);
      await dialog.getByRole('button', { name: 'Approve' }).click();
      await refund.getByText('Approved by you, for a while').waitFor();
      const decided = async (token: string, amount: number) =>
        (await service.check(token, 'payments', 'refund', { args: { ...args, amount } })).body.decision;
      expect(await decided(session.body.token, 250)).toBe('allow');
      expect(await decided(session.body.token, 251)).toBe('pending');
      expect(await decided(agent.key, 250)).toBe('pending');
      const close = card(page, { tool: 'accounts__close' });
      await close.getByText('0 of 2 of finance').waitFor();
      await close.getByText('Only operators of the group finance answer this call.').waitFor();
      expect(await page.content()).not.toContain('secret number');
      expect(await close.getByRole('button', { name: /approve|deny/i }).count()).toBe(0);
      await expectUsable(page);
      await page.getByText('Filter and group').click();
      await page.getByLabel('Group that answers').selectOption('finance');
      await refund.waitFor({ state: 'detached' });
      await close.waitFor();
    });
    await visit(browser, service, finance.cookie, async page => {
      await opened(page);
      const close = card(page, { tool: 'accounts__close' });
      await close.getByText('secret number').waitFor();
      expect(await close.getByRole('button', { name: 'Approve for a while…' }).count()).toBe(0);
      await close.getByRole('button', { name: 'Approve accounts__close' }).click();
      await close.getByText('You have approved this call. It waits for others.').waitFor();
      await close.getByText('1 of 2 of finance').waitFor();
      await expectUsable(page);
      const path = `/admin/v1/approvals/${closing.body.referenceId}/resolve`;
      const deny = { action: 'deny', note: 'The account is needed.' };
      expect((await send(service, 'POST', path, other, deny)).status).toBe(200);
      await close.getByText(`Denied by ${other.email} · note: The account is needed.`).waitFor();
      await close.getByText('secret number').waitFor();
    });
    await denyAll();
  });

  test('several are answered together, and what failed is named', async () => {
    const held = await holdSome(4);
    const [left, taken] = [held[0] as Held, held[1] as Held];
    await visit(browser, service, approver.cookie, async page => {
      await page.route('**/admin/v1/events', route => route.abort());
      await page.goto('/dashboard/approvals');
      for (const each of held.slice(1)) await card(page, each).getByRole('checkbox').check();
      await page.getByText('3 selected').waitFor();
      await expectUsable(page);
      await denied(taken);
      await page.getByRole('button', { name: 'Approve 3…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Approve 3 calls?' });
      await dialog.getByText(`1 call of ${taken.tool}, key release agent`).waitFor();
      await expectUsable(page);
      await dialog.getByRole('button', { name: 'Approve 3 calls' }).click();
      const failures = dialog.getByRole('alert');
      await failures.getByText('1 call could not be answered').waitFor();
      await failures.getByRole('link', { name: taken.tool }).waitFor();
      await dialog.getByText('3 of 3 done').waitFor();
      await expectUsable(page);
      expect(await statuses(held)).toEqual(['pending', 'denied', 'approved', 'approved']);
      await dialog.getByRole('button', { name: 'Close' }).first().click();
      await card(page, taken).getByText('Denied by the admin token').waitFor();
      expect(await inFocus(page)).toBe((held[3] as Held).tool);
      await card(page, left).getByRole('button', { name: 'Deny' }).waitFor();
    });
    await denyAll();
  });

  test('whoever wants it is notified while the page is in the background, of the tool and the key only', async () => {
    await hold();
    await visit(browser, service, approver.cookie, async page => {
      await page.addInitScript(`
        window.told = [];
        window.asked = 0;
        window.Notification = class {
          static permission = 'default';
          static async requestPermission() { window.asked++; return (this.permission = 'granted'); }
          constructor(title, options) { window.told.push(this); this.text = [title, options.body, options.tag]; }
          close() { this.isClosed = true; }
        };`);
      await opened(page);
      const told = (): Promise<string[][]> => page.evaluate('told.map(({ text }) => text)');
      const hide = () =>
        page.evaluate(`Object.defineProperty(document, 'hidden', { value: true, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'))`);
      await hold();
      await page.getByRole('button', { name: 'Show 1 new' }).waitFor();
      expect(await page.evaluate('asked')).toBe(0);
      await page.getByRole('button', { name: 'Notify me in the background' }).click();
      await page.getByRole('button', { name: 'Stop notifying me' }).waitFor();
      expect(await page.evaluate('asked')).toBe(1);
      await hold();
      await page.getByRole('button', { name: 'Show 2 new' }).waitFor();
      await hide();
      const held = await hold();
      await until('a notification', async () => (await told()).length > 0);
      // Nothing of what came while somebody looked.
      expect(await told()).toEqual([
        [`${held.tool} waits for an answer`, 'Key release agent', held.referenceId],
      ]);
      await page.evaluate('told[0].onclick()');
      await heading(page, held.tool);
      await page.getByRole('button', { name: `Deny ${held.tool}` }).click();
      await page
        .getByText(/denied by/)
        .first()
        .waitFor();
      expect(await statusOf(held)).toBe('denied');
    });
    await denyAll();
  });

  test('names of any length fit on a phone, and nothing in them comes alive', async () => {
    const name = `${'w'.repeat(60)}\u202E<img src=x onerror=pwned()>${'y'.repeat(30)}`;
    const hostile = await service.newKey(ASK, { name });
    await service.check(hostile.key, 'x'.repeat(60), `${'very_long_'.repeat(6)}<b>`);
    await visit(
      browser,
      service,
      approver.cookie,
      async page => {
        await opened(page);
        await page.locator('.question').getByText('\\u{202E}').first().waitFor();
        await page.getByRole('checkbox', { name: /^Select x/ }).check();
        await expectUsable(page);
        expect(await page.locator('.question img, .question h2 b').count()).toBe(0);
        const low = await page
          .locator('.answers button')
          .evaluateAll(all => all.filter(each => each.getBoundingClientRect().height < 40).length);
        expect(low).toBe(0);
        await page.getByText('Filter and group').click();
        await expectUsable(page);
      },
      { viewport: { width: 360, height: 740 }, ...DARK },
    );
    await denyAll();
  });

  /** It is the last one, since it leaves most of them behind. */
  test(`${MANY} waiting calls stay usable: drawn as one scrolls, filtered, grouped, selected`, async () => {
    const many = Array.from({ length: MANY }, (_, at) => service.check(key, 'bulk', `tool_${at % 10}`));
    await Promise.all(many);
    await visit(browser, service, approver.cookie, async page => {
      let looks = 0;
      page.on('request', request => {
        if (/\/approvals\/[0-9a-f-]{36}$/.test(request.url())) looks++;
      });
      await opened(page);
      await page.getByRole('main').getByText(`${MANY} waiting`).waitFor();
      expect(await page.title()).toBe(`(${MANY}) Approvals · Toolgate`);
      expect(await page.locator('.question').count()).toBe(50);
      expect(Number(await page.evaluate('document.body.scrollHeight'))).toBeLessThan(25_000);
      await page.mouse.wheel(0, 30_000);
      await until('more are drawn', async () => (await page.locator('.question').count()) > 50);
      expect(looks).toBeLessThan(50);
      // Far from the screen, a card keeps its place and lets go of the rest.
      const answerable = page
        .locator('.question')
        .filter({ has: page.getByRole('button', { name: 'Deny' }) });
      await until('far cards are folded', async () => (await answerable.count()) < 20);
      await page.getByLabel('Tool', { exact: true }).fill('Bulk__tool_7');
      await page.getByRole('main').getByText('50 waiting').waitFor();
      await page.getByLabel('Group alike calls').check();
      await page.getByText('50 waiting · key release agent').waitFor();
      await page.waitForURL(url => url.search === '?tool=Bulk__tool_7&alike=1');
      await page.getByLabel('Tool', { exact: true }).fill('');
      await page.getByRole('button', { name: `Select all ${MANY}` }).click();
      await page.getByRole('button', { name: `Deny ${MANY}…` }).click();
      await page.getByText('50 calls of bulk__tool_3, key release agent').waitFor();
      await expectUsable(page);
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.getByLabel('Tool', { exact: true }).fill('tool_3');
      await page.getByRole('button', { name: 'Select these 50' }).click();
      await page.getByRole('button', { name: 'Deny 50…' }).click();
      await page.getByRole('button', { name: 'Deny 50 calls' }).click();
      await page.getByText('Denied: 50 calls').waitFor();
      await until('the title', async () => (await page.title()) === `(${MANY - 50}) Approvals · Toolgate`);
    });
    const { body } = await service.admin('GET', '/approvals?status=denied&limit=50');
    expect(new Set(body.approvals.map(({ toolName }: { toolName: string }) => toolName))).toEqual(
      new Set(['tool_3']),
    );
  });
});
